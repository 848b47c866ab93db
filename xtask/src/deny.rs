//! Licences, sources and bans of all dependencies, as deny.toml sets them: the part of cargo-deny that needs neither
//! network nor another tool.

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The parts of deny.toml that are checked here.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
struct Sources {
    #[serde(rename = "allow-registry")]
    registries: Vec<String>,
}

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None`: a crate of this workspace.
    source: Option<String>,
}

/// Checks the dependencies of the workspace and prints breaches of rules. Returns whether there are none.
///
/// # Errors
/// deny.toml cannot be read, or Cargo gives no metadata.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let text = std::fs::read_to_string(root.join("deny.toml")).context("deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("deny.toml")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let output = command.current_dir(root).output().context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let foreign: Vec<&Package> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some())
        .collect();
    let findings: Vec<String> = foreign.iter().flat_map(|package| breaches(&rules, package)).collect();
    for finding in &findings {
        println!("deny: {finding}");
    }
    println!("deny: {} dependencies, {} findings", foreign.len(), findings.len());
    Ok(findings.is_empty())
}

fn breaches(rules: &Rules, package: &Package) -> Vec<String> {
    let mut found = Vec::new();
    let who = format!("{} {}", package.name, package.version);
    let license = package.license.as_deref().unwrap_or_default();
    if !is_allowed(license, &rules.licenses.allow) {
        found.push(format!(
            "{who}: its licence, {license:?}, is not among those of deny.toml"
        ));
    }
    if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == package.name) {
        found.push(format!("{who} is banned: {}", ban.reason));
    }
    let source = package.source.as_deref().unwrap_or_default();
    let registry = source.strip_prefix("registry+").or(source.strip_prefix("sparse+"));
    if !registry.is_some_and(|registry| rules.sources.registries.iter().any(|known| known == registry)) {
        found.push(format!(
            "{who}: its source, {source:?}, is not among those of deny.toml"
        ));
    }
    found
}

/// Whether an SPDX expression can be satisfied by allowed licences. An exception grants more rights and removes none.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX);
    let is_listed = |license: &spdx::LicenseReq| license.license.id().is_some_and(|id| allowed.contains(id.name));
    expression.is_ok_and(|expression| expression.evaluate(is_listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_satisfied_as_spdx_says() {
        let allowed = BTreeSet::from(["MIT", "ISC"].map(str::to_owned));
        for (expression, is) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 OR MIT AND ISC", true),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("GPL-3.0 WITH Classpath-exception-2.0 OR ISC", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR ISC) AND GPL-3.0", false),
            ("GPL-3.0", false),
            ("(MIT", false),
            ("MIT ISC", false),
            ("MIT WITH", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), is, "{expression}");
        }
    }

    #[test]
    fn a_package_must_keep_every_rule() {
        let rules: Rules = toml::from_str(
            "[licenses]\nallow = ['MIT']\n[bans]\ndeny = [{ crate = 'bad', reason = 'why' }]\n[sources]\nallow-registry = ['https://r']\n",
        )
        .unwrap();
        let package = |name: &str, license: Option<&str>, source: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: Some(source.to_owned()),
        };
        let count = |package: &Package| breaches(&rules, package).len();
        assert_eq!(count(&package("good", Some("MIT"), "registry+https://r")), 0);
        assert_eq!(count(&package("bad", None, "git+https://r")), 3);
    }
}
