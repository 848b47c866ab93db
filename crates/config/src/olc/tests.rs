//! Trees from slapd.conf and back, folders, changes.

use std::sync::Arc;

use ironbark_model::{Dn, Entry, ResultCode, Schema};
use proptest::prelude::*;

use super::*;
use crate::{
    Fate, Handler, LoadedConfiguration, MemoryFiles, SettingLevel, load as load_file, test_overlay::registry,
    test_schema::with_schema,
};

fn stamps() -> Stamps {
    Stamps {
        author: "cn=config".to_owned(),
        time: "20261122000000Z".to_owned(),
        csn: "20261122000000.000000Z#000000#000#000000".to_owned(),
        uuid: "0389cdc6-7a8c-1041-9ea9-8100489c1fb0".to_owned(),
    }
}

fn of_text(text: &str) -> LoadedConfiguration {
    load_file("slapd.conf", &with_schema("slapd.conf", text), registry())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

const TEXT: &str = "\
attributetype ( 1.2.3.4.5 NAME 'myAttr' SUP name )
objectclass ( 1.2.3.4.6 NAME 'myClass' SUP top AUXILIARY MAY myAttr )
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload sample
sizelimit 77
require bind
loglevel stats sync
tool-threads 2
threadqueues 3
access to * by * read
database config
rootpw secret
database mdb
suffix dc=x
rootdn cn=admin,dc=x
rootpw secret
directory /srv/x
index cn,sn eq,sub
access to dn.subtree=\"ou=a,dc=x\" by dn.exact=\"cn=b c,dc=x\" write by * none
limits users size.soft=10 size.hard=20
searchstack 8
overlay sample
sample-switch TRUE
overlay single
single-file /srv/single
database monitor
";

fn schema_of(tree: &Tree) -> Arc<Schema> {
    load(tree).unwrap().schema
}

fn names(tree: &Tree) -> Vec<String> {
    tree.walk().into_iter().map(|(dn, _)| dn).collect()
}

fn dn(text: &str) -> Dn {
    Dn::parse(registry().base_schema(), text.as_bytes()).unwrap()
}

fn entry(schema: &Schema, name: &str, attributes: &[(&str, &str)]) -> Entry {
    let mut entry = Entry::new(dn(name));
    for (attribute, value) in attributes {
        let description = schema.attribute_description(attribute.as_bytes()).unwrap();
        let known = entry
            .attributes
            .iter_mut()
            .find(|known| known.description == description);
        match known {
            Some(known) => known.values.push(value.as_bytes().to_vec()),
            None => entry.attributes.push(ironbark_model::Attribute {
                description,
                values: vec![value.as_bytes().to_vec()],
            }),
        }
    }
    entry
}

#[test]
fn a_file_is_shown_as_slapd_shows_it() {
    let tree = render(&of_text(TEXT));
    assert_eq!(
        names(&tree),
        [
            "cn=config",
            "cn=module{0},cn=config",
            "cn=schema,cn=config",
            "cn={0}test,cn=schema,cn=config",
            "olcDatabase={-1}frontend,cn=config",
            "olcDatabase={0}config,cn=config",
            "olcDatabase={1}mdb,cn=config",
            "olcOverlay={0}sample,olcDatabase={1}mdb,cn=config",
            "olcOverlay={1}single,olcDatabase={1}mdb,cn=config",
            "olcDatabase={2}monitor,cn=config",
        ]
    );
    let walk = tree.walk();
    let node = |at: usize| walk[at].1;
    let text = |at: usize, attribute: &str| node(at).texts(attribute).collect::<Vec<_>>().join("|");
    assert_eq!(text(0, "olcToolThreads"), "2");
    assert_eq!(text(0, "olcThreadQueues"), "3", "kept, although it has no meaning");
    assert_eq!(text(0, "olcConcurrency"), "0", "shown although not set");
    assert_eq!(text(0, "olcSizeLimit"), "77");
    assert_eq!(text(0, "olcAttributeTypes"), "{0}( 1.2.3.4.5 NAME 'myAttr' SUP name )");
    assert_eq!(text(1, "olcModuleLoad"), "{0}back_mdb|{1}sample");
    assert_eq!(text(4, "olcAccess"), "{0}to *  by * read");
    assert_eq!(text(5, "olcAccess"), "{0}to *  by * none");
    assert_eq!(text(6, "olcDbIndex"), "cn eq,sub|sn eq,sub");
    assert_eq!(text(6, "olcDbSearchStack"), "8");
    assert_eq!(
        text(6, "olcAccess"),
        "{0}to dn.subtree=\"ou=a,dc=x\"  by dn.base=\"cn=b c,dc=x\" write  by * none"
    );
    assert_eq!(text(7, "objectClass"), "olcOverlayConfig|olcSampleConfig");
    assert_eq!(text(7, "olcSampleSwitch"), "TRUE");
}

/// The meaning of a configuration, line by line, without the places of schema definitions.
fn meaning(configuration: &LoadedConfiguration) -> Vec<String> {
    let tree = render(configuration);
    let mut lines = Vec::new();
    for (dn, node) in tree.walk() {
        for (name, values) in &node.attributes {
            let row = registry().with_attribute(name);
            let is_place = row.is_some_and(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(_))));
            if node.kind() == Some(OlcKind::Schema) || is_place || name == "olcConfigFile" {
                continue;
            }
            lines.extend(
                values
                    .iter()
                    .map(|value| format!("{dn} {name}: {}", String::from_utf8_lossy(value))),
            );
        }
    }
    for definition in &*configuration.schema_definitions {
        if definition.kind == crate::SchemaKind::AttributeOptions {
            lines.extend(definition.words.iter().map(|word| format!("option {word}")));
            continue;
        }
        lines.push(format!(
            "{:?} {}",
            definition.kind,
            super::render::printed(definition.kind, &definition.text)
        ));
    }
    lines.sort();
    lines
}

