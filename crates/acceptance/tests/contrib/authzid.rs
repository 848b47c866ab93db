//! The overlay authzid, with clients of OpenLDAP: simple binds, and SASL with another identity.

use ironbark_testkit::{Credentials, Flavor, Server, Tool};

use crate::contrib::BASE;

const DATA: &str = concat!(
    include_str!("../data/people.ldif"),
    "
dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann
sn: Lee
userPassword: annspass
"
);

#[test]
fn clients_are_told_who_they_are() {
    let global = "authz-regexp gidNumber=.*,cn=peercred,cn=external,cn=auth uid=peer,ou=People,dc=example,dc=com\n\
        authz-regexp uid=([^,]*),cn=scram-sha-256,cn=auth uid=$1,ou=People,dc=example,dc=com";
    let config = Server::people_config(global, "database frontend\noverlay authzid");
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let ann = format!("uid=ann,ou=People,{BASE}");
    let ann = Credentials::Simple {
        dn: &ann,
        password: "annspass",
    };
    let shown = |credentials: &Credentials<'_>, arguments: &[&str]| {
        let arguments = [&["-v", "-e", "!bauthzid"], arguments].concat();
        let outcome = server.client("ldapwhoami", credentials, &arguments, "").unwrap();
        format!("{}{}", outcome.stdout, outcome.stderr)
    };
    for (found, name) in [
        (shown(&ann, &[]), format!("dn:uid=ann,ou=People,{BASE}")),
        (shown(&Credentials::ROOT, &[]), format!("dn:cn=Manager,{BASE}")),
        (
            shown(&Credentials::External, &[]),
            "dn:uid=peer,ou=people,dc=example,dc=com".to_owned(),
        ),
    ] {
        let lines = found.to_lowercase().matches(&name.to_lowercase()).count();
        assert!(lines >= 2, "in the control, and as the answer to Who am I: {found}");
    }
    let wrong = Credentials::Simple {
        dn: BASE,
        password: "wrong",
    };
    assert!(!shown(&wrong, &[]).contains("dn:"), "a failure tells nothing");
}

#[test]
fn it_belongs_to_the_frontend() {
    let server = Server::prepare(Flavor::Ironbark, &Server::people_config("", "overlay authzid")).unwrap();
    let outcome = server.tool(Tool::Test, &[], "").unwrap();
    assert_ne!(outcome.code(), Some(0));
    assert!(
        outcome.stderr.contains("slapo-authzid must be global"),
        "{}",
        outcome.stderr
    );
}
