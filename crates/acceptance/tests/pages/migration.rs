//! docs/migration.md: from other servers, and back.

use std::fs;

use ironbark_testkit::{Ds389, Flavor, Tool, free_port, wait};

use super::{
    elsewhere::elsewhere,
    page::{Block, Section},
    sandbox::Sandbox,
    whole::{TOP, person},
};

/// A folder as a machine has it on which Debian's slapd ran: its slapd.d in etc/ldap and its database in var/lib/ldap.
fn machine() -> Sandbox {
    let sandbox = Sandbox::with_slapd();
    for folder in ["etc/ldap/slapd.d", "var/lib/ldap"] {
        fs::create_dir_all(sandbox.layout.join(folder)).unwrap();
    }
    sandbox.write(
        "slapd.conf",
        "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         pidfile {dir}/slapd.pid\ndatabase mdb\nsuffix dc=example,dc=com\nrootdn cn=admin,dc=example,dc=com\n\
         rootpw secret\ndirectory {dir}/var/lib/ldap\nindex objectClass,uid eq\n",
    );
    sandbox.write("data", &format!("{TOP}\n{}", person("ann", "")));
    let made = sandbox.shell("slapadd -f slapd.conf -l data && slaptest -f slapd.conf -F etc/ldap/slapd.d");
    assert_eq!(made.code, Some(0), "{made:?}");
    sandbox
}

/// A command of the page with the folders of the sandbox in place of the machine's.
fn here(sandbox: &Sandbox, block: &Block, folders: &[&str]) -> Block {
    let folder = sandbox.folder();
    let changes: Vec<(&str, String)> = folders.iter().map(|name| (*name, format!("{folder}{name}"))).collect();
    block.with(&changes)
}

pub(crate) fn check(section: &Section) {
    let [command] = section.blocks();
    let sandbox = machine();
    let said = sandbox
        .succeed(&here(&sandbox, &command, &["/etc/ldap/slapd.d"]))
        .stdout;
    let verdict = said
        .lines()
        .find(|line| line.starts_with("GO") || line.starts_with("NO-GO"));
    assert!(verdict.is_some_and(|line| line.starts_with("GO")), "{said}");
    assert!(said.contains("3 entries"), "{said}");
    // slapd.conf is named in the place of the directory if that is what slapd uses.
    let file = command.with(&[("/etc/ldap/slapd.d", "slapd.conf")]);
    assert_eq!(sandbox.run(&file).code, Some(0));
}

pub(crate) fn by_hand(section: &Section) {
    let [commands] = section.blocks();
    let sandbox = machine();
    let port = free_port().unwrap();
    let user = sandbox.shell("id -un").stdout.trim().to_owned();
    let group = sandbox.shell("id -gn").stdout.trim().to_owned();
    let urls = format!(
        "ldap://127.0.0.1:{port} ldapi://{}",
        sandbox.folder().replace('/', "%2F") + "%2Fldapi"
    );
    let commands = here(&sandbox, &commands, &["/etc/ldap/slapd.d", "/var/lib/ldap"]).with(&[
        ("-o openldap -g openldap", format!("-o {user} -g {group}")),
        ("openldap:openldap", format!("{user}:{group}")),
        ("-u openldap -g openldap", format!("-u {user} -g {group}")),
        ("ldap:/// ldapi:///", urls),
    ]);
    let _server = sandbox.detached("slapd.pid");
    sandbox.succeed(&commands);
    let search = format!("ldapsearch -x -LLL -H ldap://127.0.0.1:{port} -b dc=example,dc=com '(uid=ann)' entryUUID");
    let found = sandbox.shell(&search).stdout;
    let before = fs::read_to_string(sandbox.layout.join("data.ldif")).unwrap();
    let uuid = found.lines().find(|line| line.starts_with("entryUUID: ")).unwrap();
    assert!(before.contains(uuid), "{found}\n{before}");
}

