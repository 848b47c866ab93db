//! `cargo xtask quick`: format, rules of the house and lints of the whole repository, and the tests of what has
//! changed.
//!
//! Changed is what differs from the last commit, or, in a clean tree, what that commit changed. Of a crate that has
//! changed all its tests are run; of `acceptance`, which takes minutes, only those in files that have changed. Crates
//! that depend on a changed one are built and linted, and tested by `make test` alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{cargo, testing, tidy};

/// Runs everything, also behind a failure. Returns whether all is well.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let changed = Changed::of(&changed_paths(root)?);
    let mut failed = Vec::new();
    let mut step = |name: &'static str, passed: bool| {
        println!("{name}: {}", if passed { "well" } else { "FAILED" });
        if !passed {
            failed.push(name);
        }
    };
    step("format", is_well(root, &["fmt", "--all", "--check"])?);
    let report = tidy::check(&tidy::Tree::load(root)?);
    print!("{report}");
    step("rules of the house", report.is_clean());
    let lints = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "--deny",
        "warnings",
    ];
    step("lints", is_well(root, &lints)?);
    if !changed.packages.is_empty() {
        let options = testing::Options {
            packages: changed.packages.into_iter().collect(),
            ..testing::Options::default()
        };
        step("tests", testing::run(root, &options)?);
    }
    if !changed.acceptance.is_empty() {
        let options = testing::Options {
            packages: vec![ACCEPTANCE.to_owned()],
            filters: changed.acceptance.into_iter().collect(),
            ..testing::Options::default()
        };
        step("acceptance", testing::run(root, &options)?);
    }
    Ok(failed.is_empty())
}

fn is_well(root: &Path, arguments: &[&str]) -> Result<bool> {
    let status = cargo::command().current_dir(root).args(arguments).status()?;
    Ok(status.success())
}

fn changed_paths(root: &Path) -> Result<Vec<String>> {
    let differing = git(
        root,
        &["status", "--porcelain", "--no-renames", "--untracked-files=all"],
    )?;
    if differing.is_empty() {
        return git(root, &["show", "--format=", "--name-only", "--no-renames", "HEAD"]);
    }
    // Two letters and a blank stand before each path.
    Ok(differing
        .iter()
        .filter_map(|line| line.get(3..))
        .map(str::to_owned)
        .collect())
}

fn git(root: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(arguments)
        .output()
        .context("git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// What is to be tested.
#[derive(Debug, Default, PartialEq)]
struct Changed {
    /// Folders of crates, without `acceptance`.
    packages: BTreeSet<String>,
    /// Parts of the names of tests in `acceptance`.
    acceptance: BTreeSet<String>,
}

impl Changed {
    fn of(paths: &[String]) -> Self {
        let mut changed = Self::default();
        for path in paths {
            if let Some(inside) = path.strip_prefix("crates/acceptance/tests/") {
                changed.acceptance.extend(tests_in(inside));
            } else if let Some((package, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) {
                changed.packages.insert(package.to_owned());
            } else if path.starts_with("xtask/") {
                changed.packages.insert("xtask".to_owned());
            }
        }
        changed.packages.remove(ACCEPTANCE);
        changed
    }
}

/// The name that tests in a file of `acceptance/tests` have in common; `None`: it has none, as what they share.
fn tests_in(path: &str) -> Option<String> {
    let (folder, _) = path.split_once('/').unwrap_or(("", path));
    match folder {
        SHARED => None,
        SCENARIOS => Some("scenarios::".to_owned()),
        _ => {
            let module = path.strip_suffix(".rs")?;
            let module = module.strip_suffix("/mod").unwrap_or(module);
            (module != "all").then(|| format!("{}::", module.replace('/', "::")))
        }
    }
}

const ACCEPTANCE: &str = "acceptance";
const SHARED: &str = "common";
const SCENARIOS: &str = "scenarios";

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(paths: &[&str]) -> Changed {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Changed::of(&paths)
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_changed_crate_is_tested_and_of_acceptance_the_changed_files() {
        let found = changed(&[
            "README.md",
            "crates/store/src/lib.rs",
            "crates/store/Cargo.toml",
            "xtask/src/main.rs",
            "crates/acceptance/Cargo.toml",
            "crates/acceptance/tests/all.rs",
            "crates/acceptance/tests/daemon.rs",
            "crates/acceptance/tests/access/forms.rs",
            "crates/acceptance/tests/access/mod.rs",
            "crates/acceptance/tests/common/mod.rs",
            "crates/acceptance/tests/scenarios/add/names.txt",
        ]);
        assert_eq!(found.packages, names(&["store", "xtask"]));
        let filters = ["access::", "access::forms::", "daemon::", "scenarios::"];
        assert_eq!(found.acceptance, names(&filters));
    }

    #[test]
    fn pages_alone_need_no_test() {
        assert_eq!(changed(&["docs/load.md", "CHANGELOG.md"]), Changed::default());
    }
}
