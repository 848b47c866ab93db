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
    OperationError,
    overlay::{ArrangedEntry, Arrangement, BeginningSearch, Overlay, SearchHooks},
    stamp::generalized_time,
};
use ironbark_model::{AttributeDescription, Schema, schema::ClassNumber};

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
    let dds = Arc::new(Dds {
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
        searches: Some(Arc::clone(&dds) as _),
        extended: Some(Arc::new(refresh::Refresh(Arc::clone(&dds)))),
        timer: Some(dds),
        keeps_dynamic_entries: true,
        ..Overlay::new("dds")
    })
}

impl SearchHooks for Dds {
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        Ok(Some(Box::new(Remaining {
            ttl: [self.ttl.clone()],
            expires: self.expires.clone(),
            now_s: search.now.unix_seconds(),
        })))
    }
}

/// Shows the remaining time of entries.
struct Remaining {
    ttl: [AttributeDescription; 1],
    expires: AttributeDescription,
    now_s: i64,
}

impl Arrangement for Remaining {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.ttl
    }

    fn arrange(&self, entry: &ArrangedEntry<'_>, _: &AttributeDescription, values: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let expires = entry.values(&self.expires).unwrap_or_default();
        match expires.first().and_then(|value| generalized_time::seconds(value)) {
            Some(expires) => vec![(expires - self.now_s).max(0).to_string().into_bytes()],
            None => values,
        }
    }
}
