//! docs/changes.md: the log of changes.

use ironbark_testkit::Server;

use super::{
    page::{Block, Section},
    sandbox::Sandbox,
    whole::{TOP, add, admin, find, person, serving, whole},
};

/// A server with the log of the page's first section, whose configuration is also a directory of the sandbox.
fn logged(sandbox: &Sandbox) -> Server {
    let [log] = Section::read("docs/changes.md", "The log of changes").blocks();
    let server = serving(&whole(&log), TOP);
    sandbox.layout.make_dir("etc/ldap/slapd.d").unwrap();
    let convert = format!("slaptest -f {} -F etc/ldap/slapd.d", server.config_path().display());
    let done = sandbox.shell(&convert);
    assert_eq!(done.code, Some(0), "{done:?}");
    server
}

/// A command of the page, with the folder of the sandbox.
fn here(sandbox: &Sandbox, command: &Block) -> Block {
    command.with(&[("/etc/ldap", format!("{}/etc/ldap", sandbox.folder()))])
}

pub(crate) fn a_log(section: &Section) {
    let [settings] = section.blocks();
    let server = serving(&whole(&settings), TOP);
    add(&server, &person("ann", ""));
    let sandbox = Sandbox::new();
    let config = server.config_path();
    let shown = sandbox.shell(&format!(
        "ironbark changes -f {} -b dc=example,dc=com",
        config.display()
    ));
    assert!(
        shown
            .stdout
            .contains("dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: add\n"),
        "{shown:?}"
    );
    let vector = find(&server, "(dc=example)", &["contextCSN"]);
    assert!(vector.contains("contextCSN: "), "{vector}");
}

const MILLER: &str = "dn: cn=x,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: Miller\n";

pub(crate) fn showing(section: &Section) {
    let [command, shown] = section.blocks();
    let sandbox = Sandbox::new();
    let mut server = logged(&sandbox);
    add(
        &server,
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: Brown\n",
    );
    admin(&server, "ldapmodify", &[], MILLER);
    let command = here(&sandbox, &command);
    let whole = sandbox.succeed(&command).stdout;
    let last = whole.split("\n\n").filter(|record| !record.is_empty()).last();
    shown.assert_shows(last.unwrap_or_default());
    server.stop().unwrap();
    assert_eq!(sandbox.succeed(&command).stdout, whole, "the server is stopped");
}

pub(crate) fn feeding(section: &Section) {
    let [command] = section.blocks();
    let sandbox = Sandbox::new();
    let server = logged(&sandbox);
    add(
        &server,
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: Brown\n",
    );
    let first = find(&server, "(cn=x)", &["entryCSN"]);
    let csn = first.lines().find_map(|line| line.strip_prefix("entryCSN: ")).unwrap();
    sandbox.write("last", csn);
    admin(&server, "ldapmodify", &[], MILLER);
    let following = sandbox.start(&here(&sandbox, &command).text);
    following.wait_for("Miller");
    add(&server, &person("ann", ""));
    let text = following.wait_for("uid=ann,ou=people,dc=example,dc=com");
    let changes: Vec<serde_json::Value> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
    let kinds: Vec<&str> = changes.iter().filter_map(|change| change["kind"].as_str()).collect();
    assert_eq!(kinds, ["modify", "add"], "{text}");
    let effect = &changes[0]["effects"][0];
    assert_eq!(effect["dn"], "cn=x,dc=example,dc=com", "{text}");
    assert_eq!(effect["changes"][0]["gone"][0], "Brown", "{text}");
    for name in [
        "number",
        "log",
        "csn",
        "unixMicros",
        "author",
        "connection",
        "operation",
        "peer",
    ] {
        assert!(!changes[0][name].is_null(), "no {name}: {text}");
    }
}

pub(crate) fn persistent_searches(section: &Section) {
    let [settings] = section.blocks();
    let server = serving(&whole(&settings), TOP);
    let script = "
import ldap, os
from ldap.controls.psearch import PersistentSearchControl
from ldap.controls.psearch import EntryChangeNotificationControl
watcher, writer = ldap.initialize(os.environ['LDAP_URL']), ldap.initialize(os.environ['LDAP_URL'])
writer.simple_bind_s('cn=admin,dc=example,dc=com', 'secret')
watcher.simple_bind_s('cn=admin,dc=example,dc=com', 'secret')
control = PersistentSearchControl(changesOnly=False)
search = watcher.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(objectClass=*)', serverctrls=[control])
for _ in range(2):
    watcher.result4(search, 0, 30, add_ctrls=1)
writer.add_s('cn=x,dc=example,dc=com', [('objectClass', b'person'), ('cn', b'x'), ('sn', b'y')])
kind, data, _, controls, _, _ = watcher.result4(search, 0, 30, add_ctrls=1)
print(data[0][0])
";
    let told = server.python(script).unwrap().success().unwrap();
    assert_eq!(told.stdout, "cn=x,dc=example,dc=com\n");
}