fn same_meaning(before: &LoadedConfiguration, after: &LoadedConfiguration, text: &str) {
    let (before, after) = (meaning(before), meaning(after));
    let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(
        lost.is_empty() && new.is_empty(),
        "{text}\nlost: {lost:#?}\nnew: {new:#?}"
    );
}

#[test]
fn a_tree_says_what_the_file_said() {
    let before = of_text(TEXT);
    let after = load(&render(&before)).unwrap();
    same_meaning(&before, &after, TEXT);
    assert_eq!(before.databases[0].mdb, after.databases[0].mdb);
    assert_eq!(before.global.log_level, after.global.log_level);
}

#[test]
fn a_module_says_that_booleans_have_any_case() {
    for (modules, expected) in [
        ("moduleload back_mdb\nmoduleload /usr/lib/ldap/ciboolean.la\n", true),
        ("moduleload back_mdb\n", false),
    ] {
        let before = of_text(&format!("{modules}{TEXT}"));
        let after = load(&render(&before)).unwrap();
        let schemas = [&before.schema, &after.schema];
        assert_eq!(schemas.map(|schema| schema.takes_any_case_booleans()), [expected; 2]);
    }
}

#[test]
fn an_entry_may_name_the_class_of_its_type_alone() {
    let text = "backend mdb\nidlexp 18\ndatabase null\nsuffix \"\"\nbind on\n";
    let before = of_text(text);
    let mut tree = render(&before);
    for (class, kind) in [
        ("olcMdbBkConfig", OlcKind::Backend),
        ("olcNullConfig", OlcKind::Database),
    ] {
        let mut nodes = tree.root.children.iter_mut();
        let node = nodes
            .find(|node| node.texts("objectClass").any(|named| named == class))
            .unwrap();
        node.set("objectClass", vec![class.into()]);
        assert_eq!(node.kind(), Some(kind));
    }
    same_meaning(&before, &load(&tree).unwrap(), text);
}

#[test]
fn a_suffix_that_is_the_root_is_a_value() {
    let text = "database null\nsuffix \"\"\n";
    let before = of_text(text);
    same_meaning(&before, &load(&render(&before)).unwrap(), text);
}

