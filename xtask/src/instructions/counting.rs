//! Builds the benchmark `instructions` of crate directory, runs it under callgrind and reads the counts.
//!
//! Only the crates on the hot paths are optimized as in a release. Everything else is reused from the build of the
//! tests, so after the tests a count costs the compilation of a few crates. Measurements show that the counts equal
//! those of a release build without link-time optimization.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::figures::Figures;
use crate::cargo;

/// The instructions of each operation of the benchmark.
pub(super) fn count(root: &Path) -> Result<Figures> {
    let tools = tools()?;
    let folder = env::current_exe()?.with_file_name("instructions");
    fs::create_dir_all(&folder)?;
    let counts = folder.join("callgrind.out");
    if counts.exists() {
        fs::remove_file(&counts)?;
    }
    let output = cargo::command()
        .current_dir(root)
        // All packages, so that their dependencies have the same features as in the build of the tests.
        .args(["test", "--locked", "--workspace", "--bench", "instructions"])
        .args(profile())
        .args(["--config", &runner(counts.to_str().context("a path that is no text")?)])
        // Incremental compilation splits a crate into pieces that are optimized separately.
        .env("CARGO_INCREMENTAL", "0")
        .env("GLIBC_TUNABLES", TUNABLES)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the benchmark has failed: {}", output.status);
    let dumps = fs::read_to_string(&counts).with_context(|| format!("no counts in {}", counts.display()))?;
    let names = String::from_utf8(output.stdout)?;
    let operations = operations(&names, &dumps)?;
    println!("What each function takes: callgrind_annotate {}", counts.display());
    Ok(Figures { tools, operations })
}

/// The tools that affect the counts, besides our code.
fn tools() -> Result<String> {
    let version = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        let output = output.with_context(|| format!("{program} is missing; `make deps` installs what is needed"))?;
        ensure!(output.status.success(), "{program} {arguments:?}: {}", output.status);
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let rustc = version("rustc", &["--version"])?;
    let valgrind = version("valgrind", &["--version"])?;
    let libc = version("getconf", &["GNU_LIBC_VERSION"])?;
    Ok(format!("{rustc}, {valgrind}, {libc}, {}", env::consts::ARCH))
}

/// Arguments for cargo that change the profile of the tests.
fn profile() -> Vec<String> {
    let settings = |packages: &[&str], settings: &[&str]| -> Vec<String> {
        let keys = packages.iter().flat_map(|package| {
            let key = move |setting: &&str| format!("profile.dev.package.{package}.{setting}");
            settings.iter().map(key).collect::<Vec<_>>()
        });
        keys.flat_map(|key| ["--config".to_owned(), key]).collect()
    };
    let mut arguments = settings(
        &MEASURED,
        &[
            "opt-level=3",
            "codegen-units=1",
            "debug-assertions=false",
            "overflow-checks=false",
            "debug=false",
        ],
    );
    arguments.extend(settings(&UNMEASURED, &["opt-level=0", "debug=false"]));
    arguments
}

/// The setting of cargo that starts the benchmark under callgrind. At each return from [`COUNTED`], callgrind writes
/// its counts to one file.
fn runner(counts: &str) -> String {
    let words = [
        "valgrind",
        "--quiet",
        "--tool=callgrind",
        "--combine-dumps=yes",
        &format!("--toggle-collect={COUNTED}"),
        &format!("--dump-after={COUNTED}"),
        &format!("--callgrind-out-file={counts}"),
    ];
    format!("target.'cfg(unix)'.runner={words:?}")
}

/// Joins the lines `name times` of the benchmark with callgrind's dumps.
fn operations(names: &str, dumps: &str) -> Result<Vec<(String, u64)>> {
    let (names, dumps): (Vec<&str>, Vec<u64>) = (names.lines().collect(), dump_totals(dumps)?);
    if names.len() != dumps.len() || names.is_empty() {
        bail!(
            "{} operations, and {} times {COUNTED} was left",
            names.len(),
            dumps.len()
        );
    }
    let each = |(line, instructions): (&str, u64)| {
        let (name, times) = line.split_once(' ').with_context(|| format!("no operation: {line}"))?;
        let times: u64 = times.parse().with_context(|| format!("no operation: {line}"))?;
        ensure!(times > 0 && instructions > 0, "{name} did nothing");
        Ok((name.to_owned(), (instructions + times / 2) / times))
    };
    names.into_iter().zip(dumps).map(each).collect()
}

/// The sums of the parts of a callgrind file that were written at the return from the function.
fn dump_totals(text: &str) -> Result<Vec<u64>> {
    let mut totals = Vec::new();
    let mut is_wanted = false;
    for line in text.lines() {
        if let Some(trigger) = line.strip_prefix("desc: Trigger: ") {
            is_wanted = trigger.starts_with("--dump-after=");
        } else if let Some(total) = line.strip_prefix("summary: ").filter(|_| is_wanted) {
            totals.push(total.trim().parse().with_context(|| line.to_owned())?);
        }
    }
    Ok(totals)
}

/// The function whose instructions callgrind collects, in crates/directory/benches/instructions/main.rs. Not all
/// options of callgrind accept a pattern, but all accept this name.
const COUNTED: &str = "instructions::counted_operations";

/// The crates on the hot paths.
const MEASURED: [&str; 10] = [
    "heed",
    "ironbark-ber",
    "ironbark-directory",
    "ironbark-harness",
    "ironbark-ldap-proto",
    "ironbark-model",
    "ironbark-sasl",
    "ironbark-store",
    "lmdb-master-sys",
    "sha1",
];
/// Crates that depend on one of those and so are compiled again. They only prepare data, so a fast build matters most.
const UNMEASURED: [&str; 3] = ["ironbark-config", "ironbark-ldif", "ironbark-load"];

/// glibc's comparisons that need AVX2 take more instructions when an operand lies at the end of a page, which is
/// different in each run.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load";

#[cfg(test)]
mod tests {
    use super::*;

    const DUMPS: &str = "version: 1\npart: 1\n\ndesc: Trigger: --dump-after=a::b\n\nevents: Ir\nsummary: 1001\n\nfn=(1) x\n5 1001\n\
        totals: 1001\n\npart: 2\ndesc: Trigger: --dump-after=a::b\nsummary: 7\n\npart: 3\ndesc: Trigger: Program termination\n\
        summary: 99\n";

    #[test]
    fn each_operation_gets_its_dump_divided_by_its_times() {
        let found = operations("decode 10\nscan 1\n", DUMPS).unwrap();
        assert_eq!(found, [("decode".to_owned(), 100), ("scan".to_owned(), 7)]);
    }

    #[test]
    fn a_benchmark_and_dumps_that_do_not_fit_are_refused() {
        for names in [
            "",
            "decode 10\n",
            "decode 10\nscan 1\nmore 1\n",
            "decode\nscan 1\n",
            "decode 0\nscan 1\n",
        ] {
            assert!(operations(names, DUMPS).is_err(), "{names:?}");
        }
    }
}
