//! `ironbark init`: its configuration is safe without changes.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Output},
};

use ironbark_testkit::{Flavor, Server, Tool, wait};

use crate::common::{ironbark, succeed};

/// A new directory and the server that serves it, as `init` said how.
struct Made {
    /// Never started: it provides a folder and addresses.
    place: Server,
    folder: PathBuf,
    password: String,
    /// The commands that were printed.
    commands: Vec<String>,
    process: Child,
}

/// Where the printed commands have the server.
const USUAL: &str = "ldap://127.0.0.1:3890/";

const ADMIN: &str = "cn=admin,dc=example,dc=com";
const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";

impl Made {
    fn start() -> Self {
        let place = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
        // The printed commands must be quoted.
        let folder = place.layout().join("a new one");
        let words = [
            "init",
            folder.to_str().unwrap(),
            "--suffix",
            "dc=example,dc=com",
            "--organization",
            "Example",
        ];
        let said = succeed(&words);
        let password = said.lines().find_map(|line| line.trim().strip_prefix("password"));
        let password = password.unwrap().trim().to_owned();
        let commands = said.lines().filter_map(|line| line.strip_prefix("  "));
        let commands = commands.filter(|line| line.contains("ironbark ") || line.contains("ldapsearch "));
        let commands: Vec<String> = commands.map(str::to_owned).collect();
        let serve = format!("exec {} -H {} --log 0", commands.first().unwrap(), place.ldapi_url());
        let process = shell(&place, &serve).spawn().unwrap();
        let made = Self {
            place,
            folder,
            password,
            commands,
            process,
        };
        let url = made.place.ldapi_url();
        wait::until(|| ironbark(&["health", "-H", &url]).status.success().then_some(())).unwrap();
        made
    }

    fn run(&self, client: &str, arguments: &[&str]) -> Output {
        Command::new(client)
            .env("LDAPTLS_CACERT", self.folder.join("tls/ca.crt"))
            .env("LDAPTLS_REQCERT", "demand")
            .args(arguments)
            .output()
            .unwrap()
    }

