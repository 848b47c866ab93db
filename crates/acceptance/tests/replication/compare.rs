//! `ironbark compare-replicas`, with ours and with slapd.

use std::process::{Command, Output};

use ironbark_testkit::{Flavor, Server};

use crate::replication::{PEOPLE, assert_follows, change, following, providing};

const TIMES: &str = "createTimestamp: 20200101000000Z\nmodifyTimestamp: 20200101000000Z\n";

/// Runs the tool as the rootdn of both servers.
fn compare(urls: &[&str], options: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(Flavor::Ironbark.program().unwrap())
        .arg("compare-replicas")
        .args(urls)
        .args(["-D", "cn=Manager,dc=example,dc=com", "-w", "secret"])
        .args(options)
        .output()
        .unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (status.code(), text(&stdout) + &text(&stderr))
}

/// An entry with UUID and CSN, as LDIF.
fn entry(name: &str, number: u8, second: u8, more: &str) -> String {
    format!(
        "dn: cn={name},ou=people,dc=example,dc=com\nobjectClass: person\nsn: s\n{more}\
         entryUUID: 00000000-0000-4000-8000-0000000000{number:02}\n\
         entryCSN: 202001010000{second:02}.000000Z#000000#001#000000\n{TIMES}\n"
    )
}

/// A server with entries from LDIF.
fn loaded(flavor: Flavor, entries: &str) -> Server {
    let mut server = Server::prepare(flavor, &Server::people_config("", "")).unwrap();
    let stamped = PEOPLE.split("\n\n").enumerate().map(|(number, entry)| {
        format!(
            "{}\nentryUUID: 00000000-0000-4000-9000-00000000000{number}\n\
             entryCSN: 20200101000000.000000Z#000000#001#000000\n{TIMES}\n",
            entry.trim_end()
        )
    });
    let ldif: Vec<String> = stamped.collect();
    server.slapadd(&(ldif.concat() + entries)).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn what_differs_is_named_whichever_server_it_is() {
    let same = entry("same", 1, 0, "description: b\ndescription: a\n");
    let first = same.clone()
        + &entry("missing", 2, 0, "")
        + &entry("older", 3, 5, "")
        + &entry("newer", 4, 5, "")
        + &entry("renamed", 5, 5, "")
        + &entry("unlike", 6, 5, "description: x\n");
    let second = entry("same", 1, 0, "description: a\ndescription: b\n")
        + &entry("older", 3, 4, "")
        + &entry("newer", 4, 6, "")
        + &entry("other", 5, 5, "")
        + &entry("unlike", 6, 5, "description: y\n")
        + &entry("extra", 7, 0, "");
    for flavors in [
        [Flavor::Ironbark, Flavor::Ironbark],
        [Flavor::OpenLdap, Flavor::Ironbark],
        [Flavor::Ironbark, Flavor::OpenLdap],
    ] {
        let servers = [loaded(flavors[0], &first), loaded(flavors[1], &second)];
        let urls = [servers[0].url(), servers[1].url()];
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let (status, text) = compare(&urls, &[]);
        assert_eq!(status, Some(1), "{text}");
        for part in [
            ": missing: cn=missing,ou=people,dc=example,dc=com (",
            ": older: cn=older,ou=people,dc=example,dc=com (",
            ": newer: cn=newer,ou=people,dc=example,dc=com (",
            ": renamed: cn=renamed,ou=people,dc=example,dc=com (",
            "  here: cn=other,ou=people,dc=example,dc=com\n",
            ": extra: cn=extra,ou=people,dc=example,dc=com (",
            ": 1 missing, 1 extra, 1 older, 1 newer, 1 renamed",
            "different: 5 entries\n",
        ] {
            assert!(text.contains(part), "{flavors:?}: {part} in {text}");
        }
        let (status, text) = compare(&urls, &["--deep", "--names", "6"]);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("  attributes: description\n"), "{text}");
        assert!(
            text.contains(": 1 missing, 1 extra, 1 older, 1 newer, 1 renamed, 1 unlike"),
            "{text}"
        );
        let (status, text) = compare(&[urls[0], urls[0]], &["--deep"]);
        assert!(
            status == Some(0) && text.contains("9 entries") && text.ends_with("equal\n"),
            "{text}"
        );
    }
}

