//! `contextCSN`: the greatest CSN of each server in a database. It is stored in the context vector if there is one,
//! otherwise in the suffix entry (`-w`).

use std::{collections::BTreeMap, ops::ControlFlow};

use ironbark_directory::open;
use ironbark_ldap_proto::tool;
use ironbark_model::Dn;
use ironbark_store::{ChangeRecord, ContextVector, Csn, Effect, Location, StoreError, ValueChange, View};

use super::{chosen::Chosen, running::RunningServer};

/// The server that a CSN names.
pub(crate) fn sid_of(csn: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(csn).ok()?;
    u16::from_str_radix(text.split('#').nth(2)?, 16).ok()
}

/// The greatest CSN of each server.
#[derive(Debug, Default)]
pub(crate) struct ContextCsns(BTreeMap<u16, String>);

impl ContextCsns {
    pub(crate) fn add(&mut self, csn: &[u8]) {
        let (Some(sid), Ok(text)) = (sid_of(csn), std::str::from_utf8(csn)) else {
            return;
        };
        match self.0.get_mut(&sid) {
            Some(greatest) if greatest.as_str() >= text => {}
            Some(greatest) => text.clone_into(greatest),
            None => drop(self.0.insert(sid, text.to_owned())),
        }
    }

    fn parsed(&self) -> impl Iterator<Item = Csn> {
        self.0.values().filter_map(|text| Csn::parse(text.as_bytes()))
    }

    /// In the order of the servers.
    pub(crate) fn values(&self) -> Vec<Vec<u8>> {
        self.0.values().map(|csn| csn.clone().into_bytes()).collect()
    }
}

/// `-w`: the greatest CSN of each server becomes the `contextCSN` of the database.
pub(crate) fn write(chosen: &Chosen, mut csns: ContextCsns) -> Result<(), String> {
    let Some((_, settings)) = chosen.databases().next() else {
        return Ok(());
    };
    let Some(suffix) = settings.suffixes.first().filter(|_| settings.kind.is_stored()) else {
        return Ok(());
    };
    let opened = open::database(settings, chosen.schema()).map_err(|error| error.to_string())?;
    let mut transaction = opened.database.write().map_err(|error| error.to_string())?;
    let keeps_vector = transaction
        .view()
        .context_vector()
        .map_err(|error| error.to_string())?
        .is_some();
    if keeps_vector {
        transaction
            .merge_context(csns.parsed())
            .map_err(|error| error.to_string())?;
        return transaction.commit().map_err(|error| error.to_string());
    }
    add_known_csns(&transaction.view(), suffix, &mut csns).map_err(|error| error.to_string())?;
    let values = csns.values();
    if values.is_empty() {
        return Ok(());
    }
    let change = ValueChange::Replace {
        attribute: "contextCSN".into(),
        values,
    };
    let effect = Effect::Modify {
        dn: suffix.pretty().into(),
        changes: vec![change],
    };
    transaction.apply_effect(&effect).map_err(|error| error.to_string())?;
    if let Some(files) = &opened.files {
        let record = ChangeRecord {
            effects: vec![effect.into()],
            ..ChangeRecord::default()
        };
        files
            .write(&transaction.view(), &record, &ContextVector::default())
            .map_err(|error| error.to_string())?;
    }
    transaction.commit().map_err(|error| error.to_string())
}

/// `-w`, where a server has the database open: it raises the context vector of the database.
///
/// # Errors
/// The server's message.
pub(crate) fn send(server: &mut RunningServer, chosen: &Chosen, csns: &ContextCsns) -> Result<(), String> {
    let first = chosen.databases().next();
    let Some(suffix) = first.and_then(|(_, settings)| settings.suffixes.first()) else {
        return Ok(());
    };
    let mut words: Vec<&[u8]> = vec![suffix.pretty().as_bytes()];
    words.extend(csns.0.values().map(String::as_bytes));
    server.ask(tool::RAISE_CONTEXT, &words)
}

/// Adds the CSNs of the suffix entry for servers that the loaded entries do not name.
fn add_known_csns(view: &View<'_>, suffix: &Dn, csns: &mut ContextCsns) -> Result<(), StoreError> {
    let Location::Entry(id) = view.locate(suffix)? else {
        return Ok(());
    };
    let (Some(record), Ok(name)) = (view.record(id)?, view.schema().attribute_description(b"contextCSN")) else {
        return Ok(());
    };
    let Some(known) = record.values(&name) else {
        return Ok(());
    };
    known.for_each(&mut |value| {
        csns.add(value);
        ControlFlow::Continue(())
    })
}

/// The CSNs of all entries of the chosen databases.
///
/// # Errors
/// The message for the user.
pub(crate) fn collect(chosen: &Chosen) -> Result<ContextCsns, String> {
    let mut csns = ContextCsns::default();
    let mut collect = |settings| -> Result<(), Box<dyn std::error::Error>> {
        let Some(database) = open::to_read(settings, chosen.schema())? else {
            return Ok(());
        };
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let Ok(name) = view.schema().attribute_description(b"entryCSN") else {
            return Ok(());
        };
        for record in view.entries(0)? {
            if let Some(values) = record?.values(&name) {
                values.for_each(&mut |value| {
                    csns.add(value);
                    ControlFlow::Continue(())
                })?;
            }
        }
        Ok(())
    };
    for (_, settings) in chosen.databases() {
        collect(settings).map_err(|error| error.to_string())?;
    }
    Ok(csns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_greatest_csn() {
        let mut csns = ContextCsns::default();
        for csn in [
            "20200101000000.000000Z#000000#003#000000",
            "20210101000000.000000Z#000000#001#000000",
            "20190101000000.000000Z#000000#003#000000",
            "rubbish",
        ] {
            csns.add(csn.as_bytes());
        }
        assert_eq!(csns.values().len(), 2);
        assert!(csns.values()[1].starts_with(b"2020"));
    }
}
