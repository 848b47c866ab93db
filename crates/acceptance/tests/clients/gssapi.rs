//! GSSAPI: clients with tickets of a real KDC, against a server with a key table of it.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, ProgramOutput, Server, wait};

use super::{prepared, program, succeed};

/// A KDC with users and a service, and what they do here.
struct Kdc(ironbark_testkit::Kdc);

impl Kdc {
    fn start() -> Self {
        Self(ironbark_testkit::Kdc::start().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.file(name)
    }

    fn log_in(&self, user: &str, cache: &str) {
        self.0.log_in(user, cache).unwrap();
    }

    /// A server with this key table and this default realm.
    fn server(&self, flavor: Flavor, global: &str, keys: (&str, &str)) -> Server {
        self.server_with(flavor, (global, ""), keys)
    }

    /// The same with further lines of its database.
    fn server_with(&self, flavor: Flavor, (global, lines): (&str, &str), (keys, realm): (&str, &str)) -> Server {
        let of_database = format!("access to * by self write by * read\n{lines}");
        let mut server = prepared(flavor, (global, &of_database));
        let replay = format!("file2:{}", server.layout().join("replay").display());
        server = server.environment("KRB5_CONFIG", &self.file(realm));
        server = server
            .environment("KRB5_KTNAME", &self.file(keys))
            .environment("KRB5RCACHENAME", &replay);
        server.launch().unwrap();
        server
    }

    /// Runs a client with the ticket of a file.
    fn client(&self, server: &Server, cache: &str, (name, arguments): (&str, &[&str])) -> ProgramOutput {
        let (configuration, cache) = (self.file("krb5.conf"), self.file(cache));
        let authority = server.layout().join("ca.crt").display().to_string();
        let environment = [
            ("KRB5_CONFIG", configuration.as_str()),
            ("KRB5CCNAME", cache.as_str()),
            ("LDAPTLS_CACERT", authority.as_str()),
            // Clients look for the machine's name in the certificate where the URL has localhost.
            ("LDAPTLS_REQCERT", "allow"),
        ];
        let url = server.url().replace("127.0.0.1", "localhost");
        let all = [&["-N", "-Q", "-Y", "GSSAPI", "-H", &url], arguments].concat();
        server.client_with(name, &environment, &all, "").unwrap()
    }

    /// Exit status and identity.
    fn whoami(&self, server: &Server, cache: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let outcome = self.client(server, cache, ("ldapwhoami", arguments));
        (outcome.code(), outcome.stdout.trim().to_owned())
    }
}

const USUAL: (&str, &str) = ("keytab", "krb5.conf");
const ANN: &str = "dn:uid=ann,ou=people,dc=example,dc=com";

/// The strengths of the binds in the log.
fn strengths(server: &Server) -> Vec<String> {
    let log = server.log();
    let binds = log.lines().filter_map(|line| line.split_once("mech=GSSAPI bind_ssf="));
    binds
        .map(|(_, rest)| rest.split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn users_with_tickets_are_known_under_every_layer() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    let long = "x".repeat(100_000);
    let change = format!(
        "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {long}\n"
    );
    for global in ["", "sasl-secprops maxbufsize=300\n"] {
        let server = kdc.server(Flavor::Ironbark, global, USUAL);
        let file = server
            .layout()
            .write("change.ldif", &change)
            .unwrap()
            .display()
            .to_string();
        for properties in ["maxssf=0", "maxssf=1", "minssf=56", "minssf=56,maxbufsize=400"] {
            let who = kdc.whoami(&server, "ann", &["-O", properties]);
            assert_eq!(who, (Some(0), ANN.to_owned()), "{global}{properties}");
            // In both directions, more than goes into one packet.
            let modify = ["-O", properties, "-f", &file];
            kdc.client(&server, "ann", ("ldapmodify", &modify)).success().unwrap();
            let search = ["-O", properties, "-b", "dc=example,dc=com", "description"];
            let found = kdc
                .client(&server, "ann", ("ldapsearch", &search))
                .success()
                .unwrap()
                .stdout;
            assert!(found.contains(&long), "{global}{properties}");
            assert_eq!(found.matches("dn: ").count(), super::DATA.matches("dn: ").count());
        }
        assert_eq!(
            strengths(&server),
            [["0"; 3], ["1"; 3], ["128"; 3], ["128"; 3]].concat()
        );
    }
}

#[test]
fn the_server_wants_layers_as_slapd_does() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    for (global, properties) in [
        ("sasl-secprops maxssf=0\n", ["maxssf=0", "minssf=1", ""]),
        ("sasl-secprops maxssf=1\n", ["maxssf=0", "minssf=1", "minssf=56"]),
        ("sasl-secprops minssf=56\n", ["maxssf=0", "maxssf=1", ""]),
        ("sasl-secprops maxbufsize=0\n", ["maxssf=0", "minssf=1", ""]),
        ("security sasl=1\n", ["maxssf=0", "maxssf=1", ""]),
    ] {
        let servers = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| kdc.server(flavor, global, USUAL));
        for properties in properties {
            let [ours, slapds] =
                [&servers[0], &servers[1]].map(|server| kdc.whoami(server, "ann", &["-O", properties]));
            // It does not matter which side finds that they cannot agree.
            let is_known = |(code, name): (Option<i32>, String)| (code == Some(0), name);
            assert_eq!(is_known(ours), is_known(slapds), "{global}{properties}");
        }
        // Some fail; otherwise this proves nothing.
        let codes = properties.map(|properties| kdc.whoami(&servers[0], "ann", &["-O", properties]).0);
        assert!(
            codes.contains(&Some(0)) && codes.iter().any(|code| *code != Some(0)),
            "{global}{codes:?}"
        );
    }
}

