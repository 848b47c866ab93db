//! Texts that say that something is not there, compared with the tables of what is there: a claim that is not true any
//! more fails here.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use ironbark_config::{Fate, LoadedConfiguration, MemoryFiles, load, parts::PartKind};
use ironbark_overlays::registry;

/// What claims of absence have in common, in small letters.
const CLAIMS: [&str; 12] = [
    "not built yet",
    "not yet built",
    "are not built",
    "is not built",
    "not implemented",
    "not yet supported",
    "not supported yet",
    "support it yet",
    "is not supported",
    "are not supported",
    "no replicas",
    "no replication",
];

/// How a claim is known to be true.
enum Proof {
    /// The text is filled, or speaks of, the tables of parts and settings, which the other tests here hold.
    Tables,
    /// This line of a configuration is refused with the claim.
    Refused(&'static str),
    /// It is no claim about what the server has: why.
    Other(&'static str),
}

/// Each claim: the end of the file's name, a part of the line, and its proof.
const KNOWN: [(&str, &str, Proof); 20] = [
    ("config/src/error.rs", "{0} is not built yet", Proof::Tables),
    ("config/src/parts.rs", "", Proof::Tables),
    ("config/src/reference.rs", "is not built yet", Proof::Tables),
    (
        "config/src/rows/global/files.rs",
        "kind of access rules that is not built",
        Proof::Tables,
    ),
    (
        "docs/settings.md",
        "kind of access rules that is not built",
        Proof::Tables,
    ),
    (
        "docs/settings.md",
        "belongs to a part that is not built yet",
        Proof::Tables,
    ),
    ("docs/settings.md", "- **refused**: ", Proof::Tables),
    ("config/src/setting.rs", "a part that is not supported", Proof::Tables),
    ("README.md", "| | what is here | not yet supported |", Proof::Tables),
    ("README.md", "They are not built yet.", Proof::Tables),
    (
        "config/src/rows/global/sasl.rs",
        "tls-unique is not supported",
        Proof::Refused("sasl-cbinding tls-unique"),
    ),
    (
        "config/src/syncrepl/read.rs",
        "files of names are not supported",
        Proof::Refused(
            "database mdb\nsuffix cn=x\nrootdn cn=x\ndirectory /tmp/x\n\
             syncrepl rid=1 provider=ldap://a/ searchbase=cn=x attrs=:include:/tmp/x",
        ),
    ),
    (
        "posix_regex/mod.rs",
        "back-references",
        Proof::Other("so it is in POSIX's extended expressions"),
    ),
    (
        "autoca/issue.rs",
        "of a kind that is not supported",
        Proof::Other("a key of a stranger's kind"),
    ),
    (
        "controls/mod.rs",
        "if the control is not supported",
        Proof::Other("RFC 4511 §4.1.11"),
    ),
    (
        "docs/paper.md",
        "What is not built",
        Proof::Other("the model's limits, named below the words"),
    ),
    (
        "access/name.rs",
        "The name is not built if",
        Proof::Other("the text of a name"),
    ),
    (
        "import/schema.rs",
        "not built in",
        Proof::Other("definitions of another server"),
    ),
    (
        "resolve/attribute_types.rs",
        "its superior is not built yet",
        Proof::Other("a step of the schema's building"),
    ),
    (
        "docs/cluster.md",
        "need parts that are not built, or other programs",
        Proof::Tables,
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The files of the product's texts: sources but for tests, and pages but for history and the notes of builders.
fn texts() -> Vec<(String, String)> {
    let root = root();
    let mut folders = vec![root.join("crates"), root.join("docs")];
    let mut files = vec![
        root.join("README.md"),
        root.join("SECURITY.md"),
        root.join("ARCHITECTURE.md"),
    ];
    while let Some(folder) = folders.pop() {
        for found in std::fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if !["tests", "internals", "target"].contains(&name.as_str()) {
                    folders.push(path);
                }
                continue;
            }
            match path.extension().and_then(|end| end.to_str()) {
                Some("rs") if name != "tests.rs" => files.push(path),
                Some("md") => files.push(path),
                _ => {}
            }
        }
    }
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    files
        .iter()
        .map(|path| (name(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

fn loaded(text: &str) -> Result<LoadedConfiguration, String> {
    load(
        "slapd.conf",
        &MemoryFiles::file("slapd.conf", format!("{text}\n")),
        &registry(),
    )
    .map_err(|error| error.to_string())
}

#[test]
fn every_claim_of_absence_is_known_and_true() {
    let mut used = [false; KNOWN.len()];
    let mut unknown = Vec::new();
    for (file, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            let small = line.to_lowercase();
            // Of a page, no line begins so.
            let is_remark = small.trim_start().starts_with("// ");
            if is_remark || !CLAIMS.iter().any(|claim| small.contains(claim)) {
                continue;
            }
            let found = KNOWN
                .iter()
                .position(|(end, part, _)| file.ends_with(end) && line.contains(part));
            match found {
                Some(found) => used[found] = true,
                None => unknown.push(format!("{file}:{}: {}", number + 1, line.trim())),
            }
        }
    }
    assert!(unknown.is_empty(), "prove these, or mend them:\n{}", unknown.join("\n"));
    for ((end, part, proof), is_used) in KNOWN.iter().zip(used) {
        assert!(is_used, "{end} does not say \"{part}\" any more");
        match proof {
            Proof::Tables => {}
            Proof::Refused(line) => {
                let error = loaded(line).unwrap_err();
                assert!(error.contains(part), "{line}: {error}");
            }
            Proof::Other(why) => assert!(!why.is_empty()),
        }
    }
}

#[test]
fn every_refused_setting_is_refused_and_its_part_has_no_other_name() {
    let registry = registry();
    for row in registry.settings() {
        let Fate::Refused(part) = row.fate else { continue };
        let words: Vec<String> = part.split(' ').map(str::to_lowercase).collect();
        for overlay in registry.overlays() {
            assert!(
                !words.contains(&overlay.name.to_owned()),
                "{part} is there: {}",
                overlay.name
            );
        }
    }
    // Reasons why a setting has no meaning must not say what the tables deny.
    let replicates = registry
        .with_keyword("syncrepl")
        .any(|row| matches!(row.fate, Fate::Obeyed(_)));
    for row in registry.settings() {
        let (Fate::Meaningless(text) | Fate::Refused(text)) = row.fate else {
            continue;
        };
        let denies = ["no replica", "replication"].iter().any(|word| text.contains(word));
        assert!(!(replicates && denies), "{}: {text}", row.name());
    }
}

#[test]
fn the_front_page_lists_what_is_there_and_nothing_else() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, section) = page.split_once("## What is here").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').collect())
        .collect();
    assert_eq!(rows[0][1..4], [" ", " what is here ", " not yet supported "]);
    let column = |number: usize| rows.iter().map(|row| row[number]).collect::<Vec<_>>().join(" ");
    let (here, missing) = (column(2), column(3));
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        words.map(str::to_owned).collect()
    };
    let (here, missing) = (words(&here), words(&missing));
    let registry = registry();
    for overlay in registry.overlays() {
        assert!(
            here.contains(&overlay.name.to_owned()),
            "README.md lacks overlay {}",
            overlay.name
        );
        assert!(
            !missing.contains(&overlay.name.to_owned()),
            "README.md denies overlay {}",
            overlay.name
        );
    }
    for kind in registry.databases().iter().filter(|kind| kind.name != "frontend") {
        let name = kind.name;
        assert!(
            here.contains(&name.to_owned()) && !missing.contains(&name.to_owned()),
            "README.md: database {name}"
        );
    }
    for part in registry.parts().iter() {
        let is_missing = matches!(
            part.kind,
            PartKind::MissingOverlay
                | PartKind::RefusedOverlay(_)
                | PartKind::MissingDatabase
                | PartKind::RefusedDatabase(_)
        );
        let name = part.name.to_owned();
        assert!(!is_missing || !here.contains(&name), "{name} is not there");
        let is_to_come = matches!(part.kind, PartKind::MissingOverlay | PartKind::MissingDatabase);
        assert!(!is_to_come || missing.contains(&name), "README.md: {name} is missing");
    }
}
