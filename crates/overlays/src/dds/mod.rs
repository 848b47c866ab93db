//! slapo-dds(5): dynamic entries (RFC 2589). They are deleted when their time is over, unless they are refreshed.
//!
//! An entry of class dynamicObject gets `entryTtl`, the requested time to live, and `entryExpireTimestamp`, the end of
//! that time. Searches show the remaining time in `entryTtl`. A timer on the writer deletes expired entries, leaves
//! first.

mod expire;
mod refresh;
mod refusal;
mod rows;
mod settings;
mod write;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads},
    stamp::generalized_time,
};
use ironbark_model::{AttributeDescription, CompiledFilter, Filter, Schema, schema::ClassNumber};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, Purpose, StoreError, Wanted};

use self::settings::DdsConfig;
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "dds",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcDDSConfig"],
            oid: "3.9.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<DdsConfig>,
        schema: "attributetype ( 1.3.6.1.4.1.4203.666.1.57 NAME 'entryExpireTimestamp' DESC 'RFC2589 OpenLDAP extension: expire time of a dynamic \
                 object, computed as now + entryTtl' EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch SYNTAX \
                 1.3.6.1.4.1.1466.115.121.1.24 SINGLE-VALUE NO-USER-MODIFICATION USAGE dSAOperation )\n",
        introduction: "The overlay deletes entries of class dynamicObject when their time is over, unless a client \
            with manage access to their entryTtl refreshes them (RFC 2589).",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Dds {
    settings: DdsConfig,
    schema: Arc<Schema>,
    class: ClassNumber,
    object_class: AttributeDescription,
    ttl: AttributeDescription,
    expires: AttributeDescription,
    /// The entries that have an end.
    dynamic: CompiledFilter,
}

fn make(settings: &DdsConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    if !settings.is_on {
        return Ok(Overlay::new("dds"));
    }
    let attribute = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("{name}: {error}"))
    };
    let class = schema.find_object_class(b"dynamicObject");
    let mut dynamic = CompiledFilter::default();
    dynamic.compile(schema, &Filter::Present(b"entryExpireTimestamp"[..].into()));
    let dds = Arc::new(Dds {
        dynamic,
        settings: settings.clone(),
        class: class
            .ok_or_else(|| "there is no class dynamicObject".to_owned())?
            .number,
        object_class: attribute("objectClass")?,
        ttl: attribute("entryTtl")?,
        expires: attribute("entryExpireTimestamp")?,
        schema: Arc::clone(schema),
    });
    Ok(Overlay {
        content: Some(Arc::clone(&dds) as _),
        derivation: Some(Arc::new(Remaining(Arc::clone(&dds)))),
        extended: Some(Arc::new(refresh::Refresh(Arc::clone(&dds)))),
        timer: Some(dds),
        keeps_dynamic_entries: true,
        ..Overlay::new("dds")
    })
}

/// `entryTtl` is the remaining time of an entry.
struct Remaining(Arc<Dds>);

impl Derivation for Remaining {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

impl Derive for Dds {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.ttl)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let mut expires = None;
        entry.for_each(&self.expires, Purpose::Show, &mut |value| {
            expires = generalized_time::seconds(value);
        })?;
        if let Some(expires) = expires {
            let remaining = (expires - entry.look.now().unix_seconds()).max(0);
            found.replace(&self.ttl, vec![remaining.to_string().into_bytes()]);
        }
        Ok(())
    }

    /// The entries with an end of their time.
    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        look.view.may_match(&self.dynamic, item.most())
    }
}