#[test]
fn users_have_the_names_that_slapd_gives_them() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    kdc.log_in("ann/admin", "admin");
    let may_be_bob = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nadd: authzTo\nauthzTo: dn:uid=bob,ou=people,dc=example,dc=com\n";
    for (global, keys) in [
        ("", USUAL),
        ("sasl-realm SOME\n", USUAL),
        ("", ("keytab", "elsewhere.conf")),
    ] {
        let servers = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| kdc.server(flavor, global, keys));
        for server in &servers {
            server.ldapmodify(may_be_bob).unwrap().success().unwrap();
        }
        for (cache, arguments) in [
            ("ann", &[][..]),
            ("admin", &[]),
            ("ann", &["-X", "u:bob"]),
            ("ann", &["-X", "u:eve"]),
            ("ann", &["-ZZ"]),
            ("ann", &["-ZZ", "-O", "maxssf=0"]),
            ("nobody", &[]),
        ] {
            let [ours, slapds] = [&servers[0], &servers[1]].map(|server| kdc.whoami(server, cache, arguments));
            assert_eq!(ours, slapds, "{global} {keys:?} {cache} {arguments:?}");
        }
    }
    let server = kdc.server(Flavor::Ironbark, "sasl-cbinding tls-endpoint\n", USUAL);
    let bound = ["-ZZ", "-o", "SASL_CBINDING=tls-endpoint"];
    assert_eq!(kdc.whoami(&server, "ann", &bound), (Some(0), ANN.to_owned()));
    assert!(
        server.log().contains("mech=GSSAPI bind_ssf=128 ssf=256"),
        "{}",
        server.log()
    );
}

#[test]
fn without_the_right_key_nobody_is_known() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    for keys in ["keytab.old", "absent"] {
        let servers = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| kdc.server(flavor, "", (keys, "krb5.conf")));
        let [ours, slapds] = [&servers[0], &servers[1]].map(|server| kdc.whoami(server, "ann", &[]));
        assert_eq!(ours, slapds, "{keys}");
        assert!(ours.0 != Some(0) && ours.1.is_empty());
        // The reason goes to the log, for the operator.
        servers[0].wait_for_log("GSSAPI: ").unwrap();
    }
}

/// A server that is to follow a provider with the ticket of a file.
fn consumer(kdc: &Kdc, provider: &Server, (cache, words): (&str, &str)) -> Server {
    let url = provider.url().replace("127.0.0.1", "localhost");
    let line = format!(
        "syncrepl rid=001 provider={url} bindmethod=sasl saslmech=GSSAPI searchbase=dc=example,dc=com \
         type=refreshAndPersist retry=\"1 +\" {words}\n"
    );
    let global = "include {schema}/nis.schema\n";
    let server = Server::prepare(Flavor::Ironbark, &Server::people_config(global, &line)).unwrap();
    let mut server = server
        .environment("KRB5_CONFIG", &kdc.file("krb5.conf"))
        .environment("KRB5CCNAME", &kdc.file(cache));
    server.launch().unwrap();
    server
}

/// All entries, in an order that does not depend on when they came.
fn entries(server: &Server) -> String {
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        "dc=example,dc=com",
        "*",
        "entryUUID",
        "entryCSN",
    ];
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    NormalizedLdif::new(&found.stdout).sorted().to_string()
}

