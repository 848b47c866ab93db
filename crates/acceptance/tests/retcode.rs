//! Overlay retcode compared with slapd's: the same requests, the same answers; and requests that are held.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Credentials, Flavor, Server, Transcript, assert_same};

const BASE: &str = "dc=example,dc=com";

const DATA: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
userPassword: secret

dn: cn=busy,ou=People,dc=example,dc=com
objectClass: person
objectClass: errAuxObject
cn: busy
sn: busy
errCode: 51
errText: come again
errMatchedDN: dc=example,dc=com
userPassword: secret

dn: cn=read only,ou=People,dc=example,dc=com
objectClass: device
objectClass: errAuxObject
cn: read only
errCode: 53
errOp: modify
errOp: delete
errOp: modrdn
";

fn configuration(lines: &str) -> String {
    Server::people_config("moduleload retcode", &format!("overlay retcode\n{lines}"))
}

/// Items with all kinds of answers.
const ITEMS: &str = "\
retcode-parent ou=RetCodes,dc=example,dc=com
retcode-item cn=success 0
retcode-item cn=busy 51 text=\"come again\" matched=\"OU=People, dc=Example,dc=com\"
retcode-item \"cn=search only\" 0x35 op=search
retcode-item cn=octal 010 op=read,auth
retcode-item cn=referral 10 text=elsewhere ref=\"ldap://a/ ldap://b/dc=x\"
retcode-item cn=true 6 op=compare
retcode-item cn=slow 51 sleeptime=1
retcode-item cn=cut 52 flags=disconnect
retcode-item cn=gone 52 flags=post-disconnect
retcode-item cn=noticed 2 unsolicited=0
retcode-item cn=forever 2 sleeptime=1000000
";

#[test]
fn requests_that_name_an_item_are_answered_alike() {
    assert_same(|flavor| {
        let server = Server::start(flavor, &configuration(ITEMS))?;
        server.ldapadd(DATA)?.success()?;
        let mut transcript = Transcript::new(&server);
        transcript.ignore_order();
        let names = [
            "cn=success",
            "cn=busy",
            "CN=Search  Only",
            "cn=octal",
            "cn=referral",
            "cn=true",
            "cn=other",
            "cn=a,cn=busy",
        ];
        let parent = format!("ou=RetCodes,{BASE}");
        for name in names.map(|name| format!("{name},{parent}")).iter().chain([&parent]) {
            transcript.search(&["-b", name, "-s", "base"])?;
            transcript.search(&["-b", name, "-s", "sub"])?;
            let compared = Credentials::Anonymous;
            transcript.client("ldapcompare", &compared, &[name, "cn:x"], "")?;
            // In slapd, a success would authenticate the client.
            if !name.starts_with("cn=success") {
                let bound = Credentials::Simple {
                    dn: name,
                    password: "secret",
                };
                transcript.client("ldapwhoami", &bound, &[], "")?;
            }
            for change in [
                "changetype: delete\n",
                "changetype: modify\nreplace: cn\ncn: x\n",
                "changetype: add\nobjectClass: device\ncn: x\n",
                "changetype: modrdn\nnewrdn: cn=y\ndeleteoldrdn: 0\n",
            ] {
                transcript.modify(&format!("dn: {name}\n{change}"))?;
            }
        }
        for arguments in [
            &["-b", &parent, "-s", "one", "(cn=b*)", "*"][..],
            &["-b", &parent, "-s", "children", "(errOp=compare)", "cn", "errOp"],
            &["-b", &parent, "-s", "one", "(errCode>=50)", "errCode"],
            &["-b", &parent, "-s", "one", "-z", "2", "1.1"],
        ] {
            transcript.search(arguments)?;
        }
        transcript.search(&["-b", BASE, "(objectClass=*)", "1.1"])?;
        Ok(transcript.finish())
    });
}

#[test]
fn an_item_of_success_lets_nobody_in() {
    let server = Server::start(Flavor::Ironbark, &configuration(ITEMS)).unwrap();
    let item = format!("cn=success,ou=RetCodes,{BASE}");
    let as_item = Credentials::Simple {
        dn: &item,
        password: "secret",
    };
    let said = server
        .client("ldapwhoami", &as_item, &[], "")
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(said.stdout, "anonymous\n");
    let busy = format!("cn=busy,ou=RetCodes,{BASE}");
    let changed = server
        .client("ldappasswd", &Credentials::ROOT, &["-s", "new", &busy], "")
        .unwrap();
    assert!(
        changed.stdout.contains("Result: Server is busy (51)"),
        "{}",
        changed.stdout
    );
}

#[test]
fn entries_of_the_database_are_answered_with_alike() {
    assert_same(|flavor| {
        let server = Server::start(
            flavor,
            &configuration("retcode-parent ou=RetCodes,dc=example,dc=com\nretcode-indir on"),
        )?;
        let mut transcript = Transcript::new(&server);
        transcript.client("ldapadd", &Credentials::ROOT, &["-c"], DATA)?;
        transcript.client("ldapadd", &Credentials::ROOT, &["-c", "-MM"], DATA)?;
        for name in ["cn=busy", "cn=read only", "cn=none"].map(|name| format!("{name},ou=People,{BASE}")) {
            transcript.search(&["-b", &name, "-s", "base"])?;
            transcript.search(&["-MM", "-b", &name, "-s", "base"])?;
            let bound = Credentials::Simple {
                dn: &name,
                password: "secret",
            };
            transcript.client("ldapwhoami", &bound, &[], "")?;
            transcript.modify(&format!("dn: {name}\nchangetype: modify\nreplace: cn\ncn: x\n"))?;
            transcript.modify(&format!(
                "dn: {name}\nchangetype: modrdn\nnewrdn: cn=y\ndeleteoldrdn: 0\n"
            ))?;
            transcript.modify(&format!("dn: {name}\nchangetype: delete\n"))?;
        }
        Ok(transcript.finish())
    });
}

