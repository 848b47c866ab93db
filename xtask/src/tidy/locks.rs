//! Locks on which a thread may wait: each one is declared in a type, a static or an alias, and has a row in the table
//! of docs/internals/locks.md.
//!
//! A row has the file below `crates/`, the name of the lock (`Type::field`, or the name of the static or alias),
//! whether a reactor takes it (`yes` or `no`), and what is done while it is held. For a lock that a reactor takes, the
//! last cell begins with one of [`HARMLESS`].

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::{Finding, Source, Tree};

const TABLE: &str = "docs/internals/locks.md";

/// Types of std, and of crates with the same names, on which a thread waits.
const LOCKS: &[&str] = &["Mutex", "RwLock", "Condvar", "Barrier", "OnceLock", "LazyLock", "Once"];

/// Crates that no reactor runs.
const ELSEWHERE: &[&str] = &["crates/acceptance", "crates/load", "crates/simulator", "crates/testkit"];

/// What may be done while a lock is held that a reactor takes: short work in memory; no other thread has the lock at
/// the same time; others only try it.
const HARMLESS: &[&str] = &["memory", "alone", "tried"];

type Key<'a> = (&'a str, String);

/// Locks without a row, rows without a lock, and locks that a reactor takes and others hold for long.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    let mut rows = read_table(tree.file(TABLE).unwrap_or_default(), findings);
    for source in sources {
        let Some(file) = source.path.strip_prefix("crates/") else {
            continue;
        };
        if ELSEWHERE.contains(&source.crate_folder()) {
            continue;
        }
        let mut declared = Declared::default();
        declared.visit_file(&source.file);
        for (name, line) in declared.locks {
            if rows.remove(&(file, name.clone())).is_none() && !source.is_test(line) {
                let reason = format!("the lock {name} has no row in {TABLE}");
                findings.push(Finding::new("locks", source.path, line, reason));
            }
        }
    }
    for ((file, name), line) in rows {
        let reason = format!("{file} declares no lock {name}");
        findings.push(Finding::new("locks", TABLE, line, reason));
    }
}

/// The line of each row.
fn read_table<'a>(text: &'a str, findings: &mut Vec<Finding>) -> BTreeMap<Key<'a>, usize> {
    let mut rows = BTreeMap::new();
    let lines = text.lines().zip(1..).filter(|(row, _)| row.starts_with("| `"));
    for (row, line) in lines {
        let mut push = |reason: String| findings.push(Finding::new("locks", TABLE, line, reason));
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, file, name, reactor, held, _] = cells[..] else {
            push("a row is: file, lock, whether a reactor takes it, what is done meanwhile".to_owned());
            continue;
        };
        match reactor {
            "no" => {}
            "yes" if HARMLESS.iter().any(|word| held.starts_with(word)) => {}
            "yes" => push(format!(
                "a reactor takes {name}: it may be held for short work in memory alone ({})",
                HARMLESS.join(", ")
            )),
            _ => push(format!("whether a reactor takes {name} is yes or no")),
        }
        if rows.insert((file, name.to_owned()), line).is_some() {
            push(format!("{name} of {file} has two rows"));
        }
    }
    rows
}

/// The locks of a file, with their lines.
#[derive(Default)]
struct Declared {
    locks: Vec<(String, usize)>,
    /// The type whose fields are visited.
    owner: String,
}

impl Declared {
    fn declare(&mut self, name: &str, ty: &syn::Type, line: usize) {
        let mut found = HasLock(false);
        found.visit_type(ty);
        if found.0 {
            self.locks.push((name.to_owned(), line));
        }
    }

    fn declare_fields(&mut self, fields: &syn::Fields) {
        for (number, field) in fields.iter().enumerate() {
            let part = field.ident.as_ref().map_or(number.to_string(), ToString::to_string);
            let line = syn::spanned::Spanned::span(&field.ty).start().line;
            self.declare(&format!("{}::{part}", self.owner.clone()), &field.ty, line);
        }
    }
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.owner = item.ident.to_string();
        self.declare_fields(&item.fields);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        for variant in &item.variants {
            self.owner = format!("{}::{}", item.ident, variant.ident);
            self.declare_fields(&variant.fields);
        }
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.declare(&item.ident.to_string(), &item.ty, item.ident.span().start().line);
        visit::visit_item_static(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declare(&item.ident.to_string(), &item.ty, item.ident.span().start().line);
    }
}

/// Whether a type has a lock in it. Those of tokio let a task wait, not its thread.
struct HasLock(bool);

impl<'ast> Visit<'ast> for HasLock {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let is_tokio = path.segments.first().is_some_and(|first| first.ident == "tokio");
        let last = path.segments.last().map(|last| last.ident.to_string());
        self.0 |= !is_tokio && last.is_some_and(|last| LOCKS.contains(&last.as_str()));
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::TABLE;

    fn check(code: &str, rows: &str) -> Vec<String> {
        let code = format!("//! A.\n{code}\n");
        found(&[("crates/server/src/a.rs", &code), (TABLE, rows)])
    }

    const LOCK: &str = "struct A {\n    b: Arc<Mutex<u8>>,\n}";

    #[test]
    fn each_lock_has_a_row() {
        for (code, line) in [
            (LOCK, 3),
            ("struct A(std::sync::RwLock<u8>);", 2),
            ("enum A { B { c: parking_lot::Condvar } }", 2),
            ("fn f() {\n    static A: LazyLock<u8> = LazyLock::new(g);\n}", 3),
            ("type A = OnceLock<u8>;", 2),
        ] {
            assert_eq!(
                check(code, ""),
                [format!("crates/server/src/a.rs:{line}: locks")],
                "{code}"
            );
        }
        for code in [
            "struct A(tokio::sync::Mutex<u8>);",
            "struct A(MutexGuard<'static, u8>, Once2);",
            "#[cfg(test)]\nmod tests {\n    struct A(Mutex<u8>);\n}",
            "fn f(a: &Mutex<u8>) {}",
        ] {
            assert_eq!(check(code, ""), Vec::<String>::new(), "{code}");
        }
        let tests = [("crates/testkit/src/a.rs", "//! A.\nstruct A(Mutex<u8>);\n")];
        assert_eq!(found(&tests), Vec::<String>::new());
    }

    #[test]
    fn what_a_reactor_takes_is_held_for_short_work_alone() {
        for row in ["yes | memory |", "yes | tried: others go on |", "no | the disk |"] {
            assert_eq!(
                check(LOCK, &format!("| `server/src/a.rs` | `A::b` | {row}\n")),
                Vec::<String>::new()
            );
        }
        for row in ["yes | the disk |", "perhaps | memory |"] {
            let found = check(LOCK, &format!("| `server/src/a.rs` | `A::b` | {row}\n"));
            assert_eq!(found, [format!("{TABLE}:1: locks")]);
        }
    }

    #[test]
    fn each_row_has_a_lock() {
        let row = "| `server/src/a.rs` | `A::b` | no | memory |\n";
        assert_eq!(check("", row), [format!("{TABLE}:1: locks")]);
        assert_eq!(check(LOCK, &format!("{row}{row}")), [format!("{TABLE}:2: locks")]);
        let short = check(LOCK, "| `server/src/a.rs` | `A::b` |\n");
        assert_eq!(short, ["crates/server/src/a.rs:3: locks", &format!("{TABLE}:1: locks")]);
    }
}
