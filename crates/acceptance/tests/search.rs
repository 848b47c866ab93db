//! Search as ldapsearch sees it. Each answer is compared with slapd's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Server, Transcript, assert_same_answers};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";

#[test]
fn extensible_object_selects_user_attributes() {
    // RFC 4529 §2 makes it `*`; slapd returns the operational attributes too.
    let server = Server::start(ironbark_testkit::Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let answer = |selection| {
        server
            .search(&["-b", BASE, selection])
            .unwrap()
            .success()
            .unwrap()
            .stdout
    };
    assert_eq!(answer("@extensibleObject"), answer("*"));
}

#[test]
fn plus_selects_all_operational_attributes() {
    let config = Server::PEOPLE_CONFIG;
    ironbark_testkit::assert_same(|flavor| {
        let server = Server::start(flavor, config)?;
        server.ldapadd(DATA)?.success()?;
        let mut names = String::new();
        for selection in [&["+"][..], &["*", "+"], &["+", "cn"]] {
            let arguments = [&["-b", BASE, "-A", "(|(uid=ann)(ou=people))"][..], selection].concat();
            names.push_str(&server.search(&arguments)?.success()?.stdout);
        }
        Ok(names)
    });
}

#[test]
fn limits_end_a_search_with_their_codes() {
    let mut data = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n".to_owned();
    for n in 0..600 {
        let number = n.to_string();
        for part in [
            "dn: cn=n",
            &number,
            ",dc=example,dc=com\nobjectClass: organizationalRole\ncn: n",
            &number,
            "\n\n",
        ] {
            data.push_str(part);
        }
    }
    assert_same_answers(Server::PEOPLE_CONFIG, &data, |transcript| {
        transcript.search(&["-b", BASE, "-z", "3", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "1", "(cn=n5)", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "max", "1.1"])?;
        transcript.search(&["-b", BASE, "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "601", "1.1"])?;
        transcript.search(&["-b", BASE, "-l", "5", "-z", "2", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "none", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "550", "1.1"])
    });
    let limited = format!(
        "{}limits anonymous size=7\nlimits * size.soft=9 size.hard=12\n",
        Server::PEOPLE_CONFIG
    );
    assert_same_answers(&limited, &data, |transcript| {
        transcript.search(&["-b", BASE, "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "8", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "5", "1.1"])?;
        transcript.search_but_for("# pagedresults: ", &["-b", BASE, "-E", "pr=5/noprompt", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "599", "1.1"])
    });
}

#[test]
fn the_definitions_of_the_schema_are_slapds() {
    ironbark_testkit::assert_same(|flavor| {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
        let arguments = ["-b", "cn=Subschema", "-s", "base", "attributeTypes", "objectClasses"];
        let answer = server.search(&arguments)?.success()?.stdout;
        // OID, names, superior, rules, syntax, kind; descriptions and the choice among names differ from slapd's.
        let description = |line: &str| match line.split_once(" DESC '") {
            Some((before, after)) => format!("{before}{}", after.split_once('\'').unwrap_or_default().1),
            None => line.to_owned(),
        };
        let mut lines: Vec<String> = answer
            .lines()
            .filter(|line| line.starts_with("attributeTypes: ( 2.5.") || line.starts_with("attributeTypes: ( 0.9."))
            .map(description)
            // RFC 4519 writes internationalISDNNumber, slapd internationaliSDNNumber.
            .map(|line| line.to_lowercase())
            .collect();
        lines.sort_unstable();
        Ok(lines.join("\n") + "\n")
    });
}

/// Two databases, the inner glued to the outer or not.
fn two_databases(subordinate: &str) -> String {
    format!(
        "include {{schema}}/core.schema\ninclude {{schema}}/cosine.schema\ninclude {{schema}}/inetorgperson.schema\n\
         database mdb\nsuffix \"ou=People,dc=example,dc=com\"\n{subordinate}\nrootdn \"cn=Manager,dc=example,dc=com\"\n\
         directory {{dir}}/inner\n\
         database mdb\nsuffix \"dc=example,dc=com\"\nrootdn \"cn=Manager,dc=example,dc=com\"\nrootpw secret\n\
         directory {{dir}}/db\n"
    )
}

#[test]
fn a_subordinate_database_is_searched_as_one_with_its_superior() {
    for subordinate in ["", "subordinate", "subordinate advertise"] {
        ironbark_testkit::assert_same(|flavor| {
            let mut server = Server::prepare(flavor, &two_databases(subordinate))?;
            server.layout().make_dir("inner")?;
            server.launch()?;
            server.ldapadd(DATA)?.success()?;
            let mut transcript = Transcript::new(&server);
            transcript.ignore_order();
            for base in [BASE, "ou=People,dc=example,dc=com", "ou=Groups,dc=example,dc=com"] {
                for scope in ["base", "one", "sub", "children"] {
                    // slapd leaves out the glued database in the scope of subordinates.
                    if (base, scope) != (BASE, "children") {
                        transcript.search(&["-b", base, "-s", scope, "1.1"])?;
                    }
                }
            }
            transcript.search(&["-b", "uid=x,ou=People,dc=example,dc=com"])?;
            transcript.search(&["-b", BASE, "(ou=*)", "hasSubordinates"])?;
            transcript.search(&["-b", "", "-s", "base", "namingContexts"])?;
            Ok(transcript.finish())
        });
    }
}
