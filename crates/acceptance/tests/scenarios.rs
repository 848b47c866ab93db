//! The scenarios of `tests/scenarios`: text files with a configuration, commands, and slapd's answers. The testkit says
//! how they are written. `IRONBARK_SCENARIO` names some of them; `make record` writes the answers of a new one.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use ironbark_testkit::{Flavor, Oracle, Script, difference, repository_root};

/// All `.txt` files below a folder.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(scenarios(&path));
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What is wrong with our answers in a scenario.
fn problem(folder: &Path, file: &Path) -> Option<String> {
    let name = file.display();
    let script = match Script::parse(&fs::read_to_string(file).unwrap()) {
        Ok(script) => script,
        Err(reason) => return Some(format!("{name}: {reason}")),
    };
    let answers = |flavor| Ok(script.answered_by(flavor, folder)?.to_string());
    let oracle = Oracle::of_environment();
    let reference = match script.ours {
        Some(_) => Flavor::Ironbark,
        None => Flavor::OpenLdap,
    };
    let theirs = oracle.and_then(|oracle| oracle.answer(file, || answers(reference)));
    match (theirs, answers(Flavor::Ironbark)) {
        (Err(error), _) | (_, Err(error)) => Some(format!("{name}: {error}")),
        (Ok(theirs), Ok(ours)) if theirs != ours => {
            Some(format!("{name}:\n{}", difference("written", &theirs, "ours", &ours)))
        }
        _ => None,
    }
}

#[test]
fn every_scenario_has_the_answers_of_slapd() {
    let wanted = std::env::var("IRONBARK_SCENARIO").unwrap_or_default();
    let folder = repository_root().join("crates/acceptance/tests/scenarios");
    let mut all = scenarios(&folder);
    all.retain(|file| file.display().to_string().contains(&wanted));
    assert!(!all.is_empty(), "there is no scenario {wanted}");
    let all = Mutex::new(all.into_iter());
    let problems = Mutex::new(Vec::new());
    let next = || all.lock().unwrap().next();
    let work = || {
        while let Some(file) = next() {
            let found = problem(&folder, &file);
            problems.lock().unwrap().extend(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
