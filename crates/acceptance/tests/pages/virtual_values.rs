//! docs/virtual.md: values that are computed.

use ironbark_testkit::Server;

use super::{
    page::{Block, Section},
    sandbox::Sandbox,
    whole::{TOP, add, admin, find, person, serving, whole},
};

const PAGE: &str = "docs/virtual.md";
const STUDENT: &str = "employeeType: student";

/// A server with the definitions of Class of Service, Ann the student, and Tom the teacher.
fn university(configuration: &str) -> Server {
    let [_, templates, definitions] = Section::read(PAGE, "Class of Service").blocks();
    let server = serving(configuration, TOP);
    add(&server, &templates.text);
    add(&server, &definitions.text);
    add(&server, &person("ann", STUDENT).replace("uid: ann", "uid: Ann"));
    add(&server, &person("tom", "employeeType: teacher"));
    server
}

/// The names of the entries that match.
fn names(server: &Server, filter: &str) -> Vec<String> {
    let found = find(server, filter, &["1.1"]);
    let names = found.lines().filter_map(|line| line.strip_prefix("dn: "));
    names.map(ToOwned::to_owned).collect()
}

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
const TOM: &str = "uid=tom,ou=people,dc=example,dc=com";

pub(crate) fn class_of_service(section: &Section) {
    let [settings, _, _] = section.blocks();
    let server = university(&whole(&settings));
    let ann = find(&server, "(uid=ann)", &[]);
    for line in ["postalCode: 15780\n", "carLicense: none\n", "mail: ann@example.com\n"] {
        assert!(ann.contains(line), "{ann}");
    }
    assert_eq!(names(&server, "(mail=ann@example.com)"), [ANN]);
    assert!(names(&server, "(carLicense=none)").contains(&ANN.to_owned()));
    let tom = find(&server, "(uid=tom)", &["carLicense"]);
    assert!(tom.contains("carLicense: campus\n"), "{tom}");
}

pub(crate) fn roles(section: &Section) {
    let [settings, roles, values] = section.blocks();
    let server = university(&whole(&settings));
    add(&server, &roles.text);
    add(&server, &values.text);
    let board = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nadd: nsRoleDN\n\
        nsRoleDN: cn=board,ou=people,dc=example,dc=com\n";
    admin(&server, "ldapmodify", &[], board);
    let tom = find(&server, "(uid=tom)", &["nsRole", "departmentNumber"]);
    assert!(
        tom.contains("nsRole: cn=teachers,ou=people,dc=example,dc=com\n"),
        "{tom}"
    );
    assert!(tom.contains("nsRole: cn=voters,ou=people,dc=example,dc=com\n"), "{tom}");
    assert!(!tom.contains("departmentNumber"), "{tom}");
    let ann = find(&server, "(uid=ann)", &["nsRole", "departmentNumber"]);
    assert!(ann.contains("nsRole: cn=board,ou=people,dc=example,dc=com\n"), "{ann}");
    assert!(ann.contains("departmentNumber: 1\n"), "{ann}");
    let voters = names(&server, "(&(uid=*)(nsRole=cn=voters,ou=people,dc=example,dc=com))");
    assert_eq!(voters, [ANN, TOM]);
}

/// The folder of schema files, as the page names it.
fn with_schema(settings: &Block) -> Block {
    settings.with(&[("include schema/", "include {schema}/")])
}

pub(crate) fn collective(section: &Section) {
    let [settings, subentry] = section.blocks();
    let server = serving(&whole(&with_schema(&settings)), TOP);
    add(&server, &subentry.text);
    add(&server, &person("ann", ""));
    add(&server, &person("out", "collectiveExclusions: c-l"));
    let ann = find(&server, "(l=Athens)", &["c-l"]);
    assert_eq!(ann.trim(), format!("dn: {ANN}\nc-l: Athens"));
}

pub(crate) fn dynamic_groups(section: &Section) {
    let [settings, group] = section.blocks();
    let groups = "dn: ou=groups,dc=example,dc=com\nobjectClass: organizationalUnit\nou: groups\n";
    let server = serving(&whole(&with_schema(&settings)), &format!("{TOP}\n{groups}"));
    add(&server, &person("ann", STUDENT));
    add(&server, &person("tom", ""));
    add(&server, &group.text);
    let all = "dn: cn=all,ou=groups,dc=example,dc=com\nobjectClass: groupOfNames\ncn: all\n\
        member: cn=students,ou=groups,dc=example,dc=com\n";
    add(&server, all);
    let students = find(&server, "(cn=students)", &["member"]);
    assert!(
        students.contains(&format!("member: {ANN}\n")) && !students.contains(TOM),
        "{students}"
    );
    let ann = find(&server, "(uid=ann)", &["memberOf"]);
    for name in ["students", "all"] {
        assert!(
            ann.contains(&format!("memberOf: cn={name},ou=groups,dc=example,dc=com\n")),
            "{ann}"
        );
    }
    assert_eq!(
        names(&server, "(memberOf=cn=students,ou=groups,dc=example,dc=com)"),
        [ANN]
    );
    let of_ann = names(&server, &format!("(member={ANN})"));
    assert!(
        of_ann.contains(&"cn=students,ou=groups,dc=example,dc=com".to_owned()),
        "{of_ann:?}"
    );
}

pub(crate) fn origin(section: &Section) {
    let [command] = section.blocks();
    let [settings, _, _] = Section::read(PAGE, "Class of Service").blocks();
    let server = university(&whole(&settings));
    let sandbox = Sandbox::new();
    let config = server.config_path().display().to_string();
    let shown = sandbox
        .succeed(&command.with(&[("-f slapd.conf", format!("-f {config}"))]))
        .stdout;
    for words in [
        "cos",
        "cn=kinds,ou=people,dc=example,dc=com",
        "cn=student,ou=kinds,ou=templates,dc=example,dc=com",
        "cn=addresses,ou=people,dc=example,dc=com",
    ] {
        assert!(shown.contains(words), "no {words}:\n{shown}");
    }
}