#[test]
fn without_parent_and_items_the_database_is_hidden_alike() {
    for lines in ["", "retcode-indir on"] {
        assert_same(|flavor| {
            let server = Server::start(flavor, &configuration(lines))?;
            let mut transcript = Transcript::new(&server);
            for base in [BASE, &format!("ou=People,{BASE}"), &format!("cn=x,{BASE}")] {
                for scope in ["base", "one", "sub"] {
                    transcript.search(&["-b", base, "-s", scope, "1.1"])?;
                }
            }
            transcript.client("ldapwhoami", &Credentials::ROOT, &[], "")?;
            transcript.client("ldapadd", &Credentials::ROOT, &["-c"], DATA)?;
            Ok(transcript.finish())
        });
    }
}

#[test]
fn items_that_a_search_finds_are_answered_with_alike() {
    assert_same(|flavor| {
        let server = Server::start(flavor, &configuration(&format!("{ITEMS}retcode-indir on\n")))?;
        let mut transcript = Transcript::new(&server);
        let parent = format!("ou=RetCodes,{BASE}");
        for scope in ["one", "sub", "children"] {
            for filter in [
                "(objectClass=*)",
                "(cn=search only)",
                "(cn=true)",
                "(errCode=53)",
                "(cn=none)",
                "(cn=success)",
            ] {
                transcript.search(&["-b", &parent, "-s", scope, filter, "1.1"])?;
                transcript.search(&["-MM", "-b", &parent, "-s", scope, filter, "1.1"])?;
            }
        }
        Ok(transcript.finish())
    });
}

const SCRIPT: &str = "
import ldap, os
url = os.environ['LDAP_URL']
def outcome(what):
    try: return what()
    except ldap.LDAPError as error: return type(error).__name__, error.args[0].get('result'), error.args[0].get('info')
P = 'ou=RetCodes,dc=example,dc=com'
l = ldap.initialize(url)
slow = l.compare('cn=slow,' + P, 'cn', b'x')
quick = l.search('dc=example,dc=com', ldap.SCOPE_BASE, attrlist=['o'])
print('quick', outcome(lambda: l.result(quick)))
print('slow', outcome(lambda: l.result(slow)))
# What is abandoned is not answered, and what comes behind it is.
slow = l.search('cn=slow,' + P, ldap.SCOPE_BASE)
l.abandon(slow)
print('after', outcome(lambda: l.compare_s('cn=true,' + P, 'cn', 'x')))
for name in 'cut', 'gone':
    m = ldap.initialize(url)
    print(name, outcome(lambda: m.search_s('cn=%s,' % name + P, ldap.SCOPE_BASE)))
    # slapd may still answer what comes before it closes the connection.
    print('closed', any(outcome(m.whoami_s)[:1] == ('SERVER_DOWN',) for _ in range(10000)))
";

#[test]
fn a_held_request_keeps_no_other_waiting_and_can_be_given_up() {
    assert_same(|flavor| {
        let server = Server::start(flavor, &configuration(ITEMS))?;
        server.ldapadd(DATA)?.success()?;
        let mut transcript = Transcript::new(&server);
        transcript.python(SCRIPT)?;
        Ok(transcript.finish())
    });
}

const GIVEN_UP: &str = "
import ldap, os
P = 'ou=RetCodes,dc=example,dc=com'
l = ldap.initialize(os.environ['LDAP_URL'])
# More than may be under way: the rest waits in the socket, and all are answered.
for number in range(300): l.compare('cn=slow,' + P, 'cn', b'x')
last = l.search('', ldap.SCOPE_BASE, attrlist=['1.1'])
print(len(l.result(last)[1]))
l = ldap.initialize(os.environ['LDAP_URL'])
for begun in l.compare('cn=forever,' + P, 'cn', b'x'), l.search('cn=forever,' + P, ldap.SCOPE_SUBTREE):
    l.cancel_s(begun)
    try: l.result(begun)
    except ldap.LDAPError as error: print(error.args[0]['result'])
# Abandoned and gone half-way.
l.abandon(l.search('cn=forever,' + P, ldap.SCOPE_BASE))
print(l.whoami_s(), flush=True)
l.simple_bind('cn=forever,' + P, 'x')
l.search('cn=forever,' + P, ldap.SCOPE_BASE)
os._exit(0)
";

#[test]
fn what_is_held_is_bounded_and_ends_with_its_client_or_the_server() {
    let mut server = Server::start(Flavor::Ironbark, &configuration(ITEMS)).unwrap();
    let said = server.python(GIVEN_UP).unwrap().success().unwrap();
    assert_eq!(said.stdout, "1\n118\n118\n\n");
    let held = "
import ldap, os, sys, time
l = ldap.initialize(os.environ['LDAP_URL'])
l.compare('cn=forever,ou=RetCodes,dc=example,dc=com', 'cn', b'still there')
l.whoami_s()
if os.fork() == 0:
    # Keeps the connection until the server closes it.
    os.close(1); os.close(2)
    try: l.result()
    except ldap.LDAPError: pass
os._exit(0)
";
    server.python(held).unwrap().success().unwrap();
    server.stop().unwrap();
}
