//! The first start: certificate, configuration, schemas, entries, and last the state, which says that all is there.

use std::{collections::BTreeMap, ffi::OsString, fs, io::Cursor, path::Path, process::ExitCode};

use ironbark_config::olc::Folder;
use ironbark_overlays::registry;
use ironbark_runtime::{Clock, Randomness};
use ironbark_server::stamp;

use super::{
    checks, cluster,
    configuration::{self, Phase, Source, Words},
    entries,
    layout::{failed, write_whole},
    loading::{self, Loader},
    merge::{self, Wish},
    schema,
    settings::Secret,
    starting::{Start, tell, warn},
    state::State,
    variables,
};
use crate::commands::{
    init::{self, certificate},
    slapadd,
};

/// Makes the directory.
///
/// # Errors
/// The reason; the next start begins anew.
pub(super) fn make(start: &Start) -> Result<(), String> {
    let layout = &start.layout;
    if layout.beginning.exists() {
        tell("the first start was interrupted; it begins anew");
        layout.clear()?;
    }
    for warning in checks::missing_places(&start.given) {
        warn(&warning);
    }
    layout.make_folders()?;
    write_whole(&layout.beginning, b"")?;
    make_certificate(start)?;
    let hashes = hashes(start)?;
    let words = words(start, &hashes);
    let (named, unknown) = schema_files(start)?;
    let source = Source {
        settings: &start.settings,
        facts: &start.facts,
        layout,
        words: &words,
        schema_files: &named,
    };
    let (configured, mut tree) = configuration::load(&source, Phase::Making)?;
    tree.root.set(
        "olcConfigDir",
        vec![layout.config.as_os_str().as_encoded_bytes().to_vec()],
    );
    stamp(&mut tree, &configured.schema).map_err(|error| error.to_string())?;
    let folder = Folder::new(&layout.config, &registry());
    if let Some(error) = folder.write(None, &tree).map_err(|error| error.to_string())? {
        return Err(error.to_string());
    }
    // The tools that load entries write to it next.
    drop(folder);
    let joins = cluster::joins(start, &configured.schema)?;
    // What the settings ask for in the end must be valid before entries are loaded, which may take long.
    let (_, wanted) = configuration::load(&source, Phase::Serving)?;
    load(start, &words, &unknown, joins)?;
    let wish = Wish {
        former: &tree,
        wanted: &wanted,
        real: &wanted,
    };
    merge::apply(&wish, layout)?;
    sync(start)?;
    let state = State::of(start.image, &start.given, &start.facts, &mut |name, _| {
        hashes.get(name).cloned().ok_or_else(|| format!("{name} has no hash"))
    })?;
    state.write(&layout.state)?;
    fs::remove_file(&layout.beginning).map_err(failed(&layout.beginning))?;
    tell("the directory is made");
    Ok(())
}

/// Hashes of all secrets, by the names of their variables.
fn hashes(start: &Start) -> Result<BTreeMap<&'static str, String>, String> {
    let randomness = Randomness::system();
    let secrets = variables::all().filter(|row| row.is_secret);
    let given = secrets.filter_map(|row| Some((row.name, start.given.value(row.name)?)));
    given
        .map(|(name, value)| Ok((name, init::hash(value.as_bytes(), &randomness)?)))
        .collect()
}

/// Secrets for the configuration.
pub(super) fn words(start: &Start, hashes: &BTreeMap<&'static str, String>) -> Words {
    let clear = hashes
        .keys()
        .filter_map(|name| Some((*name, start.given.value(name)?.to_owned())));
    Words {
        clear: clear.collect(),
        hashed: hashes.clone(),
    }
}

/// Makes a certificate for this host, unless an earlier start has.
pub(super) fn make_certificate(start: &Start) -> Result<(), String> {
    let key = start.layout.tls.join("server.key");
    if !start.facts.has_made_certificate || key.exists() {
        return Ok(());
    }
    let names: Vec<String> = start.given.value("HOSTNAME").map(str::to_owned).into_iter().collect();
    let made = certificate::make(&names, &Clock::system())?;
    for (name, text) in [
        ("ca.crt", &made.authority),
        ("server.crt", &made.certificate),
        // The last one: with it all are there.
        ("server.key", &made.key),
    ] {
        write_whole(&start.layout.tls.join(name), text.as_bytes())?;
    }
    tell(&format!(
        "a certificate was made; clients trust {}",
        start.layout.tls.join("ca.crt").display()
    ));
    Ok(())
}

