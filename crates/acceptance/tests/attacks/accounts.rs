//! New accounts: numbers that are given to them.

use std::{collections::BTreeSet, thread};

use ironbark_testkit::{Credentials, Server};

use crate::attacks::site::{ANN, BASE, BOB, run, site_holding, site_with, user};

/// Bob may add accounts, but no numbers of his choice below `ou=mine`.
fn site() -> Server {
    let overlay = "index uidNumber eq\nadd_content_acl on\noverlay dna\ndna-type uidNumber\n\
        dna-filter (objectClass=posixAccount)\ndna-next-value 1000\ndna-max-value 1499\n\
        access to attrs=uidNumber by * read";
    site_with(
        "include {schema}/core.schema\ninclude {schema}/cosine.schema\ninclude {schema}/nis.schema",
        overlay,
    )
}

fn account(name: &str, more: &str) -> String {
    format!(
        "dn: uid={name},ou=mine,{BASE}\nobjectClass: account\nobjectClass: posixAccount\ncn: x\ngidNumber: 1\n\
         homeDirectory: /\n{more}\n"
    )
}

fn numbers(server: &Server) -> Vec<u32> {
    let arguments = ["-LLL", "-b", BASE, "(uidNumber=*)", "uidNumber"];
    let found = run(server, &Credentials::ROOT, "ldapsearch", &arguments, "").stdout;
    let lines = found.lines().filter_map(|line| line.strip_prefix("uidNumber: "));
    lines.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn no_number_is_given_twice_or_lost() {
    const CLIENTS: u32 = 6;
    const EACH: u32 = 20;
    let server = site();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                // Every second one is refused: an unknown attribute, or a name that is taken.
                let adds: String = (0..EACH)
                    .flat_map(|number| {
                        let name = format!("{client}-{number}");
                        [
                            account(&name, ""),
                            account(&name, ""),
                            account(&format!("{name}x"), "sn: x\n"),
                        ]
                    })
                    .collect();
                run(server, &user(BOB), "ldapadd", &["-c"], &adds)
            });
        }
    });
    let found = numbers(&server);
    let distinct: BTreeSet<u32> = found.iter().copied().collect();
    assert_eq!(found.len(), distinct.len());
    assert_eq!(distinct, (1000..1000 + CLIENTS * EACH).collect());
    // Who may not write the attribute gets no number that it asks for, nor one of its choice.
    for (who, number, code) in [(BOB, "-1", 50), (BOB, "1400", 50), (ANN, "-1", 50)] {
        let text = account("own", &format!("uidNumber: {number}\n"));
        assert_eq!(run(&server, &user(who), "ldapadd", &[], &text).code(), Some(code));
    }
    // Who may not add there is answered as without the overlay: the number is required.
    let add = run(&server, &user(ANN), "ldapadd", &[], &account("own", ""));
    assert_eq!(add.code(), Some(65));
    assert_eq!(numbers(&server).len(), found.len());
}

/// The counter is as durable as the entries.
#[test]
fn a_restart_gives_no_number_again() {
    let mut server = site();
    for name in ["a", "b"] {
        run(&server, &user(BOB), "ldapadd", &[], &account(name, ""))
            .success()
            .unwrap();
    }
    run(
        &server,
        &user(BOB),
        "ldapdelete",
        &[&format!("uid=b,ou=mine,{BASE}")],
        "",
    )
    .success()
    .unwrap();
    server.kill().unwrap();
    server.launch().unwrap();
    run(&server, &user(BOB), "ldapadd", &[], &account("c", ""))
        .success()
        .unwrap();
    assert_eq!(numbers(&server), [1000, 1002]);
}

/// Bob's entries below `ou=mine` join a group to which he has no rights.
fn site_of_groups() -> Server {
    let overlay = format!(
        "overlay automember\nautomember-scope ou=mine,{BASE}\nautomember-filter (objectClass=person)\n\
         automember-inclusive-regex cn=admins,{BASE} description=^admin$\n\
         automember-inclusive-regex cn=admins,{BASE} \"description=(a|b)*c.*(d|e)+$\"\n\
         automember-exclusive-regex cn=admins,{BASE} description=^nobody$"
    );
    let group = format!("dn: cn=admins,{BASE}\nobjectClass: groupOfNames\ncn: admins\nmember: {ANN}\n");
    site_holding("", &overlay, &group)
}

fn members(server: &Server) -> String {
    let arguments = ["-LLL", "-b", BASE, "(cn=admins)", "member"];
    run(server, &Credentials::ROOT, "ldapsearch", &arguments, "").stdout
}

fn person(name: &str, description: &str) -> String {
    format!("dn: cn={name},ou=mine,{BASE}\nobjectClass: person\nsn: x\ndescription: {description}\n\n")
}

#[test]
fn long_values_are_too_much_work() {
    let server = site_of_groups();
    let before = members(&server);
    let long = "ab".repeat(6_000_000);
    let add = run(&server, &user(BOB), "ldapadd", &[], &person("long", &long));
    assert_eq!(add.code(), Some(11), "{}", add.stderr);
    run(&server, &user(BOB), "ldapadd", &[], &person("short", "x"))
        .success()
        .unwrap();
    let change =
        format!("dn: cn=short,ou=mine,{BASE}\nchangetype: modify\nreplace: description\ndescription: {long}\n");
    assert_eq!(run(&server, &user(BOB), "ldapmodify", &[], &change).code(), Some(11));
    assert_eq!(members(&server), before);
}

#[test]
fn groups_change_by_their_definition_alone() {
    let server = site_of_groups();
    let before = members(&server);
    // Not below ou=mine, refused by the schema, excluded, of another class.
    let elsewhere = person("x", "admin").replace("ou=mine,", "ou=people,");
    let wrong = person("x", "admin").replace("sn: x\n", "");
    let other = person("y", "admin").replace("person\nsn: x", "device");
    for (text, code) in [
        (elsewhere, 50),
        (wrong, 65),
        (person("z", "admin\ndescription: nobody"), 0),
        (other, 0),
    ] {
        assert_eq!(
            run(&server, &user(BOB), "ldapadd", &[], &text).code(),
            Some(code),
            "{text}"
        );
        assert_eq!(members(&server), before);
    }
    let direct = format!("dn: cn=admins,{BASE}\nchangetype: modify\nadd: member\nmember: {BOB}\n");
    assert_eq!(run(&server, &user(BOB), "ldapmodify", &[], &direct).code(), Some(50));
    run(&server, &user(BOB), "ldapadd", &[], &person("a", "admin"))
        .success()
        .unwrap();
    let added = members(&server);
    assert!(added.contains("member: cn=a,ou=mine"), "{added}");
    // The member leaves as it came, and takes nobody with it.
    let change = format!("dn: cn=a,ou=mine,{BASE}\nchangetype: modify\nreplace: description\ndescription: nobody\n");
    run(&server, &user(BOB), "ldapmodify", &[], &change).success().unwrap();
    assert_eq!(members(&server), before);
}