#[test]
fn replicas_of_either_kind_are_found_equal() {
    for (of_provider, of_consumer) in [
        (Flavor::OpenLdap, Flavor::Ironbark),
        (Flavor::Ironbark, Flavor::OpenLdap),
        (Flavor::Ironbark, Flavor::Ironbark),
    ] {
        let provider = providing(of_provider, "");
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        let mut consumer = following(of_consumer, &provider, "type=refreshAndPersist");
        change(&provider, 1);
        let urls = [provider.url(), consumer.url()];
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        // The consumer is on its way.
        let (status, text) = compare(&urls, &["--wait", "30"]);
        assert!(status == Some(0) && text.contains("equal"), "{of_provider:?}: {text}");
        assert_follows(&consumer, &provider);
        let (status, text) = compare(&urls, &["--deep"]);
        assert!(
            status == Some(0) && text.ends_with("\nequal\n"),
            "{of_provider:?}: {text}"
        );
        consumer.stop().unwrap();
        change(&provider, 2);
        let (status, text) = compare(&urls, &[]);
        assert!(status == Some(2) && text.contains(urls[1]), "{text}");
    }
}

#[test]
fn sums_find_what_differs_among_many() {
    let all = (0..3_000)
        .map(|number: u32| {
            format!(
                "dn: cn=e{number},ou=people,dc=example,dc=com\nobjectClass: person\nsn: s\n\
                 entryUUID: {:08x}-0000-4000-8000-000000000000\n\
                 entryCSN: 20200101000000.000000Z#000000#001#000000\n\n",
                number << 20 | number
            )
        })
        .collect::<Vec<_>>()
        .concat();
    let but_one = all
        .replace("cn=e77,", "cn=other,")
        .replace("04d0004d-0000-4000-8000", "04d0004d-0000-4000-8001");
    let servers = [loaded(Flavor::Ironbark, &all), loaded(Flavor::Ironbark, &but_one)];
    let urls = [servers[0].url(), servers[1].url()];
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let (status, text) = compare(&urls, &[]);
    assert_eq!(status, Some(1), "{text}");
    for part in [
        "sums: 1 of 4096 buckets differ\n",
        ": 3003 entries",
        ": missing: cn=e77,ou=people,dc=example,dc=com (",
        ": extra: cn=other,ou=people,dc=example,dc=com (",
        ": 1 missing, 1 extra\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Sums are of the moment when they are asked for.
    for server in &servers {
        for name in ["e77", "other"] {
            let dn = format!("dn: cn={name},ou=people,dc=example,dc=com\nchangetype: delete\n");
            server.ldapmodify(&dn).unwrap();
        }
    }
    let (status, text) = compare(&urls, &[]);
    assert!(status == Some(0) && text.contains("sums: 0 of 4096"), "{text}");
}

#[test]
fn who_sees_only_a_part_is_told_so() {
    let config = Server::people_config(
        "",
        "access to attrs=entryUUID by * none\naccess to * by * read\nsizelimit 2\n",
    );
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let url = server.url();
    let run = |options: &[&str]| {
        let program = Flavor::Ironbark.program().unwrap();
        let output = Command::new(program)
            .args(["compare-replicas", &url, &url])
            .args(options)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (status, text) = run(&[]);
    assert!(status == Some(2) && text.contains("entryUUID cannot be read"), "{text}");
    let (status, text) = run(&["-b", "dc=example,dc=org"]);
    assert!(status == Some(2) && text.contains("dc=example,dc=org"), "{text}");
    let (status, text) = run(&["-D", "cn=Manager,dc=example,dc=com", "-w", "wrong"]);
    assert!(status == Some(2) && text.contains("invalidCredentials"), "{text}");
    let limited = Server::people_config("", "sizelimit 2\n");
    let limited = Server::start(Flavor::OpenLdap, &limited).unwrap();
    limited.ldapadd(PEOPLE).unwrap().success().unwrap();
    let program = Flavor::Ironbark.program().unwrap();
    let urls = [limited.url(), limited.url()];
    let output = Command::new(program)
        .arg("compare-replicas")
        .args(&urls)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && text.contains("size limit"), "{text}");
}

#[test]
fn sums_are_for_those_who_may_manage() {
    let config = Server::people_config(
        "",
        "access to dn.base=\"dc=example,dc=com\" by dn.base=\"ou=people,dc=example,dc=com\" manage \
         by dn.base=\"ou=others,dc=example,dc=com\" none by * read\naccess to * by anonymous auth by * write\n",
    );
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    let people = PEOPLE.replace("ou: ", "userPassword: secret\nou: ");
    let people = people.replace(
        "objectClass: organizationalUnit",
        "objectClass: organizationalUnit\ndescription: x",
    );
    server.ldapadd(&people).unwrap().success().unwrap();
    let script = format!(
        "import ldap\n\
         from ldap.extop import ExtendedRequest\n\
         OID = '2.25.1246756151.3.2'\n\
         def value(base): return bytes([0x30, len(base) + 2, 0x04, len(base)]) + base\n\
         root = ('cn=Manager,dc=example,dc=com', 'secret')\n\
         def sums(name, password, octets):\n\
         \x20   connection = ldap.initialize('{url}')\n\
         \x20   connection.simple_bind_s(name, password)\n\
         \x20   try: return len(connection.extop_s(ExtendedRequest(OID, octets))[1] or b'') > 65536\n\
         \x20   except ldap.LDAPError as error: return type(error).__name__\n\
         base = value(b'dc=example,dc=com')\n\
         print(sums(*root, base))\n\
         print(sums('ou=people,dc=example,dc=com', 'secret', base))\n\
         print(sums('', '', base))\n\
         print(sums('ou=others,dc=example,dc=com', 'secret', base))\n\
         print(sums(*root, value(b'ou=people,dc=example,dc=com')))\n\
         print(sums(*root, value(b'dc=nowhere')))\n\
         print(sums(*root, value(b'x')))\n\
         print(sums(*root, base[:-1]))\n\
         print(sums(*root, base + bytes(100000)))\n\
         print(sums(*root, None))\n",
        url = server.url()
    );
    let outcome = server.python(&script).unwrap().success().unwrap();
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "True",
            "True",
            "INSUFFICIENT_ACCESS",
            "NO_SUCH_OBJECT",
            "NO_SUCH_OBJECT",
            "NO_SUCH_OBJECT",
            "INVALID_DN_SYNTAX",
            "PROTOCOL_ERROR",
            "PROTOCOL_ERROR",
            "PROTOCOL_ERROR",
        ]
    );
}

