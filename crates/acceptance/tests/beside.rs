//! Tools beside a running server: one process writes to a database, and the others ask it.

#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::{
    fmt::Write as _,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

use crate::common::{PEOPLE, dump, prepared};
use ironbark_testkit::{Flavor, Server, Tool};

fn running(lines: &str) -> Server {
    let mut server = Server::prepare(Flavor::Ironbark, &Server::people_config("", lines)).unwrap();
    server.slapadd(PEOPLE).unwrap();
    server.launch().unwrap();
    server
}

fn person(name: &str) -> String {
    format!("dn: cn={name},dc=example,dc=com\nobjectClass: person\ncn: {name}\nsn: x\n\n")
}

/// The names that a search of the server finds.
fn found(server: &Server, filter: &str) -> usize {
    let arguments = ["-b", "dc=example,dc=com", filter, "1.1"];
    let found = server.search(&arguments).unwrap().success().unwrap();
    found.stdout.lines().filter(|line| line.starts_with("dn:")).count()
}

#[test]
fn the_server_adds_what_slapadd_reads_and_its_log_has_it() {
    // Nothing that binds clients binds tools.
    let server = running("readonly on\nrestrict all\nchangelog-size 1000000");
    let mut many = String::new();
    for n in 0..3_000 {
        many.push_str(&person(&format!("p{n}")));
    }
    let uuid = "6a0e2e9a-7d34-4d1f-9f0b-4a8e6b0c1d2e";
    let csn = "20200101000000.000000Z#000000#003#000000";
    write!(many, "{}entryUUID: {uuid}\nentryCSN: {csn}\n", person("old").trim_end()).unwrap();
    let many = many.replace("sn: xentryUUID", "sn: x\nentryUUID");
    server.tool(Tool::Add, &["-w"], &many).unwrap().success().unwrap();
    let shown = dump_of(&server, "(cn=old)");
    assert!(shown.contains(uuid) && shown.contains(csn), "{shown}");
    assert_eq!(dump(&server).matches("dn: cn=p").count(), 3_000);
    let changes = server_changes(&server);
    assert_eq!(changes.matches("changetype: add").count(), 3_001, "{}", &changes[..400]);
    assert_eq!(changes.matches("dn: cn=p7,").count(), 1);
}

fn dump_of(server: &Server, filter: &str) -> String {
    let outcome = server.tool(Tool::Cat, &["-a", filter], "").unwrap().success().unwrap();
    outcome.stdout
}

fn server_changes(server: &Server) -> String {
    let config = server.config_path().display().to_string();
    crate::common::succeed(&["changes", "-f", &config])
}

#[test]
fn the_server_checks_the_schema_though_slapadd_is_told_not_to_and_that_is_said() {
    let server = running("");
    let without_surname = person("x").replace("sn: x\n", "");
    let outcome = server.tool(Tool::Add, &["-s"], &without_surname).unwrap();
    let outcome = outcome.expect_code(1).unwrap();
    assert!(
        outcome.stderr.contains("-s and schema-check=no have no effect"),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains("(65)"), "{outcome:?}");
    assert_eq!(found(&server, "(cn=x)"), 0);
}

#[test]
fn what_the_server_refuses_is_named_with_its_line() {
    let server = running("");
    let records = format!("{}{}{}", person("a"), person("Ann Lee"), person("b"));
    let again = records.replace("Ann Lee,dc", "Ann Lee,ou=people,dc");
    let outcome = server.tool(Tool::Add, &[], &again).unwrap().expect_code(1).unwrap();
    let text = "could not add entry dn=\"cn=Ann Lee,ou=people,dc=example,dc=com\" (line=6): (68) entryAlreadyExists";
    assert!(outcome.stderr.contains(text), "{outcome:?}");
    assert!(
        outcome.stderr.contains("1 entries have been added before"),
        "{outcome:?}"
    );
    assert_eq!((found(&server, "(cn=a)"), found(&server, "(cn=b)")), (1, 0));
    let outcome = server.tool(Tool::Add, &["-c"], &again).unwrap().expect_code(1).unwrap();
    assert_eq!(outcome.stderr.matches("(68)").count(), 2, "{outcome:?}");
    assert_eq!(found(&server, "(cn=b)"), 1);
    let missing = "dn: cn=x,ou=none,dc=example,dc=com\nobjectClass: person\nsn: x\n";
    let outcome = server.tool(Tool::Add, &[], missing).unwrap().expect_code(1).unwrap();
    assert!(outcome.stderr.contains("(32)"), "{outcome:?}");
}

#[test]
fn the_server_makes_the_changes_of_slapmodify() {
    let server = running("readonly on");
    let changes = "dn: cn=staff,dc=example,dc=com\nchangetype: modify\nadd: member\nmember: cn=x\n-\n\n\
                   dn: ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=folk\ndeleteoldrdn: 1\n\n\
                   dn: cn=none,dc=example,dc=com\nchangetype: delete\n";
    let outcome = server
        .tool(Tool::Modify, &["-u"], changes)
        .unwrap()
        .expect_code(1)
        .unwrap();
    assert!(outcome.stderr.contains("(line=12): (32)"), "{outcome:?}");
    assert_eq!((found(&server, "(member=cn=x)"), found(&server, "(ou=folk)")), (0, 0));
    let outcome = server
        .tool(Tool::Modify, &["-v"], changes)
        .unwrap()
        .expect_code(1)
        .unwrap();
    assert!(outcome.stderr.contains("(line=12): (32)"), "{outcome:?}");
    assert_eq!((found(&server, "(member=cn=x)"), found(&server, "(ou=folk)")), (1, 1));
}