#[test]
fn every_example_of_every_setting_survives_the_way_there_and_back() {
    for row in registry().settings() {
        if matches!(row.fate, Fate::Refused(_) | Fate::Obeyed(Handler::Structure)) || row.keywords.is_empty() {
            continue;
        }
        let kinds = match row.level {
            SettingLevel::DatabaseOf(kinds) => kinds,
            _ => &["mdb"],
        };
        for (example, kind) in row
            .examples
            .iter()
            .flat_map(|example| kinds.iter().map(move |kind| (example, kind)))
        {
            let value = if row.is_whole {
                crate::reader::quote(example)
            } else {
                (*example).to_owned()
            };
            let line = format!("{} {value}\n", row.keywords[0]);
            let text = match row.level {
                SettingLevel::Global | SettingLevel::BeforeDatabases | SettingLevel::Inherited => line,
                SettingLevel::Backend(_) => format!("backend mdb\n{line}"),
                SettingLevel::Overlay(name) => format!("{DATABASE}overlay {name}\n{line}"),
                SettingLevel::Database | SettingLevel::DatabaseOf(_) => match (row.name(), *kind) {
                    ("suffix", _) => format!("database mdb\n{line}directory /srv/d\n"),
                    ("directory", _) | (_, "null") => {
                        format!("database {kind}\nsuffix dc=example,dc=com\n{line}")
                    }
                    _ => format!("{DATABASE}{line}"),
                },
            };
            let before = of_text(&text);
            let tree = render(&before);
            let after = load(&tree).unwrap_or_else(|error| panic!("{text}: {error}"));
            same_meaning(&before, &after, &text);
            // The text contains the schema now.
            let again = slapd_conf(&tree).unwrap();
            let files = MemoryFiles::file("again.conf", again.clone());
            let reread =
                load_file("again.conf", &files, registry()).unwrap_or_else(|error| panic!("{text}{again}: {error}"));
            same_meaning(&before, &reread, &again);
            let said = tree.walk().iter().any(|(_, node)| {
                row.attributes
                    .iter()
                    .any(|attribute| !node.values(attribute).is_empty())
            });
            assert!(
                said || row.attributes.is_empty() || *example == row.default,
                "{text} is not shown"
            );
        }
    }
}

/// Statements in the form of slapd.conf whose arguments have special characters of slapd.conf, of cn=config, or of
/// neither.
const AWKWARD: &[&str] = &[
    r#"authz-regexp "gidnumber=0\\+uidnumber=0,cn=auth" "cn=a b,dc=x""#,
    r#"authz-regexp "uid=\"([a-z]*)\",cn=auth" "ldap:///dc=x??sub?(&(uid=\\5c$1)(cn=\"a\"b))""#,
    r#"rootdse "/srv/a \"b\\c""#,
    r#"pidfile "\"/srv/a""#,
    r#"password-crypt-salt-format "$6$\\%.16s""#,
    r#"loglevel "stats" s\ync"#,
];

#[test]
fn backslashes_and_quotes_survive_the_way_there_and_back() {
    let database = r#"database mdb
suffix "dc=x\\2Cy"
rootdn "cn=a\\2C \\22b c,dc=x\\2Cy"
rootpw "\"sec\\ret"
directory "/srv/\"a b\\"
access to dn.regex="^uid=[^,]+\\.x,dc=x\\\\,y$" filter="(cn=\\28\"a\"b)" by dn.regex="a\\+b c$" write by set="[ldap:///dc=x\\2Cy??sub?(cn=\\2A)]/member & user" read
access to attrs=cn val.regex="\"\\*" by domain.regex="a\\.b|c d" read by peername.regex="IP=127\\.0\\.0\\.1:.*" read
limits dn.regex="^cn=\\*,\"dc=x" size=1
limits dn.exact="cn=a\\2Cb c,dc=x" time=2
overlay sample
sample-words dn.regex="^uid=a\\.\"b c" "policy_dn.expand=cn=$0,dc=x\\2Cy"
sample-name "cn=a\\2C b,dc=x\\2Cy"
"#;
    let mut text: String = AWKWARD.iter().flat_map(|line| [*line, "\n"]).collect();
    text.push_str(database);
    let before = of_text(&text);
    assert_eq!(
        before.global.sasl.authz_regexps[0].pattern.as_str(),
        r"gidnumber=0\+uidnumber=0,cn=auth"
    );
    let tree = render(&before);
    let shown = texts(&tree, "cn=config", "olcAuthzRegexp");
    assert_eq!(
        shown[0], r#"{0}"gidnumber=0\+uidnumber=0,cn=auth" "cn=a b,dc=x""#,
        "as slapd shows it"
    );
    let after = load(&tree).unwrap();
    same_meaning(&before, &after, &text);
    assert_eq!(before.global.sasl, after.global.sasl);
    assert_eq!(before.global.pid_file, after.global.pid_file);
    assert_eq!(before.databases[0].directory, after.databases[0].directory);
    assert_eq!(before.databases[0].root_password, after.databases[0].root_password);
    assert_eq!(before.databases[0].limits, after.databases[0].limits);
    let again = slapd_conf(&tree).unwrap();
    let reread = load_file(
        "again.conf",
        &MemoryFiles::file("again.conf", again.clone()),
        registry(),
    );
    same_meaning(
        &before,
        &reread.unwrap_or_else(|error| panic!("{again}: {error}")),
        &again,
    );
}

