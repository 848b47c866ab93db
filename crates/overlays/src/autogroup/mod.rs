//! slapo-autogroup(5): groups whose members are found by LDAP URLs. slapd stores them; here they are computed.
//!
//! - `rows.rs`: the settings. `groups.rs`: the groups of a database: the facts, and what they give.

mod groups;
mod rows;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, OperationError,
    overlay::{ContentHooks, Derivation, Derive, Entries, Execution, Overlay, Reads},
};
use ironbark_model::{AttributeDescription, CompiledFilter, Dn, Filter, ResultCode, Schema, Truth, filter::Assertion};
use ironbark_store::{Location, StoreError};

use self::{
    groups::Groups,
    rows::{AutogroupConfig, SetSetting},
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "autogroup",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcAutoGroupConfig", "olcAutomaticGroups"],
            oid: "4.2.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<AutogroupConfig>,
        schema: "",
        introduction: "Groups whose members are found by a search, as if they were static. `overlay dynlist` does more: \
            nesting, static groups, the rights of who asks.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// What the configuration says, ready for use.
struct Autogroup {
    schema: Arc<Schema>,
    sets: Vec<Set>,
    memberof: AttributeDescription,
    /// All that is derived.
    attributes: Vec<AttributeDescription>,
    /// The attributes that hold URLs.
    url_attributes: Vec<AttributeDescription>,
}

struct Set {
    /// The entries of its class.
    class: CompiledFilter,
    urls: AttributeDescription,
    member: AttributeDescription,
}

fn make(settings: &AutogroupConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    if settings.sets.is_empty() {
        return Ok(Overlay::new("autogroup"));
    }
    let sets = settings.sets.iter().map(|set| Set::new(set, schema));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let memberof = described(schema, settings.memberof.as_deref().unwrap_or("memberOf"))?;
    let mut attributes: Vec<_> = sets.iter().map(|set| set.member.clone()).collect();
    attributes.push(memberof.clone());
    attributes.sort_unstable();
    attributes.dedup();
    let autogroup = Arc::new(Autogroup {
        schema: Arc::clone(schema),
        url_attributes: sets.iter().map(|set| set.urls.clone()).collect(),
        sets,
        memberof,
        attributes,
    });
    Ok(Overlay {
        content: Some(Arc::clone(&autogroup) as _),
        derivation: Some(Arc::new(Computed(autogroup))),
        ..Overlay::new("autogroup")
    })
}

impl Set {
    fn new(setting: &SetSetting, schema: &Schema) -> Result<Self, SettingError> {
        let mut class = CompiledFilter::default();
        let is_one = Filter::Equality(Assertion {
            attribute: b"objectClass".into(),
            value: setting.class.as_bytes().into(),
        });
        class.compile(schema, &is_one);
        Ok(Self {
            class,
            urls: described(schema, &setting.urls)?,
            member: described(schema, &setting.member)?,
        })
    }
}

fn described(schema: &Schema, name: &str) -> Result<AttributeDescription, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    description.map_err(|error| format!("attribute \"{name}\": {error}").into())
}

struct Computed(Arc<Autogroup>);

impl Derivation for Computed {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    fn depends_on(&self) -> &[AttributeDescription] {
        &self.0.url_attributes
    }

    fn level(&self) -> u8 {
        3
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(Groups::read(&self.0, entries)?))
    }
}

impl ContentHooks for Autogroup {
    /// # Errors
    /// `constraintViolation`: a client changes the members of a group.
    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let changes = |set: &&Set| modifications.iter().any(|change| change.description == set.member);
        let mut sets = self.sets.iter().filter(changes).peekable();
        if sets.peek().is_none() {
            return Ok(());
        }
        let view = execution.view();
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(());
        };
        let Some(record) = view.record(id)? else {
            return Ok(());
        };
        let is_group = |set: &Set| {
            record.values(&set.urls).is_some() && record.evaluate(&set.class, &mut Vec::new()) == Truth::True
        };
        if sets.any(is_group) {
            return Err(OperationError::new(
                ResultCode::CONSTRAINT_VIOLATION,
                "attempt to modify dynamic group member attribute",
            ));
        }
        Ok(())
    }
}
