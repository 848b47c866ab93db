//! slapo-autoca(5): a certificate authority that makes certificates, with their keys, when they are asked for.
//!
//! A search that asks for both is held, the certificate is made on a thread for slow work and stored, and the search
//! goes on. Private keys are kept from all but their own entries and the rootdn, unless a rule names them
//! ([`AutocaConfig::secrets`](ironbark_config::overlay::OverlaySettings::secrets)).

mod certificate;
mod der;
mod issue;
mod key;
mod names;
mod rows;
mod settings;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    OperationError,
    overlay::{Decision, IncomingRequest, Overlay, RequestHooks},
};
use ironbark_ldap_proto::{Request, Scope, SearchRequest};
use ironbark_model::{AttributeDescription, Dn, Entry, Schema};

use self::{
    issue::{Place, Problem, stored},
    names::Names,
    settings::AutocaConfig,
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "autoca",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcAutoCAConfig"],
            oid: "3.22.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<AutocaConfig>,
        schema: include_str!("autoca.schema"),
        introduction: "The database's suffix entry becomes a certificate authority, and its users and servers get \
            certificates. With the first request to the database, if the suffix entry has no cAPrivateKey, a key and a \
            certificate are made and stored in it (cAPrivateKey;binary, cACertificate;binary, class autoCA); a key and \
            a certificate of another authority may stand there instead (PKCS #8: RSA, ECDSA on P-256 or P-384, \
            Ed25519). If TLS is not configured, TLSCACertificate becomes this certificate. A search for exactly \
            userCertificate;binary and userPrivateKey;binary makes both for an entry that has no private key, and \
            stores them (class autoCAuser): the search's base, if the rootdn or the entry itself asks, or within a \
            larger search the asking entry alone. The entry must match the filter. The subject is the entry's name; \
            users have their mail, servers their ipHostNumber as further names.\n\nPrivate keys can be read by their \
            own entry and by the rootdn alone, and changed by the rootdn alone, unless an access rule names \
            userPrivateKey, cAPrivateKey or pKCS8PrivateKey; a consumer that copies the database needs such a rule. \
            Keys are made on the threads for slow hashes, where connections and addresses take turns, one at a time \
            for an entry (otherwise busy). Certificates are neither renewed nor revoked: delete both values, and ask \
            again. Whoever may write mail or ipHostNumber of an entry decides what its next certificate says. On a \
            replica and in a read-only database nothing is made.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Autoca {
    settings: AutocaConfig,
    names: Names,
    schema: Arc<Schema>,
    /// One of [`UNKNOWN`], [`UNDER_WAY`], [`KNOWN`]: whether the suffix entry has an authority.
    state: AtomicU8,
    /// Held while the authority is looked up or made.
    making: Mutex<()>,
    /// The entries for which a certificate is being made, in normal form.
    under_way: Mutex<BTreeSet<Vec<u8>>>,
}

const UNKNOWN: u8 = 0;
const UNDER_WAY: u8 = 1;
const KNOWN: u8 = 2;

fn make(settings: &AutocaConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let autoca = Autoca {
        settings: settings.clone(),
        names: Names::of(settings, schema)?,
        schema: Arc::clone(schema),
        state: AtomicU8::new(UNKNOWN),
        making: Mutex::new(()),
        under_way: Mutex::default(),
    };
    Ok(Overlay {
        requests: Some(Arc::new(Shared(Arc::new(autoca)))),
        ..Overlay::new("autoca")
    })
}

/// The overlay as it goes to other threads.
struct Shared(Arc<Autoca>);

impl RequestHooks for Shared {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        let settings = &request.context.settings;
        if settings.is_shadow() || settings.read_only {
            return Decision::Continue;
        }
        let decided = match request.request {
            Request::Search(search) => self.of_search(request, search),
            _ => Ok(None),
        };
        let decided = decided.and_then(|decision| match decision {
            Some(decision) => Ok(Some(decision)),
            None => self.begin(request),
        });
        match decided {
            Ok(decision) => decision.unwrap_or(Decision::Continue),
            Err(error) => {
                // The operation itself meets the error again.
                tracing::error!(target: "any", "autoca: {}", Problem::from(error));
                Decision::Continue
            }
        }
    }
}

impl Shared {
    /// Makes the authority with the first request.
    fn begin(&self, request: &IncomingRequest<'_>) -> Result<Option<Decision>, OperationError> {
        let state = &self.0.state;
        if state.load(Ordering::Relaxed) != UNKNOWN {
            return Ok(None);
        }
        let suffix = request.context.suffixes().first();
        if suffix
            .map(|suffix| stored(request.context, suffix))
            .transpose()?
            .flatten()
            .is_none()
        {
            return Ok(None);
        }
        if state.swap(UNDER_WAY, Ordering::Relaxed) != UNKNOWN {
            return Ok(None);
        }
        let (beginning, place) = (Beginning(Arc::clone(&self.0)), place(request));
        let work = move || {
            if let Err(problem) = beginning.0.establish(&place) {
                tracing::error!(target: "any", "autoca: the certificate authority: {problem}");
            }
            beginning.0.state.store(KNOWN, Ordering::Relaxed);
            Decision::Continue
        };
        // This request need not wait for room.
        Ok(Some(request.elsewhere(work, Decision::Continue)))
    }