#[test]
fn a_whole_value_in_quotes_is_taken_without_them_as_slapd_does() {
    let tree = render(&of_text(TEXT));
    let quoted = [
        (AttributeChangeKind::Replace, "olcRootDN", &["\"cn=a b,dc=x\""][..]),
        (AttributeChangeKind::Replace, "olcDbDirectory", &["\"/srv/a b\""]),
        (AttributeChangeKind::Replace, "olcRootPW", &["\"secret\""]),
    ];
    let loaded = load(&modify(&tree, MDB, &quoted).unwrap()).unwrap();
    let database = &loaded.databases[0];
    assert_eq!(database.root_dn.as_ref().unwrap().pretty(), "cn=a b,dc=x");
    assert_eq!(database.directory, std::path::Path::new("/srv/a b"));
    assert_eq!(
        texts(&render(&loaded), MDB, "olcRootPW"),
        ["\"secret\""],
        "a password has no quotes"
    );
}

const DATABASE: &str =
    "database mdb\nsuffix dc=example,dc=com\nrootdn cn=Manager,dc=example,dc=com\ndirectory /srv/d\n";

fn modify(tree: &Tree, name: &str, changes: &[(AttributeChangeKind, &str, &[&str])]) -> Result<Tree, ChangeError> {
    let modifications: Vec<AttributeChange> = changes
        .iter()
        .map(|(kind, attribute, values)| AttributeChange {
            kind: *kind,
            attribute: (*attribute).to_owned(),
            values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
        })
        .collect();
    tree.modify(&schema_of(tree), &dn(name), &modifications, &stamps())
}

fn texts(tree: &Tree, name: &str, attribute: &str) -> Vec<String> {
    let walk = tree.walk();
    let (_, node) = walk
        .iter()
        .find(|(dn, _)| dn == name)
        .unwrap_or_else(|| panic!("no {name}"));
    node.texts(attribute).map(str::to_owned).collect()
}

const MDB: &str = "olcDatabase={1}mdb,cn=config";

