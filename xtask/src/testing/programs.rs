//! The test programs: cargo builds them and says where they are.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::cargo;

/// A test program.
pub(super) struct Program {
    /// Package without `ironbark-`, and target: `store all`; `store` for the tests inside the crate.
    pub(super) name: String,
    /// The folder's name: `store`.
    package: String,
    pub(super) executable: PathBuf,
    /// The folder of the package, in which cargo runs tests.
    pub(super) folder: PathBuf,
    /// Whether it has the standard harness. Others run as a whole.
    pub(super) has_harness: bool,
    /// The server under test.
    pub(super) server: Option<PathBuf>,
}

/// Builds all programs, and gives those of these packages; all, if none is named. Always all are built: a part of the
/// workspace would have other features, and be compiled beside.
pub(super) fn build(root: &Path, packages: &[String]) -> Result<Vec<Program>> {
    let output = cargo::command()
        .current_dir(root)
        .args([
            "build",
            "--workspace",
            "--tests",
            "--bins",
            "--locked",
            "--message-format=json-render-diagnostics",
        ])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the tests do not compile");
    let text = String::from_utf8(output.stdout)?;
    let artifacts = || {
        text.lines()
            .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
    };
    let is_server = |artifact: &Artifact| artifact.target.name == SERVER && !artifact.profile.test;
    let server = artifacts().find(is_server).and_then(|server| server.executable);
    let mut programs: Vec<Program> = artifacts().filter_map(|one| program(one, server.as_ref())).collect();
    for name in packages {
        ensure!(
            programs.iter().any(|program| program.package == *name),
            "there are no tests in {name}"
        );
    }
    programs.retain(|program| packages.is_empty() || packages.contains(&program.package));
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

/// Runs the examples in doc comments.
pub(super) fn run_documents(root: &Path) -> Result<bool> {
    let status = cargo::command()
        .current_dir(root)
        .args(["test", "--doc", "--locked", "--workspace", "--quiet"])
        .status()?;
    Ok(status.success())
}

/// What cargo says of a target that it has built.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
    manifest_path: PathBuf,
    profile: Profile,
    target: Target,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

fn program(artifact: Artifact, server: Option<&PathBuf>) -> Option<Program> {
    let executable = artifact.executable.filter(|_| artifact.profile.test)?;
    let folder = artifact.manifest_path.parent()?.to_owned();
    let package = folder.file_name()?.to_str()?.to_owned();
    let target = artifact.target;
    let is_inside = target.kind.iter().any(|kind| kind == "lib");
    let has_harness = !WITHOUT_HARNESS.contains(&target.name.as_str());
    Some(Program {
        package: package.clone(),
        name: if is_inside {
            package
        } else {
            format!("{package} {}", target.name)
        },
        executable,
        folder,
        has_harness,
        server: server.cloned(),
    })
}

const SERVER: &str = "ironbark";
/// Targets with `harness = false`.
const WITHOUT_HARNESS: [&str; 1] = ["detach"];
