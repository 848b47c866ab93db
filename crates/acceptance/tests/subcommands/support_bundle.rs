//! `ironbark support-bundle`.

use std::os::unix::fs::PermissionsExt as _;

use ironbark_testkit::{Flavor, Server, Tool};

use crate::common::{PEOPLE, ironbark};

/// Secrets of a configuration, each in its place.
const SECRETS: [&str; 7] = [
    "topsecret",
    "conssecret",
    "quoted secret",
    "hashsecret",
    "valsecret",
    "logsecret",
    "urlsecret",
];

fn installation() -> Server {
    let of_database = format!(
        "overlay syncprov\nsyncrepl rid=1 provider=ldap://127.0.0.1:1 searchbase=dc=example,dc=com bindmethod=simple \
         binddn=cn=x credentials={}\nsyncrepl rid=2 provider=ldap://127.0.0.1:1 searchbase=dc=example,dc=com \
         bindmethod=simple binddn=cn=x credentials=\"{}\"\n# a comment with topsecret\n",
        SECRETS[1], SECRETS[2]
    );
    let config = Server::people_config("", &of_database);
    let rule =
        "access to attrs=userPassword val.exact=\"valsecret\" by * none\naccess to * by * read\nrootpw topsecret";
    let config = config.replace("rootpw secret", rule);
    let monitor = "database monitor\nrootdn cn=m,cn=Monitor\nrootpw {SSHA}hashsecret\n";
    let server = Server::prepare(Flavor::Ironbark, &format!("{config}{monitor}")).unwrap();
    server.slapadd(PEOPLE).unwrap();
    server
}

#[test]
fn a_bundle_has_what_a_helper_needs_and_no_secret() {
    let server = installation();
    let file = server.config_path().display().to_string();
    let folder = server.layout().make_dir("slapd.d").unwrap().display().to_string();
    Tool::Test
        .run(Flavor::Ironbark, &["-f", &file, "-F", &folder], "")
        .unwrap()
        .success()
        .unwrap();
    let log = server
        .layout()
        .write(
            "old.log",
            "first\n".repeat(2_000)
                + "conn=1 op=1 SRCH filter=\"(&(uid=x)(userPassword=logsecret))\" to ldap://u:urlsecret@h/\n"
                + "last \u{1b}[31m line\n",
        )
        .unwrap();
    let log = log.display().to_string();
    for (number, option) in [["-f", &file], ["-F", &folder]].iter().enumerate() {
        let output = server.layout().join(&format!("bundle{number}")).display().to_string();
        let arguments = ["support-bundle", option[0], option[1], "--log", &log, "-o", &output];
        let told = ironbark(&arguments);
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let text = std::fs::read_to_string(&output).unwrap();
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret}:\n{text}");
        }
        let entries = PEOPLE.matches("dn: ").count();
        for part in [
            "Ironbark 0",
            "## Machine",
            "cores  ",
            "credentials=***",
            "overlay",
            &format!("entries       {entries}\n"),
            "file system   ",
            "last  [31m line",
        ] {
            assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part}:\n{text}");
        }
        assert_eq!(text.matches("first\n").count(), 998);
        assert_eq!(std::fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);
        let again = ironbark(&arguments);
        assert!(!again.status.success(), "it overwrites nothing");
    }
}

#[test]
fn a_configuration_that_does_not_load_is_in_it_without_what_nobody_understands() {
    let server = installation();
    let broken = "database mdb\nsuffix dc=x\ndirectory /nowhere\nnonsense geheim\nrootpw geheim extra\n";
    let file = server
        .layout()
        .write("broken.conf", broken)
        .unwrap()
        .display()
        .to_string();
    let output = server.layout().join("bundle").display().to_string();
    let told = ironbark(&["support-bundle", "-f", &file, "-o", &output]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let text = std::fs::read_to_string(&output).unwrap();
    assert!(!text.contains("geheim"), "{text}");
    assert!(
        text.contains("nonsense (not understood") && text.contains("does not load"),
        "{text}"
    );
}

#[test]
fn a_password_in_the_wrong_place_is_not_shown_by_the_error_about_it() {
    let server = installation();
    let broken = std::fs::read_to_string(server.config_path()).unwrap()
        + "database mdb\nsuffix dc=other\nsyncrepl rid=3 provider=ldap://127.0.0.1:1 credentials= strayword\n";
    let file = server
        .layout()
        .write("broken.conf", broken)
        .unwrap()
        .display()
        .to_string();
    let output = server.layout().join("bundle").display().to_string();
    assert!(
        ironbark(&["support-bundle", "-f", &file, "-o", &output])
            .status
            .success()
    );
    let text = std::fs::read_to_string(&output).unwrap();
    assert!(text.contains("wrong: syncrepl: "), "{text}");
    assert!(!text.contains("strayword"), "{text}");
}