#[test]
fn a_value_is_inserted_and_deleted_by_its_number() {
    let tree = render(&of_text(TEXT));
    let rule = "to attrs=userPassword by self write";
    let numbered = format!("{{0}}{rule}");
    let tree = modify(&tree, MDB, &[(AttributeChangeKind::Add, "olcAccess", &[&numbered])]).unwrap();
    let held = texts(&tree, MDB, "olcAccess");
    assert_eq!(held[0], numbered);
    assert!(held[1].starts_with("{1}to dn.subtree"));
    assert_eq!(texts(&tree, MDB, "modifiersName"), ["cn=config"]);
    let error = modify(&tree, MDB, &[(AttributeChangeKind::Add, "olcAccess", &[rule])]).unwrap_err();
    assert_eq!(error.result_code, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    let tree = modify(&tree, MDB, &[(AttributeChangeKind::Delete, "olcAccess", &["{1}"])]).unwrap();
    assert_eq!(texts(&tree, MDB, "olcAccess"), [numbered]);
    let error = modify(&tree, MDB, &[(AttributeChangeKind::Delete, "olcAccess", &["{1}"])]).unwrap_err();
    assert_eq!(error.result_code, ResultCode::NO_SUCH_ATTRIBUTE);
    let all = ["{7}to attrs=cn by * read", "to * by * none", "{2}to attrs=sn by * read"];
    let tree = modify(&tree, MDB, &[(AttributeChangeKind::Replace, "olcAccess", &all)]).unwrap();
    assert_eq!(
        texts(&tree, MDB, "olcAccess"),
        [
            "{0}to attrs=cn by * read",
            "{1}to * by * none",
            "{2}to attrs=sn by * read"
        ]
    );
}

#[test]
fn values_that_replace_others_are_inserted_one_by_one_by_their_numbers() {
    // The right sides are what Debian's slapd answers.
    let tree = render(&of_text(TEXT));
    for (written, expected) in [
        ("{1}a {0}b c", "b a c"),
        ("{2}a {1}b {0}c", "c a b"),
        ("{5}a {9}b {3}c", "a b c"),
        ("{0}a {0}b {0}c", "c b a"),
        ("a b {0}c", "c a b"),
        ("{10}a b {2}c {1}d", "a d b c"),
    ] {
        let limits: Vec<String> = written.split(' ').map(|value| format!("{value} cn=x")).collect();
        let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
        let root = "cn=config";
        let tree = modify(
            &tree,
            root,
            &[(AttributeChangeKind::Replace, "olcAuthzRegexp", &limits)],
        )
        .unwrap();
        let expected = expected.split(' ').enumerate();
        let expected: Vec<String> = expected.map(|(n, name)| format!("{{{n}}}{name} cn=x")).collect();
        assert_eq!(texts(&tree, root, "olcAuthzRegexp"), expected, "{written}");
    }
}

#[test]
fn the_schema_says_what_an_entry_may_hold() {
    let tree = render(&of_text(TEXT));
    for (attribute, values, code) in [
        ("olcDbIndex", &["ou eq"][..], ResultCode::ATTRIBUTE_OR_VALUE_EXISTS),
        ("olcSingleFile", &["/srv/x"], ResultCode::OBJECT_CLASS_VIOLATION),
        ("olcReadOnly", &["TRUE"], ResultCode::CONSTRAINT_VIOLATION),
        ("olcDatabase", &["mdb"], ResultCode::NOT_ALLOWED_ON_RDN),
        ("noSuchThing", &["x"], ResultCode::UNDEFINED_ATTRIBUTE_TYPE),
    ] {
        let first = modify(&tree, MDB, &[(AttributeChangeKind::Add, "olcDbIndex", &["ou eq"])]).unwrap();
        let error = modify(&first, MDB, &[(AttributeChangeKind::Add, attribute, values)]).unwrap_err();
        assert_eq!(error.result_code, code, "{attribute}: {error}");
    }
}

fn database(schema: &Schema, name: &str, suffix: &str) -> Entry {
    let attributes = [
        ("objectClass", "olcMdbConfig"),
        ("olcSuffix", suffix),
        ("olcDbDirectory", suffix),
        ("olcDatabase", name),
    ];
    entry(schema, &format!("olcDatabase={name},cn=config"), &attributes)
}

#[test]
fn a_new_database_gets_the_next_number_or_makes_room() {
    let tree = render(&of_text(TEXT));
    let schema = schema_of(&tree);
    let tree = tree
        .add(&schema, &database(&schema, "mdb", "o=last"), &stamps())
        .unwrap();
    let tree = tree
        .add(&schema, &database(&schema, "{1}mdb", "o=first"), &stamps())
        .unwrap();
    let suffixes: Vec<_> = load(&tree)
        .unwrap()
        .databases
        .iter()
        .flat_map(|one| one.suffixes.clone())
        .collect();
    let suffixes: Vec<_> = suffixes.iter().map(Dn::pretty).collect();
    assert_eq!(suffixes, ["o=first", "dc=x", "cn=Monitor", "o=last"]);
    assert_eq!(texts(&tree, "olcDatabase={4}mdb,cn=config", "olcSuffix"), ["o=last"]);
    assert_eq!(
        texts(&tree, "olcDatabase={4}mdb,cn=config", "structuralObjectClass"),
        ["olcMdbConfig"]
    );
    // The entries below move with it.
    assert!(names(&tree).contains(&"olcOverlay={1}single,olcDatabase={2}mdb,cn=config".to_owned()));

    let rename = |tree: &Tree, from: &str, to: &str| tree.rename(&schema, &dn(from), &dn(to), None, &stamps());
    let tree = rename(&tree, "olcDatabase={4}mdb,cn=config", "olcDatabase={1}mdb").unwrap();
    assert_eq!(texts(&tree, MDB, "olcSuffix"), ["o=last"]);
    assert_eq!(texts(&tree, "olcDatabase={3}mdb,cn=config", "olcSuffix"), ["dc=x"]);
    let error = rename(&tree, MDB, "olcDatabase={1}monitor").unwrap_err();
    assert_eq!(error.result_code, ResultCode::NAMING_VIOLATION);

    let error = tree.delete(&schema, &dn("olcDatabase={3}mdb,cn=config")).unwrap_err();
    assert_eq!(error.result_code, ResultCode::NOT_ALLOWED_ON_NON_LEAF);
    let tree = tree.delete(&schema, &dn(MDB)).unwrap();
    assert_eq!(texts(&tree, MDB, "olcSuffix"), ["o=first"]);
    for needed in ["cn=config", "cn=schema,cn=config", "olcDatabase={0}config,cn=config"] {
        let error = tree.delete(&schema, &dn(needed)).unwrap_err();
        assert_eq!(error.result_code, ResultCode::UNWILLING_TO_PERFORM, "{needed}");
    }
}

#[test]
fn schema_entries_and_overlays_are_numbered_below_their_superior() {
    let tree = render(&of_text(TEXT));
    let schema = schema_of(&tree);
    let definition = "( 1.2.3.9 NAME 'other' SUP name )";
    let attributes = [
        ("objectClass", "olcSchemaConfig"),
        ("cn", "mine"),
        ("olcAttributeTypes", definition),
    ];
    let tree = tree
        .add(
            &schema,
            &entry(&schema, "cn=mine,cn=schema,cn=config", &attributes),
            &stamps(),
        )
        .unwrap();
    let numbered = format!("{{0}}{definition}");
    assert_eq!(
        texts(&tree, "cn={1}mine,cn=schema,cn=config", "olcAttributeTypes"),
        [numbered]
    );
    assert!(load(&tree).unwrap().schema.find_attribute_type(b"other").is_some());

    let attributes = [
        ("objectClass", "olcSingleConfig"),
        ("olcOverlay", "single"),
        ("olcSingleFile", "/srv/b"),
    ];
    let of_frontend = entry(&schema, "olcOverlay=single,olcDatabase=frontend,cn=config", &attributes);
    let tree = tree.add(&schema, &of_frontend, &stamps()).unwrap();
    let name = "olcOverlay={0}single,olcDatabase={-1}frontend,cn=config";
    assert_eq!(texts(&tree, name, "olcSingleFile"), ["/srv/b"]);
    let misplaced = entry(&schema, "olcOverlay=single,cn=config", &attributes);
    let error = tree.add(&schema, &misplaced, &stamps()).unwrap_err();
    assert_eq!(error.result_code, ResultCode::NAMING_VIOLATION);
    let misnamed = [
        ("objectClass", "olcSingleConfig"),
        ("cn", "x"),
        ("olcOverlay", "single"),
    ];
    let misnamed = entry(&schema, "cn=x,olcDatabase={0}config,cn=config", &misnamed);
    let error = tree.add(&schema, &misnamed, &stamps()).unwrap_err();
    assert_eq!(error.result_code, ResultCode::OBJECT_CLASS_VIOLATION, "as slapd says");
    let nowhere = entry(&schema, "olcOverlay=single,olcDatabase={9}mdb,cn=config", &attributes);
    let error = tree.add(&schema, &nowhere, &stamps()).unwrap_err();
    assert_eq!(error.result_code, ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn entries_below_a_schema_entry_have_definitions_too() {
    // slapd nests them where one file includes another.
    let mut tree = render(&of_text(TEXT));
    for (name, attribute, above) in [
        ("inner", "innerName", "cn={0}test"),
        ("last", "lastName", "cn={0}inner,cn={0}test"),
    ] {
        let definition = format!("( 1.2.3.9.{} NAME '{attribute}' SUP name )", name.len());
        let attributes = [
            ("objectClass", "olcSchemaConfig"),
            ("cn", name),
            ("olcAttributeTypes", definition.as_str()),
        ];
        let schema = schema_of(&tree);
        let added = entry(&schema, &format!("cn={name},{above},cn=schema,cn=config"), &attributes);
        tree = tree.add(&schema, &added, &stamps()).unwrap();
        let found = schema_of(&tree);
        assert!(found.find_attribute_type(attribute.as_bytes()).is_some(), "{attribute}");
    }
}

#[test]
fn a_macro_is_shown_without_quotes_and_once() {
    let again =
        "objectidentifier \"my.Root\" \"1.2.3\"\nobjectidentifier my.Root 1.2.3\nobjectidentifier mine my.Root:4\n";
    let tree = render(&of_text(&format!("{again}{TEXT}")));
    assert_eq!(
        texts(&tree, "cn=config", "olcObjectIdentifier"),
        ["{0}my.Root 1.2.3", "{1}mine my.Root:4"]
    );
}

#[test]
fn what_the_tree_says_is_checked_as_a_whole() {
    let tree = render(&of_text(TEXT));
    let broken = modify(
        &tree,
        MDB,
        &[(AttributeChangeKind::Add, "olcDbIndex", &["noSuchThing eq"])],
    )
    .unwrap();
    let error = load(&broken).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("<olcDbIndex> index attribute \"noSuchThing\" undefined"),
        "{error}"
    );
    let broken = modify(
        &tree,
        "cn=config",
        &[(AttributeChangeKind::Delete, "olcAttributeTypes", &["{0}"])],
    )
    .unwrap();
    assert!(load(&broken).is_err(), "the object class needs it");
}

fn comparable(tree: &Tree) -> Vec<String> {
    let nodes = tree.walk().into_iter();
    nodes.map(|(dn, node)| format!("{dn} {:?}", node.attributes)).collect()
}

#[test]
fn a_directory_gives_back_what_was_written_and_follows_changes() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path(), registry());
    assert!(!folder.holds_configuration());
    let mut tree = render(&of_text(TEXT));
    folder.write(None, &tree).unwrap();
    let schema = schema_of(&tree);
    let changed = [
        modify(&tree, MDB, &[(AttributeChangeKind::Replace, "olcReadOnly", &["TRUE"])]).unwrap(),
        tree.add(&schema, &database(&schema, "{1}mdb", "o=first"), &stamps())
            .unwrap(),
    ];
    for new in changed {
        folder.write(Some(&tree), &new).unwrap();
        tree = new;
        let (read, notices) = folder.read().unwrap();
        assert_eq!(comparable(&read), comparable(&tree));
        assert_eq!(notices, []);
    }
    assert!(!place.path().join("ironbark-journal.ldif").exists());
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(place.path().join("cn=config.ldif")).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_edited_file_is_told_and_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path(), registry());
    folder.write(None, &render(&of_text(TEXT))).unwrap();
    let file = place.path().join("cn=config.ldif");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("olcToolThreads: 2", "olcToolThreads: 7")).unwrap();
    let (tree, notices) = folder.read().unwrap();
    assert_eq!(texts(&tree, "cn=config", "olcToolThreads"), ["7"]);
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0]
            .to_string()
            .contains("cn=config.ldif: line 2: checksum error"),
        "{}",
        notices[0]
    );
    std::fs::write(&file, "dn: cn=config\nobjectClass olcGlobal\n").unwrap();
    let error = folder.read().unwrap_err().to_string();
    assert!(error.contains("cn=config.ldif") && error.contains("line 2"), "{error}");
}

