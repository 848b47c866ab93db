//! Calls, crates and macros that are allowed in one place, or nowhere.
//!
//! Matching is by token, so that comments and strings do not count and macro arguments do. clippy's
//! `disallowed-methods` resolves names and so catches renamed imports; this rule adds what clippy cannot express: where
//! something is allowed.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::source::Token;
use super::{Finding, Source, Tree};

struct Ban {
    rule: &'static str,
    /// A path, a macro (`todo!`) or the start of an attribute (`#[ignore`).
    pattern: &'static str,
    /// Files and folders where it is allowed.
    allowed: &'static [&'static str],
    /// True when test code may use it anywhere.
    tests_may: bool,
    reason: &'static str,
}

/// testkit waits for servers in other processes, in this one file.
const CLOCK: &[&str] = &["crates/runtime/", "crates/testkit/src/wait.rs"];
const NETWORK: &[&str] = &[
    "crates/runtime/",
    "crates/backends/",
    "crates/server/",
    "crates/client/",
    "crates/cluster/src/copy/",
    "crates/testkit/",
];
const STORE: &[&str] = &["crates/store/"];
const UNSAFE: &[&str] = &["crates/store/", "crates/tls/src/x509/"];

const NETWORK_REASON: &str =
    "sockets belong to server, backends, client and copies of clusters (plain addresses are in core::net)";
const CLOCK_REASON: &str = "time comes from runtime::Clock";
const KEYED: &[&str] = &["crates/model/src/number_map.rs", "crates/model/tests/"];
const KEYED_REASON: &str = "clients choose keys that collide under a hash without a key: use HashMap and HashSet of std, or \
     NumberMap for numbers of ours";
const UNFINISHED: &str = "unfinished code does not go in";

const BANS: &[Ban] = &[
    Ban {
        rule: "clock",
        pattern: "SystemTime::now",
        allowed: CLOCK,
        tests_may: false,
        reason: CLOCK_REASON,
    },
    Ban {
        rule: "clock",
        pattern: "Instant::now",
        allowed: CLOCK,
        tests_may: false,
        reason: CLOCK_REASON,
    },
    Ban {
        rule: "sleep",
        pattern: "thread::sleep",
        allowed: &["crates/testkit/src/wait.rs"],
        tests_may: false,
        reason: "wait for a condition, not for time",
    },
    Ban {
        rule: "thread",
        pattern: "thread::spawn",
        allowed: &["crates/runtime/"],
        tests_may: false,
        reason: "threads are started by runtime::spawn_named, or scoped",
    },
    Ban {
        rule: "visible-entry",
        pattern: "SearchEntryWriter",
        allowed: &["crates/ldap-proto/", "crates/directory/src/search/encode.rs"],
        tests_may: true,
        reason: "entries are written for clients in one place, which takes a VisibleEntry",
    },
    unkeyed("rustc_hash"),
    unkeyed("fxhash"),
    unkeyed("fnv"),
    unkeyed("hashbrown"),
    unkeyed("DefaultHasher"),
    unkeyed("BuildHasherDefault"),
    unkeyed("NumberHash"),
    unkeyed("NumberHasher"),
    unkeyed("Hasher for"),
    unkeyed("BuildHasher for"),
    Ban {
        rule: "network",
        pattern: "std::net",
        allowed: NETWORK,
        tests_may: true,
        reason: NETWORK_REASON,
    },
    Ban {
        rule: "network",
        pattern: "std::os::unix::net",
        allowed: NETWORK,
        tests_may: true,
        reason: NETWORK_REASON,
    },
    Ban {
        rule: "network",
        pattern: "tokio::net",
        allowed: NETWORK,
        tests_may: true,
        reason: NETWORK_REASON,
    },
    Ban {
        rule: "lmdb",
        pattern: "heed",
        allowed: STORE,
        tests_may: false,
        reason: LMDB_REASON,
    },
    Ban {
        rule: "lmdb",
        pattern: "lmdb",
        allowed: STORE,
        tests_may: false,
        reason: LMDB_REASON,
    },
    Ban {
        rule: "unsafe",
        pattern: "unsafe",
        allowed: UNSAFE,
        tests_may: false,
        reason: "unsafe code is for maps (store) and libcrypto (tls/src/x509)",
    },
    Ban {
        rule: "unfinished",
        pattern: "todo!",
        allowed: &[],
        tests_may: false,
        reason: UNFINISHED,
    },
    Ban {
        rule: "unfinished",
        pattern: "unimplemented!",
        allowed: &[],
        tests_may: false,
        reason: UNFINISHED,
    },
    Ban {
        rule: "unfinished",
        pattern: "dbg!",
        allowed: &[],
        tests_may: false,
        reason: "a leftover of debugging",
    },
    Ban {
        rule: "ignored-test",
        pattern: "#[ignore",
        allowed: &[],
        tests_may: false,
        reason: "a test that does not run proves nothing",
    },
];

