//! Log and metrics settings that change while the server runs, through cn=config.

use std::net::{TcpListener, TcpStream};

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use super::metrics::{free_address, get};

const ADMIN: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

/// Changes cn=config. Returns the client's error.
fn change(server: &Server, changes: &str) -> String {
    let ldif = format!("dn: cn=config\nchangetype: modify\n{changes}\n");
    server.client("ldapmodify", &ADMIN, &[], &ldif).unwrap().stderr
}

fn start() -> Server {
    let people = Server::PEOPLE_CONFIG.replacen("database mdb", "database config\nrootpw secret\ndatabase mdb", 1);
    Server::start(Flavor::Ironbark, &people).unwrap()
}

#[test]
fn the_metrics_listener_comes_moves_and_goes() {
    let server = start();
    let (one, two) = (free_address(), free_address());
    assert_eq!(
        change(&server, &format!("add: olcMetricsListener\nolcMetricsListener: {one}")),
        ""
    );
    assert!(get(one, "/readyz").starts_with("HTTP/1.1 200 "));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = taken.local_addr().unwrap();
    let complaint = change(
        &server,
        &format!("replace: olcMetricsListener\nolcMetricsListener: {busy}"),
    );
    assert!(
        complaint.contains("(80)") && complaint.contains("metrics-listener: "),
        "{complaint}"
    );
    assert!(get(one, "/readyz").starts_with("HTTP/1.1 200 "), "the old one stays");
    assert_eq!(
        change(
            &server,
            &format!("replace: olcMetricsListener\nolcMetricsListener: {two}")
        ),
        ""
    );
    assert!(get(two, "/metrics").contains("\nironbark_connections "));
    assert!(TcpStream::connect(one).is_err());
    assert_eq!(change(&server, "delete: olcMetricsListener"), "");
    assert!(TcpStream::connect(two).is_err());
}

#[test]
fn the_log_goes_over_to_another_file_and_form() {
    let server = start();
    let path = server.layout().join("new.log");
    let settings = format!(
        "add: olcLogFile\nolcLogFile: {}\n-\nadd: olcLogFileFormat\nolcLogFileFormat: json\n-\nadd: olcLogFileOnly\nolcLogFileOnly: \
         TRUE\n-\nreplace: olcLogLevel\nolcLogLevel: stats",
        path.display()
    );
    assert_eq!(change(&server, &settings), "");
    server.search(&["-s", "base", "-b", "cn=seen"]).unwrap();
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    wait::until(|| read().contains("SRCH base=\\\"cn=seen\\\"").then_some(())).unwrap();
    assert!(!server.log().contains("cn=seen"));
    let complaint = change(&server, "replace: olcLogFile\nolcLogFile: /no/such/folder/log");
    assert!(
        complaint.contains("(80)") && complaint.contains("cannot open the log file"),
        "{complaint}"
    );
    assert_eq!(change(&server, "replace: olcSlowLog\nolcSlowLog: 1"), "");
    let shown = server.client(
        "ldapsearch",
        &ADMIN,
        &["-s", "base", "-b", "cn=config", "olcLogFile", "olcSlowLog"],
        "",
    );
    let shown = shown.unwrap().success().unwrap().stdout;
    assert!(
        shown.contains(&format!("olcLogFile: {}\n", path.display())) && shown.contains("olcSlowLog: 1\n"),
        "{shown}"
    );
}