#[test]
fn a_consumer_notices_that_it_holds_something_else() {
    let csn = "contextCSN: 20200101000059.000000Z#000000#001#000000\n";
    let loaded = |config: &str, more: &str| {
        let mut server = Server::prepare(Flavor::Ironbark, config).unwrap().debug_level("16640");
        let base = format!("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n{csn}");
        let base = format!("{base}entryUUID: 00000000-0000-4000-9000-000000000000\n{TIMES}");
        let base = format!("{base}entryCSN: 20200101000000.000000Z#000000#001#000000\n\n");
        let people = entry("x", 9, 0, "").replace("cn=x,ou=people", "ou=people");
        let people = people.replace("objectClass: person\nsn: s", "objectClass: organizationalUnit");
        server.slapadd(&format!("{base}{people}{more}")).unwrap();
        server.launch().unwrap();
        server
    };
    let provider = "serverID 1\nmoduleload syncprov";
    let provider = Server::people_config(provider, "overlay syncprov\n");
    let provider = loaded(&provider, &(entry("a", 1, 0, "") + &entry("b", 2, 0, "")));
    let follower = Server::people_config("", &crate::replication::line(&provider, "type=refreshAndPersist"));
    let mut consumer = loaded(&follower, &(entry("a", 1, 0, "") + &entry("b", 2, 0, "")));
    consumer.wait_for_log("compared with the provider: equal=true").unwrap();
    // An entry that the provider never had, under a CSN that both know.
    consumer.stop().unwrap();
    consumer.slapadd(&entry("c", 3, 0, "")).unwrap();
    consumer.launch().unwrap();
    consumer
        .wait_for_log("has the same contextCSN and other entries, in 1 of 4096 parts")
        .unwrap();
}