    /// The identity of a client, or the exit status.
    fn whoami(&self, url: &str, how: &[&str]) -> Result<String, Option<i32>> {
        let output = self.run("ldapwhoami", &[&["-H", url][..], how].concat());
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
        } else {
            Err(output.status.code())
        }
    }

    fn search(&self, url: &str, how: &[&str]) -> String {
        let output = self.run(
            "ldapsearch",
            &[&["-x", "-LLL", "-o", "ldif_wrap=no", "-H", url][..], how].concat(),
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A printed command, with another server, in a shell that finds our program.
fn shell(place: &Server, command: &str) -> Command {
    let folder = place.layout().join("bin");
    if !folder.exists() {
        fs::create_dir(&folder).unwrap();
        symlink(Flavor::Ironbark.program().unwrap(), folder.join("ironbark")).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &command.replace(USUAL, &place.url())])
        .env("PATH", path);
    shell
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_new_directory_is_closed_to_strangers() {
    let made = Made::start();
    let config = made.folder.join("slapd.conf");
    let text = fs::read_to_string(&config).unwrap();
    assert_eq!(made.password.len(), 20);
    assert!(text.contains("{ARGON2}$argon2id$") && !text.contains(&made.password));
    let permissions = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folders = ["", "data", "tls", "schema"].map(|name| permissions(&made.folder.join(name)));
    let files = ["slapd.conf", "tls/server.key"].map(|name| permissions(&made.folder.join(name)));
    assert_eq!((folders, files), ([0o700; 4], [0o600; 2]));
    let again = ironbark(&["init", made.folder.to_str().unwrap(), "--suffix", "dc=example,dc=com"]);
    assert!(!again.status.success(), "it is not made twice");
    let refused = made.place.layout().join("refused");
    let name = ["init", refused.to_str().unwrap(), "--suffix", "dc=x", "--name", "a b"];
    assert!(
        !ironbark(&name).status.success() && !refused.exists(),
        "nothing is left of what is refused"
    );
    let checked = Tool::Test.run(Flavor::Ironbark, &["-f", config.to_str().unwrap()], "");
    checked.unwrap().success().unwrap();

    let url = made.place.ldapi_url();
    let root_dse = made.search(&url, &["-s", "base", "-b", "", "namingContexts"]);
    assert!(root_dse.contains("namingContexts: dc=example,dc=com"), "{root_dse}");
    let stranger = made.search(&url, &["-b", "dc=example,dc=com"]);
    assert!(!stranger.contains("dn:"), "{stranger}");
    let administrator = made.search(&url, &["-D", ADMIN, "-w", &made.password, "-b", "dc=example,dc=com"]);
    for line in ["dn: ou=people,dc=example,dc=com", "o: Example", "pwdMinLength: 10"] {
        assert!(administrator.contains(line), "{line}: {administrator}");
    }
}

#[test]
fn the_commands_that_are_printed_work_as_they_are() {
    let made = Made::start();
    let password = format!("{}\n", made.password);
    fs::write(made.folder.join("password"), &password).unwrap();
    assert_eq!(made.commands.len(), 4, "{:?}", made.commands);
    for (command, wanted) in made.commands[1..].iter().zip([
        "naming contexts: dc=example,dc=com",
        "dn: ou=people,dc=example,dc=com",
        "dc=example,dc=com: 5 entries",
    ]) {
        // libldap asks on the terminal, which a test has not; ours takes a line of its input.
        let command = if command.contains("ldapsearch") {
            command.replace(" -W", &format!(" -w '{}'", made.password))
        } else {
            command.clone()
        };
        let input = fs::File::open(made.folder.join("password")).unwrap();
        let output = shell(&made.place, &command).stdin(input).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains(wanted),
            "{command}: {output:?}"
        );
    }
}

#[test]
fn what_the_server_does_is_shown_to_its_administrator_and_to_root_alone() {
    let made = Made::start();
    let (tcp, local) = (made.place.url(), made.place.ldapi_url());
    let authority = made.folder.join("tls/ca.crt").display().to_string();
    let password = made
        .place
        .layout()
        .write("password", format!("{}\n", made.password))
        .unwrap();
    let by_name = ["-D", ADMIN, "-y", password.to_str().unwrap()];
    let secured = [&["-H", &tcp, "-ZZ", "--ca-file", &authority][..], &by_name].concat();
    let locally = [&["-H", &local][..], &by_name].concat();
    for how in [&secured[..], &locally[..]] {
        let advice = succeed(&[&["advise"][..], how].concat());
        assert!(advice.starts_with("dc=example,dc=com: 5 entries"), "{advice}");
        succeed(&[&["health"][..], how].concat());
        // Many answers in flight: each read has several records of TLS.
        let load = ["load", "scan", "--expect", "5", "-n", "300", "-c", "2", "-k", "16"];
        succeed(&[&load[..], how].concat());
    }
    let is_root = nix::unistd::geteuid().is_root();
    let external = ironbark(&["advise", "-H", &local, "-Y", "EXTERNAL"]);
    assert_eq!(external.status.success(), is_root, "{external:?}");
    for stranger in [&["-H", &tcp, "-Z", "--ca-file", &authority][..], &["-H", &local]] {
        let refused = ironbark(&[&["advise"][..], stranger].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && said.contains("shows no database to this identity"),
            "{said}"
        );
        let shown = made.search(&local, &["-b", "cn=Monitor"]);
        assert!(!shown.contains("dn:"), "{shown}");
    }
    let unsecured = ironbark(&[&["advise", "-H", &tcp][..], &by_name].concat());
    assert!(
        String::from_utf8_lossy(&unsecured.stderr).contains("confidentiality"),
        "{unsecured:?}"
    );
    let ann = ["-D", ANN, "-w", "a password of hers"];
    let entry =
        format!("dn: {ANN}\nobjectClass: inetOrgPerson\nuid: ann\ncn: A\nsn: A\nuserPassword: a password of hers\n");
    let file = made.place.layout().write("ann.ldif", entry).unwrap();
    let words = [
        "-x",
        "-H",
        &local,
        "-D",
        ADMIN,
        "-w",
        &made.password,
        "-f",
        file.to_str().unwrap(),
    ];
    assert!(made.run("ldapadd", &words).status.success());
    assert!(succeed(&[&["health", "-H", &local][..], &ann].concat()).contains("ok in"));
    let refused = ironbark(&[&["advise", "-H", &local][..], &ann].concat());
    assert!(!refused.status.success(), "{refused:?}");
}

#[test]
fn a_new_directory_takes_passwords_over_protected_connections_alone() {
    let made = Made::start();
    let (tcp, local) = (made.place.url(), made.place.ldapi_url());
    let simple = ["-x", "-D", ADMIN, "-w", &made.password];
    let administrator = Ok(format!("dn:{ADMIN}"));
    assert_eq!(made.whoami(&tcp, &simple), Err(Some(13)), "confidentialityRequired");
    assert_eq!(made.whoami(&tcp, &[&["-ZZ"][..], &simple].concat()), administrator);
    assert_eq!(made.whoami(&local, &simple), administrator);
    let mechanisms = |url: &str, how: &[&str]| {
        let arguments = [how, &["-s", "base", "-b", "", "supportedSASLMechanisms"]].concat();
        let text = made.search(url, &arguments);
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("supportedSASLMechanisms: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(mechanisms(&tcp, &[]).is_empty());
    assert_eq!(mechanisms(&tcp, &["-ZZ"]), ["PLAIN"]);
    assert_eq!(mechanisms(&local, &[]), ["EXTERNAL", "PLAIN"]);
}

#[test]
fn a_new_directory_keeps_passwords_hashed_and_refuses_bad_ones() {
    let made = Made::start();
    let url = made.place.ldapi_url();
    let entry = format!(
        "dn: {ANN}\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann Example\nsn: Example\nuserPassword: the first one\n"
    );
    let file = made.folder.join("ann.ldif");
    fs::write(&file, entry).unwrap();
    let added = made.run(
        "ldapadd",
        &[
            "-x",
            "-H",
            &url,
            "-D",
            ADMIN,
            "-w",
            &made.password,
            "-f",
            file.to_str().unwrap(),
        ],
    );
    assert!(added.status.success(), "{added:?}");
    let shown = made.search(&url, &["-D", ADMIN, "-w", &made.password, "-b", ANN, "userPassword"]);
    let stored = shown
        .lines()
        .find_map(|line| line.strip_prefix("userPassword:: "))
        .unwrap();
    // The beginning of "{ARGON2}$argon2id$", in base64.
    assert!(stored.starts_with("e0FSR09OMn0kYXJnb24yaWQk"), "{shown}");
    let change = |old: &str, new: &str| {
        let output = made.run(
            "ldappasswd",
            &["-x", "-H", &url, "-D", ANN, "-w", old, "-a", old, "-s", new],
        );
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    for bad in ["too short", "ann example 1"] {
        let (status, said) = change("the first one", bad);
        assert!(
            status == Some(1) && said.contains("Constraint violation (19)"),
            "{said}"
        );
    }
    assert_eq!(change("the first one", "something else"), (Some(0), String::new()));
    assert_eq!(
        made.whoami(&url, &["-x", "-D", ANN, "-w", "something else"]),
        Ok(format!("dn:{ANN}"))
    );
}
