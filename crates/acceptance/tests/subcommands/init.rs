//! `ironbark init`: its configuration is safe without changes.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output},
};

use ironbark_testkit::{Flavor, Server, Tool, wait};

use super::common::{ironbark, succeed};

/// A new directory and the server that serves it.
struct Made {
    /// Never started: it provides a folder and addresses.
    place: Server,
    folder: PathBuf,
    password: String,
    process: Child,
}

const ADMIN: &str = "cn=admin,dc=example,dc=com";
const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";

impl Made {
    fn start() -> Self {
        let place = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
        let folder = place.layout().join("new");
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
        let urls = format!("{} {}", place.url(), place.ldapi_url());
        let process = Command::new(Flavor::Ironbark.program().unwrap())
            .args([
                "serve",
                "-c",
                folder.join("slapd.conf").to_str().unwrap(),
                "-l",
                &urls,
                "--log",
                "0",
            ])
            .spawn()
            .unwrap();
        let made = Self {
            place,
            folder,
            password,
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
