//! Floors: the layers of a crate. Each folder may depend only on those below it.
//!
//! - No circle of files that need each other is bigger than [`MOST_IN_CIRCLE`].
//! - Where ARCHITECTURE.md has a section `## Floors of NAME` with a table, its first column names the top folders and
//!   files of that crate (`` `request` ``), the lowest floor last. A file needs nothing above its own floor, and every
//!   one has a floor. The methods of a type stand on its own floor: what needs more is a function further up.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source, Tree, imports::Imports};

const MOST_IN_CIRCLE: usize = 4;
const MAP: &str = "ARCHITECTURE.md";

/// Circles, and imports that climb.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    for (folder, name, _) in tree.crates() {
        let imports = Imports::of(folder, sources);
        for circle in imports.circles() {
            if circle.len() > MOST_IN_CIRCLE {
                let files: Vec<&str> = circle.iter().map(|file| inside(folder, file)).collect();
                let reason = format!("{} files need each other: {}", circle.len(), files.join(", "));
                findings.push(Finding::new("circle", folder, 1, reason).sized(circle.len()));
            }
        }
        if let Some(floors) = tree.file(MAP).and_then(|map| read_floors(map, name)) {
            check_floors(folder, &floors, &imports, findings);
        }
    }
}

fn inside<'f>(folder: &str, file: &'f str) -> &'f str {
    file.strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix("/src/"))
        .unwrap_or(file)
}

/// The top folder or file: `search/mod.rs` is in `search`.
fn room<'f>(folder: &str, file: &'f str) -> &'f str {
    let rest = inside(folder, file);
    rest.split_once('/')
        .map_or(rest, |(room, _)| room)
        .trim_end_matches(".rs")
}

/// Line and height of each room; `None`: the crate has no floors.
fn read_floors(map: &str, name: &str) -> Option<BTreeMap<String, (usize, usize)>> {
    let heading = format!("## Floors of {name}");
    let mut lines = map.lines().enumerate().skip_while(|(_, line)| *line != heading);
    lines.next()?;
    let mut floors = BTreeMap::new();
    let rows = lines
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter(|(_, line)| line.starts_with("| `"));
    for (height, (line, row)) in rows.enumerate() {
        let cell = row.split('|').nth(1).unwrap_or_default();
        for room in cell.split('`').skip(1).step_by(2) {
            floors.insert(room.to_owned(), (line + 1, usize::MAX - height));
        }
    }
    Some(floors)
}

