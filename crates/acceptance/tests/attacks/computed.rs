//! Values that are computed: what they are made of may be hidden.

use ironbark_testkit::{Credentials, Flavor, Server};

use crate::attacks::site::{ANN, BASE, BOB, DATA, NOBODY, run, template, user};

/// What Bob may write himself: groups and lists of all kinds, with the rootdn as their identity too.
const TRAPS: &str = "\
dn: cn=by number,ou=mine,dc=example,dc=com
objectClass: groupOfURLs
cn: by number
memberURL: ldap:///dc=example,dc=com??sub?(employeeNumber=3)

dn: cn=by password,ou=mine,dc=example,dc=com
objectClass: groupOfURLs
objectClass: dgIdentityAux
cn: by password
memberURL: ldap:///dc=example,dc=com??sub?(userPassword=*)
dgIdentity: cn=Manager,dc=example,dc=com

dn: cn=hidden,ou=mine,dc=example,dc=com
objectClass: groupOfURLs
cn: hidden
memberURL: ldap:///ou=hidden,dc=example,dc=com??sub?(sn=secret)

dn: cn=list,ou=mine,dc=example,dc=com
objectClass: groupOfURLs
objectClass: labeledURIObject
objectClass: dgIdentityAux
cn: list
dgIdentity: cn=Manager,dc=example,dc=com
labeledURI: ldap:///dc=example,dc=com?userPassword,employeeNumber,description?sub?(objectClass=person)

dn: cn=mine,ou=mine,dc=example,dc=com
objectClass: inetOrgPerson
cn: mine
sn: mine
manager: uid=ann,ou=people,dc=example,dc=com
seeAlso: cn=secret,ou=hidden,dc=example,dc=com
";

/// What the administrator has defined.
const DEFINITIONS: &str = "\
dn: cn=by manager,dc=example,dc=com
objectClass: cosIndirectDefinition
cn: by manager
cosIndirectSpecifier: manager
cosAttribute: employeeNumber

dn: cn=by entry,dc=example,dc=com
objectClass: cosIndirectDefinition
cn: by entry
cosIndirectSpecifier: seeAlso
cosAttribute: description override
";

fn site() -> Server {
    let overlays = "overlay cos\noverlay dynlist\n\
                    dynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames*\n\
                    dynlist-attrset labeledURIObject labeledURI description:employeeNumber";
    let text = template("", overlays).replacen("pidfile", "include {schema}/dyngroup.schema\npidfile", 1);
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server.slapadd(&format!("{DATA}\n{DEFINITIONS}")).unwrap();
    server.launch().unwrap();
    run(&server, &user(BOB), "ldapadd", &[], TRAPS).success().unwrap();
    server
}

#[test]
fn what_is_made_of_hidden_values_is_no_oracle() {
    let server = site();
    // Who may see what they are made of finds it.
    for filter in [
        "(member=cn=secret,ou=hidden,dc=example,dc=com)",
        "(&(cn=mine)(employeeNumber=3))",
        "(&(cn=list)(description=plan))",
    ] {
        let arguments = ["-LLL", "-b", BASE, filter, "1.1"];
        let found = run(&server, &Credentials::ROOT, "ldapsearch", &arguments, "").stdout;
        assert!(found.contains("ou=mine"), "{filter}: {found}");
    }
    for who in [NOBODY, user(BOB)] {
        let search = |filter: &str, attributes: &[&str]| {
            let arguments = [&["-LLL", "-o", "ldif-wrap=no", "-b", BASE, filter], attributes].concat();
            run(&server, &who, "ldapsearch", &arguments, "").stdout
        };
        let all = search("(objectClass=*)", &["*", "+"]);
        for hidden in [
            "pass\n",
            "c3Bhc3M",
            "description: 3",
            "member: uid",
            "member: cn=secret",
            "plan",
        ] {
            assert!(!all.contains(hidden), "{hidden} as {who:?}:\n{all}");
        }
        for filter in [
            "(member=uid=ann,ou=people,dc=example,dc=com)",
            "(member=cn=secret,ou=hidden,dc=example,dc=com)",
            "(memberOf=cn=by number,ou=mine,dc=example,dc=com)",
            "(memberOf=cn=by password,ou=mine,dc=example,dc=com)",
            "(&(uid=ann)(memberOf=*))",
            "(&(uid=ann)(!(memberOf=cn=none,dc=example,dc=com))(memberOf:1.2.840.113556.1.4.1941:=cn=by number,ou=mine,dc=example,dc=com))",
            "(description=3)",
            "(employeeNumber=3)",
            "(description=plan)",
            "(!(description=x))(description=pl*)",
        ] {
            assert_eq!(search(filter, &["1.1"]), "", "{filter} as {who:?}");
        }
        for (dn, assertion) in [
            ("cn=by number,ou=mine,dc=example,dc=com", format!("member:{ANN}")),
            ("cn=by password,ou=mine,dc=example,dc=com", format!("member:{ANN}")),
            ("cn=list,ou=mine,dc=example,dc=com", "userPassword:annspass".to_owned()),
            ("cn=list,ou=mine,dc=example,dc=com", "description:3".to_owned()),
            ("cn=mine,ou=mine,dc=example,dc=com", "employeeNumber:3".to_owned()),
            ("cn=mine,ou=mine,dc=example,dc=com", "description:plan".to_owned()),
        ] {
            let compared = run(&server, &who, "ldapcompare", &[dn, &assertion], "");
            assert_ne!(compared.code(), Some(6), "{dn} {assertion} as {who:?}");
        }
    }
}