#[test]
fn a_consumer_with_a_ticket_follows_its_provider() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let lines = ("serverID 1\nmoduleload syncprov\n", "overlay syncprov\n");
        let provider = kdc.server_with(flavor, lines, USUAL);
        let follower = consumer(&kdc, &provider, ("ann", ""));
        let follows = || wait::until(|| (entries(&follower) == entries(&provider)).then_some(()));
        assert!(follows().is_some(), "{flavor}: {}", follower.log());
        let change = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: New\n";
        provider.ldapmodify(change).unwrap().success().unwrap();
        assert!(entries(&provider).contains("sn: New"));
        assert!(follows().is_some(), "{flavor}: {}", follower.log());
    }
}

#[test]
fn a_consumer_without_a_ticket_says_so_and_has_nothing() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    let lines = ("serverID 1\nmoduleload syncprov\n", "overlay syncprov\n");
    let provider = kdc.server_with(Flavor::Ironbark, lines, USUAL);
    let follower = consumer(&kdc, &provider, ("nobody", ""));
    follower.wait_for_log("GSSAPI").unwrap();
    follower.wait_for_log("trying again in 1 s").unwrap();
    assert!(!entries(&follower).contains("dn: "));
    // The ticket comes later.
    kdc.log_in("ann", "nobody");
    let follows = wait::until(|| (entries(&follower) == entries(&provider)).then_some(()));
    assert!(follows.is_some(), "{}", follower.log());
}

/// A bind with this message; the result code.
fn bind(stream: &mut TcpStream, message: &[u8]) -> u8 {
    let element = |tag: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length, content].concat()
    };
    let sasl = element(0xa3, &[element(4, b"GSSAPI"), element(4, message)].concat());
    let request = element(0x60, &[&[2, 1, 3, 4, 0][..], &sasl].concat());
    stream
        .write_all(&element(0x30, &[&[2, 1, 1][..], &request].concat()))
        .unwrap();
    let mut answer = [0; 4096];
    let length = stream.read(&mut answer).unwrap();
    let code = answer[..length]
        .windows(2)
        .position(|octets| octets == [10, 1])
        .unwrap();
    answer[code + 2]
}

#[test]
fn hostile_tokens_are_refused_and_the_server_lives() {
    const IN_PROGRESS: u8 = 14;
    const INVALID: u8 = 49;
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    let server = kdc.server(Flavor::Ironbark, "", USUAL);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // The beginning of a Kerberos token whose rest is missing.
    let krb5 = b"\x60\x82\xff\xff\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01\x00";
    let long = [&krb5[..], &vec![0x6e; 60_000]].concat();
    for token in [&b"x"[..], &[0; 100], &[0x60], &[0xff; 1000], krb5, &krb5[..6], &long] {
        assert_eq!(bind(&mut stream, token), INVALID, "{token:?}");
        // The first message may be empty.
        assert_eq!(bind(&mut stream, b""), IN_PROGRESS);
        assert_eq!(bind(&mut stream, token), INVALID, "{token:?}");
    }
    assert_eq!(kdc.whoami(&server, "ann", &[]), (Some(0), ANN.to_owned()));
}

/// Binds twice, and asks for TLS after it.
const AGAIN: &str = "
import ldap, sys
client = ldap.initialize(sys.argv[1])
client.set_option(ldap.OPT_X_SASL_NOCANON, 1)
client.sasl_gssapi_bind_s()
print(client.whoami_s())
client.simple_bind_s('uid=bob,ou=people,dc=example,dc=com', 'brush')
print(client.whoami_s())
try:
    client.start_tls_s()
except ldap.OPERATIONS_ERROR as error:
    print(error.args[0]['info'])
print(client.whoami_s())
";

#[test]
fn a_layer_stays_under_later_binds_and_nothing_comes_beneath_it() {
    let kdc = Kdc::start();
    kdc.log_in("ann", "ann");
    let server = kdc.server(Flavor::Ironbark, "", USUAL);
    let mut python = program("/usr/bin/python3", "python3-ldap");
    python
        .env("KRB5_CONFIG", kdc.file("krb5.conf"))
        .env("KRB5CCNAME", kdc.file("ann"));
    let url = server.url().replace("127.0.0.1", "localhost");
    let shown = succeed(python.env("LDAPNOINIT", "1").args(["-B", "-c", AGAIN, &url]));
    let bob = "dn:uid=bob,ou=people,dc=example,dc=com";
    let refusal = "cannot start TLS under a SASL security layer";
    assert_eq!(shown, format!("{ANN}\n{bob}\n{refusal}\n{bob}\n"));
}
