//! The process: its privileges, the permissions of its files, and secrets in its output.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::Path,
};

use ironbark_testkit::{Credentials, Flavor, Listen, Server, Tool};

use crate::attacks::site::{ANN, BASE, BOB, DATA, NOBODY, RULES, run, user};
use crate::attacks::verifications;
use crate::attacks::wire::{connect, read_message};

const NOBODY_ID: u32 = 65_534;

fn status(pid: u32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().to_owned()
}

/// Octets of memory that belong to the server alone.
pub(crate) fn memory(server: &Server) -> usize {
    octets(server, "RssAnon")
}

/// The most octets of memory that the server has had.
pub(crate) fn peak(server: &Server) -> usize {
    octets(server, "VmHWM")
}

fn octets(server: &Server, field: &str) -> usize {
    let text = status(server.pid().unwrap(), field);
    text.trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn is_root() -> bool {
    status(std::process::id(), "Uid").starts_with("0\t")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A server that will run as nobody, with all files owned by nobody, including the schema's: others may not be able to
/// read the checkout.
fn handed_over(config: &str, arguments: &[&str]) -> Server {
    let server = Server::prepare(Flavor::Ironbark, &config.replace("{schema}", "{dir}/schema")).unwrap();
    let schema = server.layout().make_dir("schema").unwrap();
    for entry in fs::read_dir(Flavor::Ironbark.schema_dir()).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), schema.join(file.file_name())).unwrap();
    }
    server.slapadd(DATA).unwrap();
    give_away(server.layout().path());
    server.arguments(arguments)
}