    /// A search that asks for a certificate that is not there.
    fn of_search(
        &self,
        request: &IncomingRequest<'_>,
        search: &SearchRequest<'_>,
    ) -> Result<Option<Decision>, OperationError> {
        let Some(dn) = self.0.asked(request, search) else {
            return Ok(None);
        };
        let Some(entry) = request.matching_entry(dn, &search.filter)? else {
            return Ok(None);
        };
        let has_key = entry.attribute(&self.0.names.holder.key).is_some();
        let is_local = self.0.settings.local.as_ref() == Some(&entry.dn);
        let installs = is_local && !request.configuration.settings.tls.is_configured();
        if has_key && !installs || !has_key && !self.0.is_holder(&entry) {
            return Ok(None);
        }
        let name = entry.dn.normalized().to_vec();
        let Some(turn) = Turn::begin(&self.0, name) else {
            return Ok(Some(busy()));
        };
        let place = place(request);
        let work = move || {
            if let Err(problem) = turn.autoca.provide(&place, &entry, has_key, is_local) {
                let name = entry.dn.pretty();
                tracing::error!(target: "any", "autoca: the certificate of \"{name}\": {problem}");
            }
            Decision::Continue
        };
        Ok(Some(request.elsewhere(work, busy())))
    }
}

fn place(request: &IncomingRequest<'_>) -> Place {
    Place {
        directory: Arc::clone(request.directory),
        context: Arc::clone(request.context),
    }
}

fn busy() -> Decision {
    let result = ironbark_directory::OperationResult::new(
        ironbark_model::ResultCode::BUSY,
        "certificates are being made for other requests",
    );
    Decision::Answer(Box::new(result.into()))
}

impl Autoca {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry whose certificate a search asks for, if who asks may have it made.
    fn asked<'r>(&self, request: &'r IncomingRequest<'_>, search: &SearchRequest<'_>) -> Option<&'r Dn> {
        let requester = request.requester();
        if requester.is_root() || !self.names_both(search) {
            return None;
        }
        let is_within = match search.scope {
            Scope::BaseObject => {
                let may = request.dn == requester || request.context.is_root(requester);
                return may.then_some(request.dn);
            }
            Scope::SingleLevel => requester.is_child_of(request.dn),
            Scope::WholeSubtree => requester.is_within(request.dn),
            Scope::SubordinateSubtree => requester.is_within(request.dn) && requester != request.dn,
        };
        is_within.then_some(requester)
    }

    fn names_both(&self, search: &SearchRequest<'_>) -> bool {
        let mut named = search.attributes.iter();
        let (Some(one), Some(other), None) = (named.next(), named.next(), named.next()) else {
            return false;
        };
        let is = |name: &[u8], wanted: &AttributeDescription| {
            self.schema
                .attribute_description(name)
                .is_ok_and(|named| named == *wanted)
        };
        let pair = &self.names.holder;
        is(one, &pair.certificate) && is(other, &pair.key) || is(one, &pair.key) && is(other, &pair.certificate)
    }

    fn is_holder(&self, entry: &Entry) -> bool {
        let mut classes = [Some(self.names.user), self.names.server].into_iter().flatten();
        classes.any(|class| entry.is_of_class(&self.schema, class))
    }

    /// Looks up the authority, or makes it; TLS takes its certificate if nothing else is configured.
    fn establish(&self, place: &Place) -> Result<(), Problem> {
        let _alone = self.lock();
        let authority = self.authority(place)?;
        let tls = &place.directory.configuration().settings.tls;
        let has_authorities =
            tls.ca_certificate.is_some() || tls.ca_certificate_file.is_some() || tls.ca_certificate_path.is_some();
        if !tls.is_configured() && !has_authorities {
            place.configure(&[("olcTLSCACertificate;binary", &authority.certificate)])?;
        }
        Ok(())
    }

    /// Makes a certificate, and lets TLS have it if it is the server's own.
    fn provide(&self, place: &Place, entry: &Entry, has_key: bool, is_local: bool) -> Result<(), Problem> {
        if self.state.load(Ordering::Relaxed) != KNOWN {
            self.establish(place)?;
            self.state.store(KNOWN, Ordering::Relaxed);
        }
        if !has_key {
            self.certify(place, entry)?;
        }
        if !is_local {
            return Ok(());
        }
        let entry = place.entry(&entry.dn)?.ok_or(Problem::Name)?;
        let value = |attribute| entry.attribute(attribute)?.values.first();
        let pair = &self.names.holder;
        match (value(&pair.certificate), value(&pair.key)) {
            (Some(certificate), Some(key)) => place.configure(&[
                ("olcTLSCertificate;binary", certificate),
                ("olcTLSCertificateKey;binary", key),
            ]),
            _ => Ok(()),
        }
    }
}

/// The authority is being looked up. If this is dropped before the end, the next request begins again.
struct Beginning(Arc<Autoca>);

impl Drop for Beginning {
    fn drop(&mut self) {
        let state = &self.0.state;
        let _ = state.compare_exchange(UNDER_WAY, UNKNOWN, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// An entry whose certificate is being made, until this is dropped.
struct Turn {
    autoca: Arc<Autoca>,
    name: Vec<u8>,
}

impl Turn {
    /// `None`: it is being made already.
    fn begin(autoca: &Arc<Autoca>, name: Vec<u8>) -> Option<Self> {
        let mut under_way = autoca.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(name.clone()).then(|| Self {
            autoca: Arc::clone(autoca),
            name,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut under_way = self.autoca.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.remove(&self.name);
    }
}
