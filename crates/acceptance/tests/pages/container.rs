//! docs/container.md: there is no container here; the variables and the programs are checked, and the entry point is
//! run by crates/acceptance/tests/container.

use super::{
    page::{Block, Section},
    sandbox::Sandbox,
};

const REASON: &str = "there is no Docker daemon where this is tested";

/// Fails unless the entry point knows each variable of the block.
#[track_caller]
fn assert_known(block: &Block) {
    let table = Sandbox::new().shell("ironbark container --table");
    assert_eq!(table.code, Some(0), "{table:?}");
    let words = block
        .text
        .split(|character: char| !(character.is_ascii_uppercase() || character == '_'));
    let names: Vec<&str> = words
        .filter(|word| word.starts_with("LDAP_") || word.starts_with("IRONBARK_"))
        .collect();
    assert!(!names.is_empty(), "{}: no variable", block.place);
    for name in names {
        let name = name.strip_suffix("_FILE").unwrap_or(name);
        assert!(
            table.stdout.contains(&format!("`{name}`")),
            "{}: no variable {name}",
            block.place
        );
    }
}

pub(crate) fn run(section: &Section) {
    let [run, copy] = section.blocks();
    assert_known(&run);
    for (block, program) in [
        (&run, "docker run"),
        (&copy, "skopeo copy oci-archive:target/ironbark-image.tar"),
    ] {
        assert!(block.text.starts_with(program), "{REASON}: {}", block.place);
    }
    // `make image` writes that archive.
    assert!(
        super::page::text("scripts/image.sh").contains("ironbark-image.tar"),
        "{REASON}"
    );
}

pub(crate) fn replication(section: &Section) {
    let [variables] = section.blocks();
    assert_known(&variables);
}

pub(crate) fn clusters(section: &Section) {
    let [variables] = section.blocks();
    assert_known(&variables);
}