/// A crash after any number of file changes: the next reader sees the old tree or the new one.
#[test]
fn a_reader_sees_an_interrupted_change_whole_and_a_writer_finishes_it() {
    let old = render(&of_text(TEXT));
    let schema = schema_of(&old);
    let new = old
        .add(&schema, &database(&schema, "{1}mdb", "o=first"), &stamps())
        .unwrap();
    let whole = tempfile::tempdir().unwrap();
    Folder::new(whole.path(), registry()).write(None, &new).unwrap();
    for file in ["cn=config/olcDatabase={1}mdb.ldif", "cn=config/olcDatabase={2}mdb.ldif"] {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), registry());
        folder.write(None, &old).unwrap();
        // The journal and one of the files exist, the others do not.
        let mut journal = Vec::new();
        for (dn, node) in new.walk() {
            journal.extend_from_slice(format!("dn: {dn}\n").as_bytes());
            for (name, values) in &node.attributes {
                for value in values {
                    ironbark_ldif::LdifWriter::default().attribute(&mut journal, name.as_bytes(), value);
                }
            }
            journal.push(b'\n');
        }
        std::fs::write(place.path().join("ironbark-journal.ldif"), journal).unwrap();
        std::fs::copy(whole.path().join(file), place.path().join(file)).unwrap();
        assert!(folder.holds_configuration());
        assert_eq!(comparable(&folder.read().unwrap().0), comparable(&new));
        assert!(
            place.path().join("ironbark-journal.ldif").exists(),
            "a reader writes nothing"
        );
        folder.write(Some(&new), &new).unwrap();
        assert!(!place.path().join("ironbark-journal.ldif").exists());
        assert_eq!(
            comparable(&folder.read().unwrap().0),
            comparable(&new),
            "the files say so too"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any insertions and deletions by number, numbers have no gaps, and texts are those of a plain list.
    #[test]
    fn numbered_values_behave_as_a_list(steps in proptest::collection::vec((any::<bool>(), 0usize..6), 1..24)) {
        let mut tree = render(&of_text(TEXT));
        let mut list: Vec<String> = texts(&tree, MDB, "olcLimits").iter().map(|text| text[3..].to_owned()).collect();
        for (number, (is_insertion, place)) in steps.into_iter().enumerate() {
            if is_insertion {
                let text = format!("dn.exact=\"cn=u{number}\" size={number}");
                let value = format!("{{{place}}}{text}");
                tree = modify(&tree, MDB, &[(AttributeChangeKind::Add, "olcLimits", &[&value])]).unwrap();
                list.insert(place.min(list.len()), text);
            } else {
                let value = format!("{{{place}}}");
                match modify(&tree, MDB, &[(AttributeChangeKind::Delete, "olcLimits", &[&value])]) {
                    Ok(changed) => {
                        tree = changed;
                        list.remove(place);
                    }
                    Err(error) => {
                        prop_assert_eq!(error.result_code, ResultCode::NO_SUCH_ATTRIBUTE);
                        prop_assert!(place >= list.len());
                    }
                }
            }
            let expected: Vec<String> = list.iter().enumerate().map(|(at, text)| format!("{{{at}}}{text}")).collect();
            prop_assert_eq!(texts(&tree, MDB, "olcLimits"), expected);
        }
    }
}

