//! A later start: variables that have changed since the last one change cn=config, and nothing else does.

use std::{collections::BTreeMap, fs};

use ironbark_runtime::Randomness;

use super::{
    configuration::{self, Phase, Source, Words},
    first_start::{make_certificate, words},
    layout::failed,
    merge::{self, Wish},
    settings::Settings,
    starting::{Start, tell, warn},
    state::State,
    variables::{self, Fate},
};
use crate::commands::init;

/// Applies what has changed since the start that `state` describes.
///
/// # Errors
/// A variable that cannot change, or a configuration that is refused. Nothing is changed then.
pub(super) fn apply(start: &Start, state: &State) -> Result<(), String> {
    let layout = &start.layout;
    if layout.beginning.exists() {
        // Only its removal was missing.
        fs::remove_file(&layout.beginning).map_err(failed(&layout.beginning))?;
    }
    layout.make_folders()?;
    make_certificate(start)?;
    if state.image != start.image {
        return Err(format!(
            "the directory was made with the variables of {}/openldap, and those of {}/openldap are given",
            state.image.name(),
            start.image.name()
        ));
    }
    let changed: Vec<_> = variables::all()
        .filter(|row| state.differs(row.name, start.given.value(row.name)))
        .collect();
    if changed.is_empty() && state.facts == start.facts {
        return Ok(());
    }
    for row in &changed {
        match row.fate {
            Fate::Fixed => return Err(fixed(row.name, state, start)),
            Fate::First => warn(&format!(
                "{} has another value, which only a first start obeys",
                row.name
            )),
            Fate::Obeyed | Fate::Ignored | Fate::Refused => {}
        }
    }
    let is_changed = |name: &str| changed.iter().any(|row| row.name == name);
    let hashes = hashes(start, state, &is_changed)?;
    for text in merge(start, state, &hashes, &is_changed)? {
        tell(&format!("changed {text}"));
    }
    let new = State::of(start.image, &start.given, &start.facts, &mut |name, _| {
        hashes.get(name).cloned().ok_or_else(|| format!("{name} has no hash"))
    })?;
    new.write(&layout.state)
}

fn fixed(name: &str, state: &State, start: &Start) -> String {
    let shown = |value: Option<&str>| value.map_or_else(|| "not set".to_owned(), |value| format!("{value:?}"));
    format!(
        "{name} was {} when the directory was made, and is {} now: give it its value again, or an empty volume",
        shown(state.plain.get(name).map(String::as_str)),
        shown(start.given.value(name))
    )
}

/// Hashes of all secrets: new ones of those that have changed.
fn hashes(
    start: &Start,
    state: &State,
    is_changed: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<&'static str, String>, String> {
    let randomness = Randomness::system();
    let mut hashes = BTreeMap::new();
    for row in variables::all().filter(|row| row.is_secret) {
        let Some(value) = start.given.value(row.name) else {
            continue;
        };
        let hash = match state.hashes.get(row.name).filter(|_| !is_changed(row.name)) {
            Some(known) => known.clone(),
            None => init::hash(value.as_bytes(), &randomness)?,
        };
        hashes.insert(row.name, hash);
    }
    Ok(hashes)
}

fn merge(
    start: &Start,
    state: &State,
    hashes: &BTreeMap<&'static str, String>,
    is_changed: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, String> {
    let former = Settings::new(state.image, &state.given(), &state.facts)?;
    let placed = |word: &dyn Fn(&str) -> String| {
        let secrets = variables::all().filter(|row| row.is_secret);
        let all: BTreeMap<&'static str, String> = secrets.map(|row| (row.name, word(row.name))).collect();
        Words {
            hashed: all.clone(),
            clear: all,
        }
    };
    let (was, wants) = (
        placed(&|_| "former".to_owned()),
        placed(&|name| if is_changed(name) { "new" } else { "former" }.to_owned()),
    );
    let tree = |settings: &Settings, facts: &_, words: &Words| {
        let source = Source {
            settings,
            facts,
            layout: &start.layout,
            words,
            schema_files: &[],
        };
        configuration::load(&source, Phase::Serving).map(|(_, tree)| tree)
    };
    let wish = Wish {
        former: &tree(&former, &state.facts, &was)?,
        wanted: &tree(&start.settings, &start.facts, &wants)?,
        real: &tree(&start.settings, &start.facts, &words(start, hashes))?,
    };
    merge::apply(&wish, &start.layout)
}