/// The administrator's password that an import has shown, and the server that the page starts then.
fn serve(sandbox: &Sandbox, said: &str, command: &Block) {
    let port = free_port().unwrap();
    let command = here(sandbox, command, &["/srv/directory"]).with(&[(":3890/", format!(":{port}/"))]);
    let _server = sandbox.start(&command.text);
    let search = format!("ldapsearch -x -LLL -H ldap://127.0.0.1:{port} -b '' -s base namingContexts");
    let answer = wait::until(|| Some(sandbox.shell(&search)).filter(|done| done.code == Some(0)));
    let answer = answer.unwrap_or_else(|| sandbox.shell(&search));
    assert!(
        answer.stdout.contains("namingContexts: dc=example,dc=com"),
        "{answer:?}"
    );
    assert!(said.contains("administrator") && said.contains("password"), "{said}");
}

pub(crate) fn from_389(section: &Section) {
    let [export, import, serving] = section.blocks();
    let other = Ds389::start().unwrap();
    let content = include_str!("../import/389.ldif");
    other.client("ldapadd", &["-c"], content).unwrap();
    let sandbox = Sandbox::new();
    let instance = other.path("").display().to_string();
    let instance = instance.trim_end_matches('/').to_owned();
    let data = sandbox.layout.join("data.ldif").display().to_string();
    let changes = [("/etc/dirsrv/slapd-INSTANCE", instance), ("/tmp/data.ldif", data)];
    sandbox.succeed(&export.with(&changes));
    fs::create_dir_all(sandbox.layout.join("srv")).unwrap();
    let said = sandbox
        .succeed(&here(&sandbox, &import.with(&changes), &["/srv/directory"]))
        .stdout;
    let folder = sandbox.layout.join("srv/directory");
    for name in ["report.md", "slapd.conf"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    serve(&sandbox, &said, &serving);
}

pub(crate) fn from_opendj(section: &Section) {
    let [commands] = section.blocks();
    let (export, import) = commands.text.split_once('\n').unwrap();
    let part = |text: &str| Block {
        text: text.to_owned(),
        place: commands.place.clone(),
    };
    elsewhere(&part(export), "OpenDJ cannot be run here", &["export-ldif"]);
    let sandbox = Sandbox::new();
    sandbox.write("data.ldif", include_str!("../import/opendj.ldif"));
    sandbox.write(
        "opt/opendj/config/config.ldif",
        include_str!("../import/opendj-config.ldif"),
    );
    let schema = "dn: cn=schema\nobjectClass: top\nobjectClass: ldapSubentry\nobjectClass: subschema\n";
    sandbox.write("opt/opendj/config/schema/99-user.ldif", schema);
    fs::create_dir_all(sandbox.layout.join("srv")).unwrap();
    let import = here(&sandbox, &part(import), &["/opt/opendj", "/srv/directory"]);
    let said = sandbox.succeed(&import.with(&[("/tmp/data.ldif", "data.ldif")])).stdout;
    assert!(said.contains("password"), "{said}");
    assert!(sandbox.layout.join("srv/directory/slapd.conf").is_file());
    let taken = sandbox.shell("slaptest -u -f srv/directory/slapd.conf");
    assert_eq!(taken.code, Some(0), "{taken:?}");
}

/// What the page promises of the way back: slapd loads what Ironbark leaves.
#[test]
fn the_way_back_is_the_same_with_the_programs_exchanged() {
    let sandbox = machine();
    let [commands] = Section::read("docs/migration.md", "By hand").blocks();
    let folders = ["/etc/ldap/slapd.d", "/var/lib/ldap"];
    let commands = here(&sandbox, &commands, &folders);
    let lines = commands.lines();
    // Export, move, install: all but the last two lines, and slapadd of ours.
    let there = lines[..4].join("\n").replace("-o openldap -g openldap ", "");
    let there = sandbox.shell(&there);
    assert_eq!(there.code, Some(0), "{there:?}");
    let back = lines[..4].join("\n").replace("-o openldap -g openldap ", "");
    let back = back
        .replace("ironbark slapadd", "SLAPADD")
        .replace("slapcat", "ironbark slapcat");
    let back = back
        .replace("SLAPADD", "slapadd")
        .replace("ldap.old", "ldap.new")
        .replace("data.ldif", "back.ldif");
    let back = sandbox.shell(&back);
    assert_eq!(back.code, Some(0), "{back:?}");
    let there = fs::read_to_string(sandbox.layout.join("data.ldif")).unwrap();
    let config = sandbox.layout.join("slapd.conf").display().to_string();
    let after = Tool::Cat
        .run(Flavor::OpenLdap, &["-f", &config], "")
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(after.stdout, there);
}
