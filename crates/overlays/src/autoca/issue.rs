//! Making certificates with their keys, on a thread for slow work.

use core::net::IpAddr;
use std::sync::Arc;

use ironbark_directory::{
    Directory, Modification, ModificationKind, NamingContext, OperationError, change_settings, edit,
    overlay::{Errand, Execution},
    run_errand,
};
use ironbark_model::{Dn, Entry, ResultCode, Schema};
use ironbark_store::Location;

use super::{
    Autoca,
    certificate::{Content, Issuer, Purpose, key_identifier, signed},
    der,
    key::{Failed, Key},
    names::Pair,
};

/// Where it happens.
pub(super) struct Place {
    pub(super) directory: Arc<Directory>,
    pub(super) context: Arc<NamingContext>,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("a key or a signature cannot be made")]
    Key,
    #[error("the name cannot be written in a certificate")]
    Name,
    #[error("the suffix entry's certificate and key do not belong together, or are of a kind that is not supported")]
    Authority,
    #[error("the suffix entry is missing")]
    NoSuffix,
    #[error("result {}: {}", .0.result_code.0, .0.diagnostic_message)]
    Refused(OperationError),
}

impl From<Failed> for Problem {
    fn from(_: Failed) -> Self {
        Self::Key
    }
}

impl<E: Into<OperationError>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// The authority: its key, and what of its certificate goes into others.
pub(super) struct Authority {
    key: Key,
    issuer: Issuer,
    /// Its certificate.
    pub(super) certificate: Vec<u8>,
}

impl Place {
    /// An entry as it is stored.
    pub(super) fn entry(&self, dn: &Dn) -> Result<Option<Entry>, OperationError> {
        stored(&self.context, dn)
    }

    fn now_s(&self) -> i64 {
        self.directory.clock().now().unix_micros().div_euclid(1_000_000)
    }

    fn serial(&self) -> Result<[u8; 8], Problem> {
        self.directory.randomness().bytes().map_err(|_| Problem::Key)
    }

    fn save(&self, save: Save) -> Result<(), Problem> {
        let ended = run_errand(&self.directory, &self.context, Arc::new(save))?;
        Ok(ended
            .blocking_recv()
            .unwrap_or_else(|_| Err(OperationError::code(ResultCode::UNAVAILABLE)))?)
    }

    /// Changes settings of the server in cn=config.
    pub(super) fn configure(&self, values: &[(&str, &[u8])]) -> Result<(), Problem> {
        let schema = &self.directory.configuration().schema;
        let mut modifications = Vec::new();
        for (name, value) in values {
            let description = schema
                .attribute_description(name.as_bytes())
                .map_err(|_| Problem::Key)?;
            let kind = ModificationKind::Replace;
            modifications.push(Modification::internal(schema, kind, &description, vec![value.to_vec()]));
        }
        let ended = change_settings(&self.directory, modifications)?;
        Ok(ended
            .blocking_recv()
            .unwrap_or_else(|_| Err(OperationError::code(ResultCode::UNAVAILABLE)))?)
    }
}

/// An entry of a database as it is stored.
pub(super) fn stored(context: &NamingContext, dn: &Dn) -> Result<Option<Entry>, OperationError> {
    let Some(database) = context.database() else {
        return Ok(None);
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(None);
    };
    let Some(record) = view.record(id)? else {
        return Ok(None);
    };
    Ok(Some(record.to_entry(view.dn(id)?)?))
}

impl Autoca {
    /// The authority of the suffix entry, which is made if there is none.
    pub(super) fn authority(&self, place: &Place) -> Result<Authority, Problem> {
        let suffix = place.context.suffixes().first().ok_or(Problem::NoSuffix)?;
        let entry = place.entry(suffix)?.ok_or(Problem::NoSuffix)?;
        match self.stored_authority(&entry) {
            Some(authority) => authority,
            None => self.new_authority(place, &entry.dn),
        }
    }

    /// `None`: the entry has no key.
    fn stored_authority(&self, entry: &Entry) -> Option<Result<Authority, Problem>> {
        let value = |attribute| entry.attribute(attribute)?.values.first();
        let key = value(&self.names.authority.key)?;
        let read = || {
            let key = Key::from_pkcs8(key)?;
            let certificate = value(&self.names.authority.certificate)?.clone();
            let issuer = Issuer::of(&certificate)?;
            let is_one = key.public().is_ok_and(|public| public == issuer.public);
            is_one.then_some(Authority {
                key,
                issuer,
                certificate,
            })
        };
        Some(read().ok_or(Problem::Authority))
    }

