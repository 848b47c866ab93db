//! `ironbark advise`.

use crate::common::{ironbark, succeed};
use ironbark_testkit::{Flavor, Server};

use super::{people, populated};

#[test]
fn indexes_that_would_pay_are_named_and_do_pay() {
    let mut server = populated("", 500);
    let searches = |server: &Server| {
        for number in 0..3 {
            for filter in [
                "(sn=Name 1)".to_owned(),
                format!("(&(objectClass=inetOrgPerson)(mail=u{number}@example.com))"),
                format!("(uid=u{number})"),
                format!("(|(mail=u{number}@*)(uid=u{number}))"),
            ] {
                let arguments = ["-b", "dc=example,dc=com", &filter, "1.1"];
                server.search(&arguments).unwrap().success().unwrap();
            }
        }
    };
    searches(&server);
    let url = server.url();
    let advice = succeed(&["advise", "-H", &url]);
    assert_eq!(
        advice,
        "dc=example,dc=com: 501 entries, 12 searches remembered since the server started\n\
         \x20 index mail sub: 3 searches looked at 501 entries each and returned 1; up to 500 need not be looked at (1500 in all)\n\
         \x20   (|(mail=?*)(uid=?))\n\
         \x20 index mail eq: 3 searches looked at 500 entries each and returned 1; up to 499 need not be looked at (1497 in all)\n\
         \x20   (&(objectClass=?)(mail=?))\n\
         \x20 index sn eq: 3 searches looked at 501 entries each and returned 250; up to 251 need not be looked at (753 in all)\n\
         \x20   (sn=?)\n\
         \x20 in slapd.conf:\n\
         \x20   index mail eq,sub\n\
         \x20   index sn eq\n\
         \x20 for ldapmodify:\n\
         \x20   dn: olcDatabase={1}mdb,cn=config\n\
         \x20   changetype: modify\n\
         \x20   add: olcDbIndex\n\
         \x20   olcDbIndex: mail eq,sub\n\
         \x20   olcDbIndex: sn eq\n\
         \x20 no search has used: cn eq\n"
    );
    // Follows the advice: the configuration accepts the lines, and there is no further advice.
    server.stop().unwrap();
    let path = server.config_path();
    let lines = advice.lines().filter_map(|line| line.strip_prefix("    index "));
    let lines = lines.fold(String::new(), |all, line| format!("{all}index {line}\n"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("index objectClass", &format!("{lines}index objectClass")),
    )
    .unwrap();
    succeed(&["slapindex", "-q", "-f", path.to_str().unwrap()]);
    server.launch().unwrap();
    searches(&server);
    let advice = succeed(&["advise", "-H", &server.url()]);
    assert!(advice.contains("\n  no further index would pay\n"), "{advice}");
}

#[test]
fn indexes_that_overlays_miss_are_named_though_nobody_searches() {
    let overlays = "overlay refint\nrefint_attributes seeAlso\noverlay memberof\nmemberof-addcheck TRUE\n";
    let config = format!("{}{overlays}database monitor\n", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    let group = "dn: cn=group,dc=example,dc=com\nobjectClass: groupOfNames\nmember: cn=new,dc=example,dc=com\n\
                 seeAlso: uid=u7,dc=example,dc=com\n";
    server.slapadd(&(people(100) + group)).unwrap();
    server.launch().unwrap();
    let advice = |server: &Server| succeed(&["advise", "-H", &server.url()]);
    let lines = ["index seeAlso eq", "index member eq"];
    assert!(lines.iter().all(|line| !advice(&server).contains(line)));
    let changes = "dn: uid=u7,dc=example,dc=com\nchangetype: delete\n\n\
                   dn: uid=u8,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=v8\ndeleteoldrdn: 1\n\n\
                   dn: cn=new,dc=example,dc=com\nchangetype: add\nobjectClass: device\n";
    server.ldapmodify(changes).unwrap().success().unwrap();
    let told = advice(&server);
    assert!(lines.iter().all(|line| told.contains(line)), "{told}");
}

#[test]
fn a_server_that_shows_nothing_is_said_to() {
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let output = ironbark(&["advise", "-H", &server.url()]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && complaint.contains("cn=Monitor"),
        "{complaint}"
    );
    let denied = populated("access to * by dn=\"cn=Manager,dc=example,dc=com\" read by * none", 1);
    let url = denied.url();
    let output = ironbark(&["advise", "-H", &url]);
    assert!(!output.status.success(), "{output:?}");
    let name = "cn=Manager,dc=example,dc=com";
    let advice = succeed(&["advise", "-H", &url, "-D", name, "-w", "secret"]);
    assert!(advice.starts_with("dc=example,dc=com: 2 entries"), "{advice}");
}
