//! Random operations beside Debian's slapd: the same result codes, the same entries, the same content at the end.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::process::Command;

use ironbark_testkit::{Flavor, Server};

const CONFIGURATION: &str = "\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
include {schema}/nis.schema
attributetype ( 1.3.6.1.4.1.32473.1 NAME 'tOne' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15
  SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.32473.2 NAME 'tNoEq' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.32473.3 NAME 'tInt' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX
  1.3.6.1.4.1.1466.115.121.1.27 )
attributetype ( 1.3.6.1.4.1.32473.4 NAME 'tTime' EQUALITY generalizedTimeMatch ORDERING
  generalizedTimeOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 )
attributetype ( 1.3.6.1.4.1.32473.5 NAME 'tBool' EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 )
attributetype ( 1.3.6.1.4.1.32473.6 NAME 'tDn' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )
attributetype ( 1.3.6.1.4.1.32473.7 NAME 'tSub' SUP cn )
objectclass ( 1.3.6.1.4.1.32473.20 NAME 'tAux' SUP top AUXILIARY MAY ( tOne $ tNoEq $ tInt $ tTime $ tBool $
  tDn $ tSub ) )
objectclass ( 1.3.6.1.4.1.32473.21 NAME 'tMust' SUP top AUXILIARY MUST tInt )
pidfile {dir}/slapd.pid
database mdb
suffix dc=x
rootdn cn=root,dc=x
rootpw secret
directory {dir}/db
index objectClass,cn,uid,tInt eq
index sn,mail pres,eq,sub
access to attrs=userPassword by self write by anonymous auth by * none
access to dn.subtree=ou=p,dc=x attrs=entry,children,@person,@inetOrgPerson,@tAux by dn.exact=cn=w,dc=x write by * read
access to * by * read
";

const ENTRIES: &str = "\
dn: dc=x
objectClass: domain
dc: x

dn: ou=p,dc=x
objectClass: organizationalUnit
ou: p

dn: ou=g,dc=x
objectClass: organizationalUnit
ou: g

dn: cn=w,dc=x
objectClass: person
cn: w
sn: w
userPassword: secret
";

/// `IRONBARK_SEED` and `IRONBARK_CASES` choose other operations and another number of them.
#[test]
fn random_operations_have_the_answers_of_slapd() {
    let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
        let mut server = Server::prepare(flavor, CONFIGURATION).unwrap();
        server.slapadd(ENTRIES).unwrap();
        server.launch().unwrap();
        server
    });
    let chosen = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/random/operations.py");
    let outcome = Command::new("/usr/bin/python3")
        .args(["-B", script, &theirs.url(), &ours.url()])
        .args([chosen("IRONBARK_SEED", "1"), chosen("IRONBARK_CASES", "3000")])
        .env_clear()
        .envs([("LDAPNOINIT", "1"), ("LC_ALL", "C.UTF-8")])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        outcome.status.success(),
        "{}{}",
        text(&outcome.stdout),
        text(&outcome.stderr)
    );
}