const fn unkeyed(pattern: &'static str) -> Ban {
    Ban {
        rule: "unkeyed-hash",
        pattern,
        allowed: KEYED,
        tests_may: false,
        reason: KEYED_REASON,
    }
}

const LMDB_REASON: &str = "only store knows LMDB";

/// Uses of [`BANS`] outside their places, in code and in manifests.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    for source in sources {
        let mut imports = Imports::default();
        imports.visit_file(&source.file);
        for ban in BANS.iter().filter(|ban| !is_allowed(ban, source.path)) {
            let mut lines = BTreeSet::new();
            lines.extend(find(&source.tokens, ban.pattern));
            lines.extend(imports.find(ban.pattern));
            for line in lines
                .into_iter()
                .filter(|line| !(ban.tests_may && source.is_test(*line)))
            {
                let reason = format!("`{}`: {}", ban.pattern, ban.reason);
                findings.push(Finding::new(ban.rule, source.path, line, reason));
            }
        }
    }
    check_manifests(tree, findings);
}

/// A dependency on LMDB would let a crate reach it through a re-export that no token shows.
fn check_manifests(tree: &Tree, findings: &mut Vec<Finding>) {
    for (folder, _, manifest) in tree.crates().filter(|(folder, ..)| *folder != "crates/store") {
        for (index, line) in manifest.lines().enumerate() {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if name == "heed" || name.starts_with("lmdb") || name.starts_with("heed-") {
                findings.push(Finding::new(
                    "lmdb",
                    &format!("{folder}/Cargo.toml"),
                    index + 1,
                    LMDB_REASON,
                ));
            }
        }
    }
}

fn is_allowed(ban: &Ban, path: &str) -> bool {
    ban.allowed.iter().any(|prefix| path.starts_with(prefix))
}

/// The lines on which the pattern's tokens follow each other.
fn find(tokens: &[Token], pattern: &str) -> Vec<usize> {
    let wanted = pattern_tokens(pattern);
    // A single name in lower case is a crate: only `name::` and `use name` refer to it; a variable with that name does
    // not.
    let is_crate = wanted.len() == 1 && pattern != "unsafe" && pattern.starts_with(char::is_lowercase);
    let mut lines = Vec::new();
    for (start, window) in tokens.windows(wanted.len()).enumerate() {
        if !window.iter().zip(&wanted).all(|(token, wanted)| token.text == *wanted) {
            continue;
        }
        let before = start
            .checked_sub(1)
            .and_then(|at| tokens.get(at))
            .map_or("", |token| &token.text);
        let after = tokens.get(start + wanted.len()).map_or("", |token| &token.text);
        let is_path_start =
            before != ":" && after == ":" && tokens.get(start + 2).is_some_and(|token| token.text == ":");
        if !is_crate || is_path_start || matches!(before, "use" | "crate") {
            lines.extend(window.first().map(|token| token.line));
        }
    }
    lines
}

fn pattern_tokens(pattern: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut goes_on = false;
    for character in pattern.chars() {
        let is_word = character.is_alphanumeric() || character == '_';
        match tokens.last_mut() {
            Some(last) if is_word && goes_on => last.push(character),
            _ if character == ' ' => {}
            _ => tokens.push(character.to_string()),
        }
        goes_on = is_word;
    }
    tokens
}

/// The full paths of `use` declarations, with their lines: `use std::{net, io}` says `std::net`.
#[derive(Default)]
struct Imports(Vec<(String, usize)>);

impl Imports {
    fn find(&self, pattern: &str) -> impl Iterator<Item = usize> {
        let inside = format!("{pattern}::");
        self.0
            .iter()
            .filter(move |(path, _)| path == pattern || path.starts_with(&inside))
            .map(|(_, line)| *line)
            .filter(move |_| pattern.contains("::"))
    }