fn check_floors(
    folder: &str,
    floors: &BTreeMap<String, (usize, usize)>,
    imports: &Imports,
    findings: &mut Vec<Finding>,
) {
    let mut rooms = BTreeSet::new();
    for (file, needed) in &imports.edges {
        let own = room(folder, file);
        if !rooms.insert(own) && !floors.contains_key(own) {
            continue;
        }
        let Some((_, height)) = floors.get(own) else {
            findings.push(Finding::new("floor", file, 1, format!("`{own}` has no floor in {MAP}")));
            continue;
        };
        for (other, line) in needed {
            if let Some((_, above)) = floors.get(room(folder, other))
                && above > height
            {
                let reason = format!("climbs to {}", inside(folder, other));
                findings.push(Finding::new("climb", file, *line, reason));
            }
        }
    }
    let height = |file: &str| floors.get(room(folder, file)).map(|(_, height)| *height);
    for block in &imports.impls {
        if let (Some(own), Some(defined)) = (height(&block.file), height(&block.definer))
            && own > defined
        {
            let reason = format!(
                "methods of {}, which is further down, in {}",
                block.name,
                inside(folder, &block.definer)
            );
            findings.push(Finding::new("upstairs", &block.file, block.line, reason));
        }
    }
    for (room, (line, _)) in floors.iter().filter(|(room, _)| !rooms.contains(room.as_str())) {
        findings.push(Finding::new(
            "floor",
            MAP,
            *line,
            format!("there is no {folder}/src/{room}"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tree, source};
    use super::*;

    fn reasons(map: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("ARCHITECTURE.md", map), ("crates/a/Cargo.toml", "")];
        all.extend_from_slice(files);
        let tree = Tree::in_memory(&all);
        let mut findings = Vec::new();
        let sources = source::parse_all(&tree, &mut findings);
        check(&tree, &sources, &mut findings);
        findings
            .iter()
            .map(|finding| format!("{}:{}: {} {}", finding.path, finding.line, finding.rule, finding.reason))
            .collect()
    }

    const MAP: &str =
        "## Floors of a\n\n| room | what |\n|---|---|\n| `lib` | |\n| `upper` | |\n| `lower` `error` | |\n";

    #[test]
    fn an_import_that_climbs_is_found_through_what_others_pass_on() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "mod upper;\nmod lower;\nmod error;\npub use upper::High;\n",
            ),
            ("crates/a/src/upper.rs", "use crate::lower::Low;\npub struct High;\n"),
            ("crates/a/src/error.rs", ""),
        ];
        let lower = |text| [&files[..], &[("crates/a/src/lower/mod.rs", text)]].concat();
        assert_eq!(reasons(MAP, &lower("pub struct Low;")), Vec::<String>::new());
        let climbs = ["crates/a/src/lower/mod.rs:2: climb climbs to upper.rs"];
        assert_eq!(reasons(MAP, &lower("pub struct Low;\nuse crate::High;")), climbs);
        assert_eq!(
            reasons(MAP, &lower("pub struct Low;\nfn f(_: &crate::High) {}")),
            climbs
        );
        assert_eq!(
            reasons(MAP, &lower("use crate::upper;\nfn f() { upper::High; }")),
            climbs
        );
        let tested = "pub struct Low;\n#[cfg(test)]\nmod tests {\n use crate::High;\n}";
        assert_eq!(reasons(MAP, &lower(tested)), Vec::<String>::new());
    }

    #[test]
    fn methods_stand_on_the_floor_of_their_type() {
        let lower = "pub struct Low;\npub trait Deep {}\nimpl Low {}\n";
        let found = |upper: &str| {
            reasons(
                MAP,
                &[
                    ("crates/a/src/lib.rs", ""),
                    ("crates/a/src/error.rs", ""),
                    ("crates/a/src/lower/mod.rs", lower),
                    ("crates/a/src/lower/more.rs", "use super::Low;\nimpl Low {}\n"),
                    ("crates/a/src/upper.rs", upper),
                ],
            )
        };
        let is_allowed = "use crate::lower::{Deep, Low};\nimpl Deep for Low {}\nstruct High;\nimpl High {}\n";
        assert_eq!(found(is_allowed), Vec::<String>::new());
        let reason = "upstairs methods of Low, which is further down, in lower/mod.rs";
        assert_eq!(
            found("use crate::lower::Low;\nimpl Low {}\n"),
            [format!("crates/a/src/upper.rs:2: {reason}")]
        );
        assert_eq!(found("use crate::lower::Low as Other;\nimpl<'a> Other {}\n").len(), 1);
    }

    #[test]
    fn every_room_has_a_floor_and_every_floor_a_room() {
        let files = [
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/upper.rs", ""),
            ("crates/a/src/other/x.rs", ""),
        ];
        assert_eq!(
            reasons(MAP, &files),
            [
                "crates/a/src/other/x.rs:1: floor `other` has no floor in ARCHITECTURE.md",
                "ARCHITECTURE.md:7: floor there is no crates/a/src/error",
                "ARCHITECTURE.md:7: floor there is no crates/a/src/lower",
            ]
        );
    }

    #[test]
    fn a_circle_of_five_is_found_and_one_of_four_is_not() {
        let files = |count: usize| -> Vec<(String, String)> {
            let next = |number: usize| (number + 1) % count;
            (0..count)
                .map(|number| {
                    let text = format!("pub struct T;\nuse super::m{}::T as Next;\n", next(number));
                    (format!("crates/a/src/m{number}.rs"), text)
                })
                .collect()
        };
        let found = |count| {
            let files = files(count);
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
            reasons("", &files)
        };
        assert_eq!(found(4), Vec::<String>::new());
        assert_eq!(
            found(5),
            ["crates/a:1: circle 5 files need each other: m0.rs, m1.rs, m2.rs, m3.rs, m4.rs"]
        );
    }
}