    fn new_authority(&self, place: &Place, suffix: &Dn) -> Result<Authority, Problem> {
        let name = der::name(&self.schema, suffix).ok_or(Problem::Name)?;
        let key = Key::generate(self.settings.ca_bits)?;
        let public = key.public()?;
        let content = Content {
            subject: &name,
            issuer: &name,
            issuer_key: &key_identifier(&public).ok_or(Problem::Key)?,
            public: &public,
            serial: place.serial()?,
            begin: place.now_s(),
            days: self.settings.ca_days,
            purpose: &Purpose::Authority,
        };
        let certificate = signed(&content, &key)?;
        place.save(self.saved(suffix, &self.names.authority, certificate, key.pkcs8()?))?;
        tracing::info!(target: "any", "autoca: \"{}\" is a certificate authority now", suffix.pretty());
        // Another server may have been faster: what is stored counts.
        let entry = place.entry(suffix)?.ok_or(Problem::NoSuffix)?;
        self.stored_authority(&entry).unwrap_or(Err(Problem::Authority))
    }

    /// Makes a certificate for an entry, and stores it there.
    pub(super) fn certify(&self, place: &Place, entry: &Entry) -> Result<(), Problem> {
        let authority = {
            let _alone = self.lock();
            self.authority(place)?
        };
        let is_user = entry.is_of_class(&self.schema, self.names.user);
        let (purpose, bits, days) = if is_user {
            let settings = (self.settings.user_bits, self.settings.user_days);
            (Purpose::User(self.mail_of(entry)), settings.0, settings.1)
        } else {
            let settings = (self.settings.server_bits, self.settings.server_days);
            (Purpose::Server(self.addresses_of(entry)), settings.0, settings.1)
        };
        let subject = der::name(&self.schema, &entry.dn).ok_or(Problem::Name)?;
        let key = Key::generate(bits)?;
        let content = Content {
            subject: &subject,
            issuer: &authority.issuer.name,
            issuer_key: &authority.issuer.key,
            public: &key.public()?,
            serial: place.serial()?,
            begin: place.now_s(),
            days,
            purpose: &purpose,
        };
        let certificate = signed(&content, &authority.key)?;
        place.save(self.saved(&entry.dn, &self.names.holder, certificate, key.pkcs8()?))
    }

    /// Addresses that a certificate can hold.
    fn mail_of(&self, entry: &Entry) -> Vec<String> {
        let held = self.names.mail.as_ref().and_then(|mail| entry.attribute(mail));
        let values = held.map_or(&[][..], |held| &held.values);
        let texts = values.iter().filter(|value| value.is_ascii());
        texts
            .filter_map(|value| String::from_utf8(value.clone()).ok())
            .take(MOST_NAMES)
            .collect()
    }

    fn addresses_of(&self, entry: &Entry) -> Vec<IpAddr> {
        let held = self.names.address.as_ref().and_then(|address| entry.attribute(address));
        let values = held.map_or(&[][..], |held| &held.values);
        let texts = values.iter().filter_map(|value| std::str::from_utf8(value).ok());
        texts
            .filter_map(|text| text.trim().parse().ok())
            .take(MOST_NAMES)
            .collect()
    }

    fn saved(&self, dn: &Dn, pair: &Pair, certificate: Vec<u8>, key: Vec<u8>) -> Save {
        let schema = &self.schema;
        let internal = |kind, description, value| Modification::internal(schema, kind, description, vec![value]);
        let class = pair.class_name.as_bytes().to_vec();
        Save {
            dn: dn.clone(),
            schema: Arc::clone(schema),
            class: pair.class,
            key: pair.key.clone(),
            add_class: internal(ModificationKind::Add, &self.names.object_class, class),
            values: [
                internal(ModificationKind::Replace, &pair.certificate, certificate),
                internal(ModificationKind::Add, &pair.key, key),
            ],
        }
    }
}

/// Names in a certificate.
const MOST_NAMES: usize = 64;

/// Stores a certificate and its key, unless the entry has a key by now.
struct Save {
    dn: Dn,
    schema: Arc<Schema>,
    class: ironbark_model::schema::ClassNumber,
    key: ironbark_model::AttributeDescription,
    add_class: Modification,
    values: [Modification; 2],
}

impl Errand for Save {
    fn steps(&self) -> usize {
        1
    }

    fn step(&self, _: usize, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let Location::Entry(id) = execution.view().locate(&self.dn)? else {
            return Ok(());
        };
        let entry = execution.entry(id)?;
        if entry.attribute(&self.key).is_some() {
            return Ok(());
        }
        let mut changes = self.values.to_vec();
        if !entry.is_of_class(&self.schema, self.class) {
            changes.insert(0, self.add_class.clone());
        }
        match edit::modify_as_server(execution, &entry.dn, changes)? {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }
}