/// Schema files in slapd.conf's form, and names of schemas that the other image's folder must have as LDIF.
fn schema_files(start: &Start) -> Result<(Vec<String>, Vec<String>), String> {
    let mut files = Vec::new();
    for place in &start.settings.schema_places {
        for path in loading::files(place, "schema")? {
            let text = path.to_str().map(str::to_owned);
            files.push(text.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))?);
        }
    }
    let unknown = start.settings.schemas.iter().filter(|name| !schema::is_known(name));
    Ok((files, unknown.cloned().collect()))
}

/// Where bitnami's image has further schemas.
const EXTRA_SCHEMAS: &str = "/opt/bitnami/openldap/etc/schema";

/// Loads schemas and entries.
fn load(start: &Start, words: &Words, unknown: &[String], joins: bool) -> Result<(), String> {
    let settings = &start.settings;
    let number = start.facts.number;
    let loader = Loader {
        layout: &start.layout,
        suffix: &settings.suffix,
        placeholders: &settings.placeholders,
        leaves_entries: joins || (settings.replication.is_some() && number != Some(1)),
        server_id: number.unwrap_or(0),
        stop: &start.stop,
    };
    for name in unknown {
        let path = Path::new(EXTRA_SCHEMAS).join(format!("{name}.ldif"));
        if loader.place(&path)? == 0 {
            let known = schema::names().join(", ");
            return Err(format!(
                "LDAP_EXTRA_SCHEMAS: {name} is none of {known}, and {} does not exist",
                path.display()
            ));
        }
    }
    for place in &settings.schema_places {
        loader.place(place)?;
    }
    import(start, &loader)?;
    let mut has_files = false;
    for place in &settings.ldif_places {
        has_files |= !loading::files(place, "ldif")?.is_empty();
    }
    // bitnami's image takes the files in place of its tree, osixia's in addition to it.
    if settings.import.is_none() && !(has_files && settings.placeholders.is_empty()) {
        make_entries(start, words, &loader)?;
    }
    for place in &settings.ldif_places {
        loader.place(place)?;
    }
    Ok(())
}

fn make_entries(start: &Start, words: &Words, loader: &Loader<'_>) -> Result<(), String> {
    let hash = |password: &str| init::hash(password.as_bytes(), &Randomness::system());
    let passwords = start.given.value("LDAP_PASSWORDS").unwrap_or_default();
    let passwords = passwords
        .split([',', ';', ' '])
        .filter(|word| !word.is_empty())
        .map(str::to_owned);
    let reader = start.settings.reader.as_ref().and_then(|reader| {
        let Secret(name) = reader.password;
        words.hashed.get(name).map(String::as_str)
    });
    let text = entries::ldif(&start.settings, &passwords.collect::<Vec<_>>(), reader, &hash)?;
    loader.records(Box::new(Cursor::new(text)), false)
}

/// `IRONBARK_IMPORT`.
fn import(start: &Start, loader: &Loader<'_>) -> Result<(), String> {
    let Some(file) = start.settings.import.as_ref().filter(|_| !loader.leaves_entries) else {
        return Ok(());
    };
    tell(&format!("{} is being loaded", file.display()));
    let words: [OsString; 8] = [
        "slapadd".into(),
        "-q".into(),
        "-F".into(),
        start.layout.config.clone().into(),
        "-b".into(),
        start.settings.suffix.clone().into(),
        "-l".into(),
        file.into(),
    ];
    if slapadd::run(words.to_vec()) == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err(format!("IRONBARK_IMPORT={}: not loaded", file.display()))
    }
}

/// The loaders do not wait for the disk.
fn sync(start: &Start) -> Result<(), String> {
    for folder in [&start.layout.database, &start.layout.access_log] {
        let path = folder.join("data.mdb");
        if path.exists() {
            fs::File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(failed(&path))?;
            fs::File::open(folder)
                .and_then(|file| file.sync_all())
                .map_err(failed(folder))?;
        }
    }
    Ok(())
}
