//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use std::{borrow::Cow, path::Path};

use crate::{
    LoadedConfiguration, MemoryFiles, Registry,
    entry_files::{self, EntryFile},
    help, load,
    olc::{self, OlcKind, Tree},
    survey,
};

/// Reads `data` as a slapd.conf file, like a server and like `slaptest --explain`, and converts it to cn=config and
/// back.
///
/// # Panics
/// When cn=config has another meaning than the file: that is the property under test.
pub fn slapd_conf(data: &[u8], registry: &Registry) {
    configuration(data, registry);
}

/// Reads each line of `data` as access rules, limits and mappings of identities of a database, and converts them to
/// cn=config and back.
///
/// # Panics
/// As of [`slapd_conf`].
pub fn rules(data: &[u8], registry: &Registry) {
    let mut text = DATABASE.as_bytes().to_vec();
    for line in data.split(|byte| *byte == b'\n') {
        let (choice, rest) = line.split_first().unwrap_or((&0, &[]));
        let keyword = KEYWORDS.get(usize::from(*choice) % KEYWORDS.len()).unwrap_or(&"access");
        text.extend_from_slice(keyword.as_bytes());
        text.push(b' ');
        text.extend_from_slice(rest);
        text.push(b'\n');
    }
    configuration(&text, registry);
}

/// A database for rules, and names for them.
pub const DATABASE: &str = "\
attributetype ( 2.5.4.4 NAME 'sn' SUP name )
attributetype ( 2.5.4.31 NAME 'member' SUP distinguishedName )
attributetype ( 0.9.2342.19200300.100.1.10 NAME 'manager' SUP distinguishedName )
objectclass ( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn ) MAY userPassword )
objectclass ( 2.5.6.9 NAME 'groupOfNames' SUP top STRUCTURAL MUST ( member $ cn ) )
database null
suffix cn=x
";

/// `a`, `b`, ... choose them in order.
const KEYWORDS: [&str; 12] = [
    "sizelimit",
    "access",
    "limits",
    "authz-regexp",
    "timelimit",
    "restrict",
    "require",
    "security",
    "index",
    "suffix",
    "rootdn",
    "disallow",
];

/// Reads `data` as an entry of slapd.d: its file, then the settings in it, below a valid configuration.
///
/// # Panics
/// When a written entry is read as another one: that is the property under test.
pub fn config_entry(data: &[u8], registry: &Registry) {
    let Ok(read) = entry_files::parse(Path::new("fuzz.ldif"), data) else {
        return;
    };
    let attributes = read.attributes.iter();
    let values: Vec<(Cow<'_, str>, [Vec<u8>; 1])> = attributes
        .map(|(name, value)| (String::from_utf8_lossy(name), [value.clone()]))
        .collect();
    // An attribute name that is not text does not exist.
    if values.iter().any(|(name, _)| matches!(name, Cow::Owned(_))) {
        return;
    }
    let text = entry_files::text(&read.rdn, values.iter().map(|(name, value)| (name.clone(), &value[..])));
    let again = entry_files::parse(Path::new("fuzz.ldif"), &text);
    let same =
        again.is_ok_and(|again| again.is_as_written && again.rdn == read.rdn && again.attributes == read.attributes);
    assert!(same, "an entry's file came back changed");
    let Some(tree) = tree_with(read, registry) else { return };
    if let Ok(configuration) = olc::load(&tree) {
        round_trip(&configuration);
    }
    let _ = olc::survey(&tree);
    let _ = olc::slapd_conf(&tree);
}

/// A small configuration with the entry in its place.
fn tree_with(entry: EntryFile, registry: &Registry) -> Option<Tree> {
    let node = olc::node_of_file(registry.base_schema(), Path::new("fuzz.ldif"), entry, &mut Vec::new()).ok()?;
    let text = "database null\nsuffix cn=x\noverlay memberof\n";
    let mut tree = olc::render(&load("slapd.conf", &MemoryFiles::file("slapd.conf", text), registry).ok()?);
    match node.kind()? {
        OlcKind::Global => tree.root.attributes = node.attributes,
        OlcKind::Overlay => tree.root.children.last_mut()?.children = vec![node],
        OlcKind::Database => {
            tree.root.children.pop();
            tree.root.children.push(node);
        }
        kind => {
            let at = tree.root.children.partition_point(|child| child.kind() <= Some(kind));
            tree.root.children.insert(at, node);
        }
    }
    Some(tree)
}

fn configuration(text: &[u8], registry: &Registry) {
    let files = MemoryFiles::file("slapd.conf", text);
    let surveyed = survey("slapd.conf", &files, registry);
    let all = surveyed.statements.iter();
    let refused = all.filter(|statement| statement.refusal.is_some()).count() + surveyed.errors.len();
    for statement in &surveyed.statements {
        let _ = help(registry, &statement.line.keyword);
    }
    if let Ok(configuration) = load("slapd.conf", &files, registry) {
        assert!(refused == 0, "a survey finds errors in what a server loads");
        round_trip(&configuration);
    } else {
        assert!(refused > 0, "a survey finds no error in what a server refuses");
    }
}

/// Checks that the tree written to slapd.d loads with the same meaning, and so does the file made from it.
fn round_trip(configuration: &LoadedConfiguration) {
    let tree = olc::render(configuration);
    let text = olc::slapd_conf(&tree);
    let again = olc::load(&tree).map(|again| olc::slapd_conf(&olc::render(&again)));
    let again = match again {
        Ok(again) => again.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let text = text.map_err(|error| error.to_string());
    assert_eq!(again, text, "cn=config came back changed");
}