    fn collect(&mut self, prefix: &str, tree: &syn::UseTree) {
        let mut leaf = |ident: &syn::Ident| self.0.push((format!("{prefix}{ident}"), ident.span().start().line));
        match tree {
            syn::UseTree::Path(path) => self.collect(&format!("{prefix}{}::", path.ident), &path.tree),
            syn::UseTree::Name(name) => leaf(&name.ident),
            syn::UseTree::Rename(rename) => leaf(&rename.ident),
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans.first().map_or(1, |span| span.start().line);
                self.0.push((prefix.trim_end_matches("::").to_owned(), line));
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.collect(prefix, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.collect("", &item.tree);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    /// The rules that one line of code in a file of crate `model` breaks.
    fn rules(code: &str) -> Vec<String> {
        rules_in("crates/model/src/a.rs", code)
    }

    fn rules_in(path: &str, code: &str) -> Vec<String> {
        let findings = found(&[(path, &format!("//! A.\n{code}\n"))]);
        findings
            .iter()
            .map(|finding| finding.rsplit(' ').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn each_ban_catches_its_example() {
        for (code, rule) in [
            ("fn f() { std::time::SystemTime::now(); }", "clock"),
            ("fn f() { Instant::now(); }", "clock"),
            ("fn f() { std::thread::sleep(d); }", "sleep"),
            ("fn f() { thread::spawn(g); }", "thread"),
            ("use std::net::TcpStream;", "network"),
            ("use std::{io, net::{TcpListener, *}};", "network"),
            ("use std::os::unix::{fs, net::UnixStream};", "network"),
            ("fn f() { tokio::net::TcpStream::connect(a); }", "network"),
            ("use heed::Env;", "lmdb"),
            ("fn f() { heed::types::Bytes; }", "lmdb"),
            ("fn f() { unsafe { g() } }", "unsafe"),
            ("use rustc_hash::FxHashMap;", "unkeyed-hash"),
            (
                "type A = HashMap<u8, u8, hashbrown::DefaultHashBuilder>;",
                "unkeyed-hash",
            ),
            ("fn f() { DefaultHasher::new(); }", "unkeyed-hash"),
            ("type A = HashMap<String, u8, BuildHasherDefault<B>>;", "unkeyed-hash"),
            ("type A = HashMap<String, u8, NumberHash>;", "unkeyed-hash"),
            ("impl std::hash::Hasher for A {}", "unkeyed-hash"),
            ("fn f() { todo!() }", "unfinished"),
            ("fn f() { assert!(unimplemented!()) }", "unfinished"),
            ("fn f() { dbg!(x); }", "unfinished"),
            ("#[ignore = \"slow\"] fn f() {}", "ignored-test"),
        ] {
            assert_eq!(rules(code), [rule], "{code}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        for code in [
            "// Instant::now() would not repeat.",
            "const A: &str = \"thread::sleep unsafe todo!\";",
            "#![forbid(unsafe_code)]",
            "use core::net::IpAddr;",
            "fn f(heed: u8) -> u8 { heed }",
            "fn now() { clock.now(); Clock::now(); }",
            "mod unsafe_list {}",
            "impl Hash for A { fn hash<H: Hasher>(&self, state: &mut H) {} }",
            "use ironbark_model::number_map::NumberMap;",
        ] {
            assert_eq!(rules(code), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn each_thing_has_its_place() {
        for (path, code) in [
            (
                "crates/runtime/src/a.rs",
                "fn f() { Instant::now(); thread::spawn(g); }",
            ),
            ("crates/testkit/src/wait.rs", "fn f() { thread::sleep(d); }"),
            ("crates/server/src/a.rs", "use tokio::net::TcpListener;"),
            ("crates/store/src/a.rs", "use heed::Env; fn f() { unsafe { g() } }"),
            ("crates/acceptance/tests/a.rs", "use std::net::TcpStream;"),
        ] {
            assert_eq!(rules_in(path, code), Vec::<String>::new(), "{path}");
        }
        assert_eq!(
            rules_in("crates/acceptance/tests/a.rs", "fn f() { thread::sleep(d); }"),
            ["sleep"]
        );
    }

    #[test]
    fn a_manifest_may_not_name_lmdb_outside_store() {
        let manifest = "[lints]\nworkspace = true\n[dependencies]\nheed.workspace = true\nheedless = \"1\"\n";
        let table = "## Code map\n| `store` | - |\n| `model` | - |\n";
        let files = [
            ("crates/model/Cargo.toml", manifest),
            ("crates/store/Cargo.toml", manifest),
            ("ARCHITECTURE.md", table),
        ];
        let findings = found(&files);
        assert!(
            findings.contains(&"crates/model/Cargo.toml:4: lmdb".to_owned()),
            "{findings:?}"
        );
        assert_eq!(findings.iter().filter(|finding| finding.ends_with(": lmdb")).count(), 1);
    }
}