#[test]
fn a_change_of_several_files_that_cannot_be_written_is_not_begun() {
    let held = tempfile::tempdir().unwrap();
    let folder = Folder::new(held.path(), registry());
    let old = render(&of_text(TEXT));
    folder.write(None, &old).unwrap();
    let schema = schema_of(&old);
    let new = old
        .add(&schema, &database(&schema, "{1}mdb", "o=first"), &stamps())
        .unwrap();
    let texts = |path: &std::path::Path| std::fs::read(path).unwrap();
    let first = held.path().join("cn=config/olcDatabase={1}mdb.ldif");
    let before = texts(&first);
    // First the temporary name of one of the later files, then that of the journal.
    for in_the_way in ["cn=config/olcDatabase={3}monitor.new", "ironbark-journal.new"] {
        let in_the_way = held.path().join(in_the_way);
        std::fs::create_dir(&in_the_way).unwrap();
        folder.write(Some(&old), &new).unwrap_err();
        std::fs::remove_dir(&in_the_way).unwrap();
        assert_eq!(folder.read().unwrap().0.walk().len(), old.walk().len());
        assert_eq!(texts(&first), before);
        let left = walk_files(held.path());
        assert!(
            left.iter().all(
                |name| std::path::Path::new(name).extension().is_some_and(|end| end == "ldif")
                    && !name.contains("journal")
            ),
            "{left:?}"
        );
    }
    assert_eq!(
        folder.write(Some(&old), &new).unwrap().map(|error| error.to_string()),
        None
    );
    assert_eq!(folder.read().unwrap().0.walk().len(), new.walk().len());
}

fn walk_files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk_files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}
