//! Tests of the test support, on Debian's slapd and on the build of our own binary.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Credentials, Flavor, Listen, NormalizedLdif, Server, TestkitError, Tool, assert_ldif_eq, wait};

const BASE: &str = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n";
const PERSON: &str = "dn: cn=Ann,dc=example,dc=com\nobjectClass: person\ncn: Ann\nsn: Lee\n";

fn server() -> Server {
    Server::start(Flavor::OpenLdap, Server::PEOPLE_CONFIG).unwrap()
}

#[test]
fn clients_add_modify_and_search() {
    let server = server();
    server.ldapadd(&format!("{BASE}\n{PERSON}")).unwrap().success().unwrap();
    server
        .ldapmodify("dn: cn=Ann,dc=example,dc=com\nchangetype: modify\nadd: sn\nsn: Ray\n")
        .unwrap()
        .success()
        .unwrap();
    let found = server
        .search(&["-b", "dc=example,dc=com", "(cn=ann)"])
        .unwrap()
        .success()
        .unwrap();
    assert_ldif_eq(&format!("{PERSON}sn: Ray\n"), &found.stdout);
    let missing = server.search(&["-b", "cn=nobody,dc=example,dc=com"]).unwrap();
    assert_eq!(
        missing.code(),
        Some(32),
        "noSuchObject is the client's exit status: {missing:?}"
    );
    assert!(
        server.log().contains("SRCH base=\"dc=example,dc=com\""),
        "{}",
        server.log()
    );
}

#[test]
fn every_kind_of_credentials_binds() {
    let server = server();
    let who = |credentials| server.client("ldapwhoami", &credentials, &[], "").unwrap().stdout;
    assert_eq!(who(Credentials::Anonymous), "anonymous\n");
    assert_eq!(who(Credentials::ROOT), "dn:cn=Manager,dc=example,dc=com\n");
    assert!(who(Credentials::External).contains("cn=peercred,cn=external,cn=auth"));
}

#[test]
fn python_ldap_runs_against_the_server() {
    let server = server();
    server.ldapadd(BASE).unwrap().success().unwrap();
    let script = "import ldap, os\n\
        c = ldap.initialize(os.environ['LDAP_URL'])\n\
        c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])\n\
        print(c.search_s('dc=example,dc=com', ldap.SCOPE_BASE)[0][1]['o'])\n";
    assert_eq!(
        server.python(script).unwrap().success().unwrap().stdout,
        "[b'Example']\n"
    );
}

#[test]
fn a_server_stops_cleanly_and_starts_again_with_its_data() {
    let mut server = server();
    server.ldapadd(BASE).unwrap().success().unwrap();
    let (port, pid) = (server.port(), server.pid().unwrap());
    let args = server.layout().read("slapd.args").unwrap();
    assert!(args.starts_with("slapd -f ") && args.ends_with(" \n"), "{args:?}");
    server.stop().unwrap();
    assert_eq!(server.pid(), None);
    assert!(server.stop().is_err(), "it does not run any more");
    server.launch().unwrap();
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), Some(pid));
    server.kill().unwrap();
    server.launch().unwrap();
    let found = server
        .search(&["-b", "dc=example,dc=com", "-s", "base", "o"])
        .unwrap()
        .success()
        .unwrap();
    assert_ldif_eq("dn: dc=example,dc=com\no: Example\n", &found.stdout);
}

#[test]
fn a_server_may_listen_on_its_socket_or_its_port_alone() {
    for (listen, scheme) in [(Listen::Socket, "ldapi://"), (Listen::Tcp, "ldap://")] {
        let mut server = Server::prepare(Flavor::OpenLdap, Server::PEOPLE_CONFIG)
            .unwrap()
            .listening_on(listen);
        server.launch().unwrap();
        assert!(server.url().starts_with(scheme));
        let root_dse = server
            .search(&["-s", "base", "-b", "", "namingContexts"])
            .unwrap()
            .success()
            .unwrap();
        assert_ldif_eq("dn:\nnamingContexts: dc=example,dc=com\n", &root_dse.stdout);
        assert_eq!(server.socket_path().exists(), listen == Listen::Socket);
    }
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let error = Server::start(Flavor::OpenLdap, "no-such-directive on\n").unwrap_err();
    assert!(matches!(error, TestkitError::EndedEarly { .. }), "{error}");
    assert!(error.to_string().contains("no-such-directive"), "{error}");
}

#[test]
fn a_port_that_was_taken_is_replaced() {
    let mut server = Server::prepare(Flavor::OpenLdap, Server::PEOPLE_CONFIG).unwrap();
    let port = server.port();
    // Another process may be looking whether it is free.
    let _taken = wait::until(|| std::net::TcpListener::bind(("127.0.0.1", port)).ok()).unwrap();
    server.launch().unwrap();
    assert_ne!(server.port(), port);
}

#[test]
fn tools_load_and_dump_under_both_names() {
    let server = Server::prepare(Flavor::OpenLdap, Server::PEOPLE_CONFIG).unwrap();
    server.slapadd(&format!("{BASE}\n{PERSON}")).unwrap();
    let dump = server
        .tool(Tool::Cat, &["-o", "ldif-wrap=no"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let config = server.config_path();
    let config = config.to_str().unwrap();
    // slapd reads the options before its -T and does not pass them to the tool.
    let by_option = Tool::Cat.run_by_option(Flavor::OpenLdap, &["-s0"], &["-f", config, "-o", "ldif-wrap=no"], "");
    let by_option = by_option.unwrap().success().unwrap();
    assert_ldif_eq(&dump, &by_option.stdout);
    let operational = ["structuralObjectClass", "creatorsName", "modifiersName"];
    let plain = NormalizedLdif::new(&dump)
        .without(&NormalizedLdif::VOLATILE)
        .without(&operational);
    assert_ldif_eq(&format!("{BASE}\n{PERSON}"), &plain.to_string());
    assert_eq!(server.tool(Tool::Add, &[], "dn: no dn\n").unwrap().code(), Some(1));
}

#[test]
fn dropping_ends_the_server_and_removes_its_directory() {
    let server = server();
    let (pid, path) = (server.pid().unwrap(), server.layout().path().to_owned());
    drop(server);
    assert!(!path.exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn our_own_binary_is_built_or_named() {
    let program = Flavor::Ironbark.program().unwrap();
    assert!(program.is_file(), "{}", program.display());
    assert_eq!(program, Flavor::Ironbark.program().unwrap());
}
