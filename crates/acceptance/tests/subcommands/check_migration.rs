//! `ironbark check-migration`, of installations of Debian's slapd.

use std::process::Output;

use ironbark_testkit::{Flavor, Server, Stranger, Strangers, Tool};

use crate::common::{PEOPLE, ironbark};

/// The page, and whether it says that nothing stands in the way.
fn page(output: &Output) -> (String, bool) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (text, output.status.success())
}

fn installation(of_database: &str) -> Server {
    let server = Server::prepare(Flavor::OpenLdap, &Server::people_config("threads 4\n", of_database)).unwrap();
    server.slapadd(PEOPLE).unwrap();
    server
}

#[test]
fn an_installation_with_data_goes_and_the_page_says_what_will_differ() {
    let server = installation("");
    let file = server.config_path().display().to_string();
    let slapcat = "/usr/sbin/slapcat";
    let (text, goes) = page(&ironbark(&["check-migration", &file, "--slapcat", slapcat]));
    assert!(goes, "{text}");
    let entries = PEOPLE.matches("dn: ").count();
    for part in [
        "GO: Ironbark takes this installation.",
        "back-mdb: part of the program",
        "mdb \"dc=example,dc=com\", ",
        &format!("Data       {entries} entries ("),
        ", 0 refused",
        "What will differ\n- ",
        "--explain",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    // As LMDB's header has it.
    assert!(text.contains(&format!("com\", {entries} entries")), "{text}");
    let folder = server.layout().make_dir("slapd.d").unwrap().display().to_string();
    Tool::Test
        .run(Flavor::OpenLdap, &["-f", &file, "-F", &folder], "")
        .unwrap()
        .success()
        .unwrap();
    let (text, goes) = page(&ironbark(&["check-migration", &folder, "--slapcat", slapcat]));
    assert!(goes && text.contains(", 0 refused"), "{text}");
}

#[test]
fn what_stands_in_the_way_is_named_with_its_place() {
    let server = installation("");
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    let unbuilt = server
        .layout()
        .write("more.conf", format!("{config}\noverlay rwm\n"))
        .unwrap();
    let (text, goes) = page(&ironbark(&["check-migration", &unbuilt.display().to_string()]));
    let line = config.lines().count() + 2;
    assert!(!goes && text.contains("NO-GO: one thing stands in the way."), "{text}");
    assert!(
        text.contains(&format!("more.conf:{line})")) && text.contains("not checked"),
        "{text}"
    );
    let wrong = "dn: cn=x,dc=example,dc=com\nobjectClass: nonsense\ncn: x\n\ndn: cn=y,dc=elsewhere\nobjectClass: device\ncn: y\n";
    let ldif = server
        .layout()
        .write("wrong.ldif", wrong)
        .unwrap()
        .display()
        .to_string();
    let file = server.config_path().display().to_string();
    let (text, goes) = page(&ironbark(&["check-migration", &file, "--ldif", &ldif]));
    assert!(!goes && text.contains("NO-GO: 2 things"), "{text}");
    assert!(
        text.contains("(line=1)") && text.contains("line 5") && text.contains("2 refused"),
        "{text}"
    );
    let missing = ironbark(&["check-migration", &file, "--slapcat", "/nonexistent/slapcat"]);
    let (text, goes) = page(&missing);
    assert!(!goes && text.contains("data: /nonexistent/slapcat: "), "{text}");
    let nowhere = ironbark(&["check-migration", "/nonexistent"]);
    assert!(!nowhere.status.success() && nowhere.stdout.is_empty());
}

#[test]
fn certificates_that_cannot_be_served_stand_in_the_way() {
    let server = installation("");
    let strangers = Strangers::new(server.layout()).unwrap();
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    for (name, key, told) in [
        (
            "usual",
            Stranger::EC,
            "Start      certificates, overlays and other files",
        ),
        ("ed448", &["-newkey", "ed448"], "openssl req -x509"),
        ("absent", Stranger::EC, "Start      not checked: "),
    ] {
        strangers.make(name, Stranger { key, ..Stranger::USUAL }).unwrap();
        let [certificate, key] = ["crt", "key"].map(|end| strangers.file(name, end));
        if name == "absent" {
            std::fs::remove_file(&key).unwrap();
        }
        let (certificate, key) = (certificate.display(), key.display());
        let lines = format!("TLSCertificateFile {certificate}\nTLSCertificateKeyFile {key}\n{config}");
        let file = server.layout().write("tls.conf", lines).unwrap().display().to_string();
        let (text, goes) = page(&ironbark(&["check-migration", &file]));
        assert!(goes == (name != "ed448") && text.contains(told), "{text}");
    }
}

#[test]
fn a_folder_that_the_script_of_init_makes_stands_in_nobodys_way() {
    let server = installation("");
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    let config = config.replace("pidfile ", "pidfile /run/not/there/");
    let file = server.layout().write("pid.conf", config).unwrap().display().to_string();
    let (text, goes) = page(&ironbark(&["check-migration", &file]));
    assert!(
        goes && text.contains("Start      not checked: pid file /run/not/there/"),
        "{text}"
    );
}

#[test]
fn each_database_is_checked_with_its_own_data() {
    let server = Server::prepare(Flavor::OpenLdap, &Server::people_config("threads 4\n", "")).unwrap();
    let second = server.layout().make_dir("second").unwrap();
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    let config = format!(
        "{config}\ndatabase mdb\nsuffix dc=second\ndirectory {}\n",
        second.display()
    );
    let file = server.layout().write("two.conf", config).unwrap().display().to_string();
    let of_second =
        "dn: dc=second\nobjectClass: domain\ndc: second\n\ndn: cn=x,dc=second\nobjectClass: device\ncn: x\n";
    let databases = [
        ("first.ldif", "dc=example,dc=com", PEOPLE),
        ("second.ldif", "dc=second", of_second),
    ];
    for (name, suffix, data) in databases {
        let data = server.layout().write(name, data).unwrap().display().to_string();
        Tool::Add
            .run(Flavor::OpenLdap, &["-f", &file, "-b", suffix, "-l", &data], "")
            .unwrap()
            .success()
            .unwrap();
    }
    let entries = PEOPLE.matches("dn: ").count() + 2;
    let in_all = format!("Data       {entries} entries (");
    let (text, goes) = page(&ironbark(&["check-migration", &file, "--slapcat", "/usr/sbin/slapcat"]));
    assert!(goes && text.contains(&in_all) && text.contains(", 0 refused"), "{text}");
    let path = |name: &str| server.layout().join(name).display().to_string();
    let files = ["second.ldif", "first.ldif"].map(path);
    let [second, first] = &files;
    let (text, goes) = page(&ironbark(&[
        "check-migration",
        &file,
        "--ldif",
        second,
        "--ldif",
        first,
    ]));
    assert!(goes && text.contains(&in_all) && text.contains(", 0 refused"), "{text}");
    let elsewhere = server.layout().write(
        "elsewhere.ldif",
        "dn: dc=elsewhere\nobjectClass: domain\ndc: elsewhere\n",
    );
    let elsewhere = elsewhere.unwrap().display().to_string();
    let (text, goes) = page(&ironbark(&["check-migration", &file, "--ldif", &elsewhere]));
    assert!(
        !goes && text.contains("elsewhere.ldif: ") && text.contains("\"dc=elsewhere\""),
        "{text}"
    );
}