#[test]
fn the_server_builds_the_indexes_of_slapindex_and_keeps_its_own() {
    let server = running("");
    let is_indexed = |server: &Server| {
        let before = server.log().matches("not indexed").count();
        assert_eq!(found(server, "(cn=Ann Lee)"), 1);
        server.log().matches("not indexed").count() == before
    };
    assert!(is_indexed(&server));
    server.tool(Tool::Index, &[], "").unwrap().success().unwrap();
    server.tool(Tool::Index, &["cn"], "").unwrap().success().unwrap();
    server.tool(Tool::Index, &["none"], "").unwrap().expect_code(1).unwrap();
    // The file that these tools read defines other indexes.
    let other = server.layout().join("other.conf");
    let text = std::fs::read_to_string(server.config_path()).unwrap();
    std::fs::write(&other, text.replace("index objectClass,cn,uid eq", "index uid eq")).unwrap();
    let other = other.display().to_string();
    let delete = "dn: cn=none,dc=example,dc=com\nchangetype: delete\n";
    Tool::Modify
        .run(Flavor::Ironbark, &["-u", "-f", &other], delete)
        .unwrap()
        .expect_code(1)
        .unwrap();
    Tool::Index
        .run(Flavor::Ironbark, &["-f", &other, "cn"], "")
        .unwrap()
        .expect_code(1)
        .unwrap();
    Tool::Index
        .run(Flavor::Ironbark, &["-f", &other], "")
        .unwrap()
        .success()
        .unwrap();
    assert!(is_indexed(&server));
}

#[test]
fn a_dry_run_changes_no_index_of_a_stopped_server() {
    let mut server = running("");
    server.stop().unwrap();
    let other = server.layout().join("other.conf");
    let text = std::fs::read_to_string(server.config_path()).unwrap();
    std::fs::write(&other, text.replace("index objectClass,cn,uid eq", "index uid eq")).unwrap();
    let before = std::fs::read(server.layout().join("db/data.mdb")).unwrap();
    let delete = "dn: cn=none,dc=example,dc=com\nchangetype: delete\n";
    for arguments in [&["-u", "-f"][..], &["-u", "-c", "-f"]] {
        let arguments = [arguments, &[other.to_str().unwrap()]].concat();
        Tool::Modify
            .run(Flavor::Ironbark, &arguments, delete)
            .unwrap()
            .expect_code(1)
            .unwrap();
    }
    assert!(before == std::fs::read(server.layout().join("db/data.mdb")).unwrap());
}

#[test]
fn a_second_server_does_not_start_and_other_tools_are_refused() {
    let server = running("");
    let config = server.config_path().display().to_string();
    let second = crate::common::ironbark(&["slapd", "-d", "0", "-f", &config, "-h", "ldap://127.0.0.1:0/"]);
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        !second.status.success() && text.contains(&format!("in use by process {}", server.pid().unwrap())),
        "{text}"
    );
    assert_eq!(found(&server, "(cn=Ann Lee)"), 1);
}

/// Octets of the answer to a request at the socket for tools of a folder, sent by a process of this user.
fn answered(folder: &Path, user: u32) -> String {
    let found = std::fs::metadata(folder).unwrap();
    let name = format!("ironbark/{:x}.{:x}", found.dev(), found.ino());
    // It asks for a bind, which is not for tools.
    let script = r#"
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.connect("\0" + sys.argv[1])
try:
    own.sendall(bytes.fromhex("300c020101600702010304008000"))
    print(len(own.recv(64)))
except (BrokenPipeError, ConnectionResetError):
    print(0)
"#;
    let mut process = Command::new("/usr/bin/python3");
    let output = process.args(["-I", "-c", script, &name]).uid(user).gid(user).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_tool_of_another_user_is_not_served() {
    let server = running("");
    let folder = server.layout().join("db");
    assert_ne!(answered(&folder, 0), "0");
    assert_eq!(answered(&folder, 65534), "0");
    // Whoever owns one folder may not change what else the server has: other databases, and cn=config.
    std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
    assert_eq!(answered(&folder, 65534), "0");
}

#[test]
fn a_tool_that_goes_away_or_talks_nonsense_hurts_nobody() {
    use std::{
        io::{Read as _, Write as _},
        os::{
            linux::net::SocketAddrExt as _,
            unix::net::{SocketAddr, UnixStream},
        },
    };
    let mut server = running("");
    let found_folder = std::fs::metadata(server.layout().join("db")).unwrap();
    let name = format!("ironbark/{:x}.{:x}", found_folder.dev(), found_folder.ino());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    for nonsense in [
        &b""[..],
        b"\x30\x84\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x30\x03\x02\x01",
    ] {
        let mut stream = UnixStream::connect_addr(&address).unwrap();
        stream.write_all(nonsense).unwrap();
        if nonsense.len() > 4 {
            let mut rest = Vec::new();
            // It may reset the connection.
            let _ = stream.read_to_end(&mut rest);
        }
    }
    // A search is not for tools, and a bind neither.
    let mut stream = UnixStream::connect_addr(&address).unwrap();
    stream
        .write_all(b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00")
        .unwrap();
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).contains("not for tools"));
    // More connections than there is room for do not keep a later tool away.
    let many: Vec<_> = (0..50).map(|_| UnixStream::connect_addr(&address).unwrap()).collect();
    drop(many);
    drop(stream);
    server.slapadd(&person("after")).unwrap();
    assert_eq!(found(&server, "(cn=after)"), 1);
    server.stop().unwrap();
    let other = prepared(Flavor::Ironbark);
    assert!(other.slapadd(PEOPLE).is_ok());
}
