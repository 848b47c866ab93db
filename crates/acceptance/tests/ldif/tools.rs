//! The tools on files, and while a server runs.

use std::{fmt::Write as _, fs};

use ironbark_testkit::{Flavor, NormalizedLdif, Server, TestkitError, Tool, assert_same};

use super::{TREE, comparable, config, dump, files, folder};

#[test]
fn tools_do_what_slapds_do() {
    let entry = "dn: uid=cay,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: cay\ncn: Cay\nsn: Poe\n";
    let change = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: changed\n";
    assert_same(|flavor| -> Result<String, TestkitError> {
        let server = Server::prepare(flavor, &config(""))?;
        let mut text = String::new();
        for (tool, arguments, input) in [
            (Tool::Cat, &["-n", "1"][..], ""),
            (Tool::Add, &["-n", "1"], TREE),
            (Tool::Add, &["-n", "1"], entry),
            (Tool::Add, &["-n", "1"], entry),
            (Tool::Modify, &["-n", "1"], change),
            (Tool::Schema, &["-n", "1"], ""),
            (Tool::Index, &["-n", "1"], ""),
            (Tool::Test, &[], ""),
            (Tool::Cat, &["-b", "dc=example,dc=com", "-a", "(sn=*e*)"], ""),
        ] {
            let outcome = server.tool(tool, arguments, input)?;
            let shown = NormalizedLdif::new(&outcome.stdout)
                .without(&NormalizedLdif::VOLATILE)
                .sorted();
            writeln!(text, "{tool:?} {arguments:?} = {:?}\n{shown}", outcome.code()).unwrap();
        }
        Ok(text + &comparable(&files(&server)))
    });
}

#[test]
fn a_load_that_fails_leaves_nothing_and_one_that_ends_is_whole() {
    let server = Server::prepare(Flavor::Ironbark, &config("")).unwrap();
    let orphan = format!("{TREE}\ndn: cn=x,ou=missing,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\n");
    let wrong = format!("{TREE}\ndn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\n");
    for (arguments, ldif) in [(&["-q"][..], &orphan), (&["-c"], &orphan), (&[], &wrong)] {
        server.tool(Tool::Add, arguments, ldif).unwrap().expect_code(1).unwrap();
        assert_eq!(files(&server).len(), 0, "{arguments:?}");
    }
    server
        .tool(Tool::Add, &["-c", "-w"], &wrong)
        .unwrap()
        .success()
        .unwrap();
    let written = files(&server);
    assert_eq!(written.len(), 5);
    assert!(written["dc=example,dc=com.ldif"].contains("\ncontextCSN: "));
    let names: Vec<_> = fs::read_dir(folder(&server))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !names.iter().any(|name| name.to_string_lossy().contains("journal")),
        "{names:?}"
    );
}

#[test]
fn beside_a_server_tools_read_and_the_server_writes_for_them() {
    let mut server = Server::prepare(Flavor::Ironbark, &config("")).unwrap();
    server.slapadd(TREE).unwrap();
    server.launch().unwrap();
    let change = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: live\n";
    server.ldapmodify(change).unwrap().success().unwrap();
    assert!(dump(&server).contains("sn: live\n"));
    for (tool, input) in [
        (
            Tool::Add,
            "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\n",
        ),
        (Tool::Modify, &change.replace("live", "by a tool")),
    ] {
        server.tool(tool, &[], input).unwrap().success().unwrap();
    }
    let seen = |server: &Server, filter: &str| {
        let found = server.search(&["-b", "dc=example,dc=com", filter, "1.1"]).unwrap();
        assert!(found.success().unwrap().stdout.contains("dn: "), "{filter}");
    };
    seen(&server, "(cn=x)");
    seen(&server, "(sn=by a tool)");
    assert!(dump(&server).contains("sn: by a tool\n"));
    server.stop().unwrap();
    server.tool(Tool::Modify, &[], change).unwrap().success().unwrap();
    assert!(dump(&server).contains("dn: cn=x,dc=example,dc=com\n"));
}