/// Makes nobody the owner of a file or folder and its content.
fn give_away(path: &Path) {
    chown(path, Some(NOBODY_ID), Some(NOBODY_ID)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

#[test]
fn root_is_given_up_by_every_thread_for_good() {
    let config = format!("{}{RULES}", Server::PEOPLE_CONFIG);
    if !is_root() {
        // A process without privileges to give up gets an error, and does not serve under another identity than
        // requested.
        let mut server = Server::prepare(Flavor::Ironbark, &config)
            .unwrap()
            .arguments(&["-u", "nobody"]);
        assert!(server.launch().unwrap_err().to_string().contains("cannot set"));
        return;
    }
    let mut server = handed_over(&config, &["-u", "nobody", "-g", "nogroup"]);
    server.launch().unwrap();
    let pid = server.pid().unwrap();
    let tasks: Vec<u32> = fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    assert!(tasks.len() > 2);
    for task in tasks {
        for field in ["Uid", "Gid"] {
            assert_eq!(status(task, field), ["65534"; 4].join("\t"), "{field}");
        }
        assert_eq!(status(task, "Groups"), "65534");
        for field in ["CapPrm", "CapEff"] {
            assert_eq!(status(task, field).trim_matches('0'), "", "{field}");
        }
    }
    assert_eq!(run(&server, &user(BOB), "ldapwhoami", &[], "").code(), Some(0));
    let change = format!("dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: y\n");
    assert_eq!(
        run(&server, &Credentials::ROOT, "ldapmodify", &[], &change).code(),
        Some(0)
    );
    for name in ["data.mdb", "lock.mdb"] {
        let file = server.layout().join("db").join(name);
        assert_eq!(
            (fs::metadata(&file).unwrap().uid(), mode(&file)),
            (NOBODY_ID, 0o600),
            "{name}"
        );
    }
    let unknown = Server::prepare(Flavor::Ironbark, &config)
        .unwrap()
        .arguments(&["-u", "no-such-user"])
        .launch();
    assert!(unknown.unwrap_err().to_string().contains("no-such-user"));
}

#[test]
fn a_server_in_a_chroot_sees_nothing_else() {
    // As in slapd, all files are opened below the new root, including the configuration's.
    let config = format!("{}{RULES}", Server::PEOPLE_CONFIG);
    if !is_root() {
        let server = Server::prepare(Flavor::Ironbark, &config).unwrap();
        assert!(
            server.arguments(&["-r", "/tmp"]).launch().is_err(),
            "the root of the file system is root's to change"
        );
        return;
    }
    let mut server = handed_over(&config, &["-u", "nobody", "-f", "/slapd.conf"]);
    let root = server.layout().path().display().to_string();
    let text = fs::read_to_string(server.config_path()).unwrap();
    fs::write(server.config_path(), text.replace(&format!("{root}/"), "/")).unwrap();
    server = server.arguments(&["-r", &root]);
    server.launch().unwrap();
    let pid = server.pid().unwrap();
    assert_eq!(
        fs::read_link(format!("/proc/{pid}/root")).unwrap(),
        server.layout().path()
    );
    assert_eq!(run(&server, &user(BOB), "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn files_with_secrets_are_their_owners_alone() {
    let config = format!(
        "{}{RULES}",
        Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw other\ndatabase mdb")
    );
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.slapadd(DATA).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    let written = server.tool(Tool::Test, &["-F", folder.to_str().unwrap()], "").unwrap();
    written.success().unwrap();
    server = server.from_directory(&folder).listening_on(Listen::Both);
    server.launch().unwrap();
    let change = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: another\n";
    let config_root = Credentials::Simple {
        dn: "cn=config",
        password: "other",
    };
    assert_eq!(run(&server, &config_root, "ldapmodify", &[], change).code(), Some(0));
    let mut folders = vec![folder];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path) & 0o027, 0, "{} is {:o}", path.display(), mode(&path));
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 5);
    for name in ["data.mdb", "lock.mdb"] {
        assert_eq!(mode(&server.layout().join("db").join(name)), 0o600, "{name}");
    }
    // slapd's socket is open to everybody; rules decide about access.
    assert_eq!(mode(&server.socket_path()) & 0o777, 0o777);
}

#[test]
fn the_socket_has_the_mode_of_its_url() {
    let mut server = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let socket = server.layout().join("own");
    let url = format!(
        "ldapi://{}/????x-mod=0600",
        socket.display().to_string().replace('/', "%2F")
    );
    server = server.listening_on(Listen::Socket);
    let both = format!("{} {url}", server.ldapi_url());
    server = server.arguments(&["-h", &both]);
    server.launch().unwrap();
    assert_eq!(mode(&socket) & 0o777, 0o600);
}

/// Every way in which a password comes to the server.
fn handle_secrets(server: &Server) {
    let root = Credentials::Simple {
        dn: "cn=Manager,dc=example,dc=com",
        password: "RootSecret1",
    };
    let ann = Credentials::Simple {
        dn: ANN,
        password: "AnnSecret3",
    };
    let wrong = Credentials::Simple {
        dn: ANN,
        password: "WrongSecret4",
    };
    let conf = Credentials::Simple {
        dn: "cn=config",
        password: "ConfSecret2",
    };
    let add = format!(
        "dn: uid=new,{BASE}\nobjectClass: inetOrgPerson\nuid: new\ncn: new\nsn: new\nuserPassword: NewSecret5\n"
    );
    let modify = format!(
        "dn: uid=new,{BASE}\nchangetype: modify\nreplace: userPassword\nuserPassword: {{SSHA}}ModSecret6\n-\ndelete: userPassword\nuserPassword: {{SSHA}}ModSecret6\n"
    );
    let config_change =
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: ConfSecret7\n";
    for (who, program, arguments, input) in [
        (&ann, "ldapwhoami", &[][..], ""),
        (&wrong, "ldapwhoami", &[], ""),
        (&root, "ldapadd", &[], add.as_str()),
        (&root, "ldapmodify", &[], &modify),
        (&root, "ldapcompare", &[ANN, "userPassword:CmpSecret8"], ""),
        (&root, "ldapsearch", &["-b", BASE, "(userPassword=FltSecret9)"], ""),
        (
            &root,
            "ldapsearch",
            &[
                "-b",
                BASE,
                "(|(userPassword=FltSec*ret9)(!(userPassword=FltSecret9)))",
                "*",
                "userPassword",
            ],
            "",
        ),
        (
            &root,
            "ldapsearch",
            &["-e", "!assert=(userPassword=FltSecret9)", "-b", BASE],
            "",
        ),
        (
            &root,
            "ldapsearch",
            &["-E", "mv=(userPassword=FltSecret9)", "-b", BASE],
            "",
        ),
        (&ann, "ldappasswd", &["-a", "AnnSecret3", "-s", "ExtSecret10"], ""),
        (&root, "ldappasswd", &["-s", "ExtSecret11", ANN], ""),
        (&root, "ldappasswd", &[ANN], ""),
        (&conf, "ldapmodify", &[], config_change),
        (&NOBODY, "ldapwhoami", &["-Y", "PLAIN"], ""),
    ] {
        run(server, who, program, arguments, input);
    }
}

/// The same by Verify Credentials.
fn verify_secrets(server: &Server) {
    let mut stream = connect(server);
    for request in [
        verifications::simple(1, ANN, b"VcSecret12"),
        verifications::simple(2, ANN, b"AnnSecret3"),
        verifications::sasl(None, "PLAIN", Some(b"\0ann\0VcSecret13")),
    ] {
        stream.write_all(&request).unwrap();
        read_message(&mut stream).unwrap();
    }
}

#[test]
fn no_secret_is_logged_at_any_level() {
    let config = format!(
        "moduleload vc\nsasl-secprops none\n{}{RULES}",
        Server::PEOPLE_CONFIG
            .replace("rootpw secret", "rootpw RootSecret1")
            .replace("database mdb", "database config\nrootpw ConfSecret2\ndatabase mdb")
    );
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap().debug_level("any");
    server.slapadd(&DATA.replace("annspass", "AnnSecret3")).unwrap();
    server.launch().unwrap();
    handle_secrets(&server);
    verify_secrets(&server);
    server.stop().unwrap();
    let log = server.log();
    assert!(
        log.contains("VERIFYCREDENTIALS BIND dn=\"uid=ann"),
        "something is logged: {log}"
    );
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("Secret") || line.contains("U2VjcmV0"))
        .collect();
    assert!(told.is_empty(), "{told:#?}");
    // As octets: a dump of a packet would show them in this form.
    for secret in ["RootSecret1", "AnnSecret3", "NewSecret5"] {
        let octets: Vec<String> = secret.bytes().map(|octet| format!("{octet:02x}")).collect();
        assert!(!log.contains(&octets.concat()) && !log.contains(&octets.join(" ")));
    }
}

#[test]
fn no_secret_is_told_by_an_error() {
    let rows = [
        "rootpw {SSHA}ErrSecret1 ErrSecret2",
        "rootpw ErrSecret1\nrootpw ErrSecret2 x",
        "rootdn cn=elsewhere,dc=other\nrootpw ErrSecret1",
    ];
    for row in rows {
        let config = Server::PEOPLE_CONFIG.replace("rootpw secret", row);
        let server = Server::prepare(Flavor::Ironbark, &config).unwrap();
        for arguments in [&["-u"][..], &["-u", "-v"], &["-u", "-d", "any"], &["--explain"]] {
            let test = server.tool(Tool::Test, arguments, "").unwrap();
            let said = format!("{}{}", test.stdout, test.stderr);
            assert!(!said.contains("ErrSecret"), "{row} {arguments:?}: {said}");
        }
    }
}

#[test]
fn the_process_shows_no_secret_and_leaves_no_core() {
    let server = crate::attacks::site::site();
    let pid = server.pid().unwrap();
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&command).contains("secret"));
}
