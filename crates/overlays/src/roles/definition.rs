//! The roles of a database.

use std::{collections::HashMap, sync::Arc};

use ironbark_config::SettingError;
use ironbark_directory::overlay::{Author, Entries};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema, Truth, filter::Assertion, schema::ClassNumber,
};
use ironbark_store::{DitScope, EntryId, Record, StoreError};

use crate::values::stored;

/// Nesting of a role's filter.
const FILTER_DEPTH: usize = 100;

/// Names of the schema.
pub(super) struct Known {
    pub(super) schema: Arc<Schema>,
    pub(super) role: AttributeDescription,
    pub(super) role_dn: AttributeDescription,
    filter: AttributeDescription,
    scope_dn: AttributeDescription,
    managed: (ClassNumber, CompiledFilter),
    filtered: (ClassNumber, CompiledFilter),
    nested: (ClassNumber, CompiledFilter),
    /// The entries that are roles.
    all: CompiledFilter,
}

/// They, as one state of the database has them, by their names.
pub(super) struct Roles {
    pub(super) known: Arc<Known>,
    pub(super) all: Vec<Role>,
    /// Their positions, by the normal forms of their names.
    pub(super) by_name: HashMap<Vec<u8>, usize>,
}

/// A role.
pub(super) struct Role {
    pub(super) dn: Dn,
    pub(super) reach: Reach,
    pub(super) kind: Kind,
    pub(super) author: Author,
}

/// The subtree in which entries may have it.
pub(super) enum Reach {
    /// That of the role's superior.
    Entry(EntryId),
    /// The one that `nsRoleScopeDN` says.
    Named(Dn),
}

/// Who has it.
pub(super) enum Kind {
    /// Who names it in `nsRoleDN`.
    Managed,
    /// Who matches the filter.
    Filtered(CompiledFilter),
    /// Who has one of these roles.
    Nested(Vec<usize>),
}

impl Known {
    /// # Errors
    /// The schema lacks a name.
    pub(super) fn new(schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let compiled = |name: &str| {
            let mut filter = CompiledFilter::default();
            filter.compile(schema, &is_one(name));
            filter
        };
        let class = |name: &str| {
            let class = schema.find_object_class(name.as_bytes());
            let class = class.ok_or_else(|| format!("object class \"{name}\" unknown"))?;
            Ok::<_, String>((class.number, compiled(name)))
        };
        Ok(Self {
            schema: Arc::clone(schema),
            role: attribute("nsRole")?,
            role_dn: attribute("nsRoleDN")?,
            filter: attribute("nsRoleFilter")?,
            scope_dn: attribute("nsRoleScopeDN")?,
            managed: class("nsManagedRoleDefinition")?,
            filtered: class("nsFilteredRoleDefinition")?,
            nested: class("nsNestedRoleDefinition")?,
            all: compiled("nsRoleDefinition"),
        })
    }

    pub(super) fn classes(&self) -> Vec<ClassNumber> {
        [&self.managed, &self.filtered, &self.nested]
            .map(|class| class.0)
            .to_vec()
    }

    /// The filter of a role, with or without brackets around it. `None`: it is malformed, or asks for roles, which
    /// nested roles are for.
    fn filter_of(&self, record: &Record<'_>) -> Result<Option<CompiledFilter>, StoreError> {
        let Some(mut text) = stored(record, &self.filter)?.into_iter().next() else {
            return Ok(None);
        };
        if text.first() != Some(&b'(') {
            text.insert(0, b'(');
            text.push(b')');
        }
        let Ok(filter) = Filter::parse(&text, FILTER_DEPTH) else {
            return Ok(None);
        };
        let mut compiled = CompiledFilter::default();
        compiled.compile(&self.schema, &filter);
        let asks_for_roles = compiled
            .slots
            .iter()
            .any(|asked| self.schema.is_description_subtype(&self.role, asked));
        Ok((!asks_for_roles).then_some(compiled))
    }

    fn reach(&self, record: &Record<'_>, dn: &Dn) -> Result<Reach, StoreError> {
        let name = stored(record, &self.scope_dn)?.into_iter().next();
        let name = name.and_then(|name| Dn::parse(&self.schema, &name).ok());
        // An entry is in one database; of another one it says nothing.
        let superior = name.filter(|name| *name != *dn).and_then(|name| name.parent());
        Ok(match superior {
            Some(superior) => Reach::Named(superior),
            None => Reach::Entry(record.parent()),
        })
    }
}

fn is_one(name: &str) -> Filter<'_> {
    Filter::Equality(Assertion {
        attribute: b"objectClass".into(),
        value: name.as_bytes().into(),
    })
}

impl Roles {
    /// # Errors
    /// The storage failed.
    pub(super) fn read(known: &Arc<Known>, entries: Entries<'_>) -> Result<Self, StoreError> {
        let view = entries.view();
        let plan = view.plan_guarded(0, DitScope::Subtree, &known.all, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        let (mut all, mut scratch) = (Vec::new(), Vec::new());
        while let Some(record) = candidates.next_record()? {
            let dn = view.dn(record.id)?;
            let mut is_of = |class: &(_, CompiledFilter)| record.evaluate(&class.1, &mut scratch) == Truth::True;
            let (mut inner, kind) = (
                Vec::new(),
                if is_of(&known.managed) {
                    Some(Kind::Managed)
                } else if is_of(&known.filtered) {
                    known.filter_of(&record)?.map(Kind::Filtered)
                } else {
                    is_of(&known.nested).then_some(Kind::Nested(Vec::new()))
                },
            );
            let Some(kind) = kind else { continue };
            if matches!(kind, Kind::Nested(_)) {
                inner = stored(&record, &known.role_dn)?;
            }
            let reach = known.reach(&record, &dn)?;
            let author = entries.author(&record)?;
            let role = Role {
                dn,
                reach,
                kind,
                author,
            };
            all.push((role, inner));
        }
        all.sort_by(|one, other| one.0.dn.normalized().cmp(other.0.dn.normalized()));
        let name = |(position, (role, _)): (usize, &(Role, _))| (role.dn.normalized().to_vec(), position);
        let by_name: HashMap<Vec<u8>, usize> = all.iter().enumerate().map(name).collect();
        let find = |name: Vec<u8>| by_name.get(Dn::parse(&known.schema, &name).ok()?.normalized()).copied();
        let with_inner = |(mut role, inner): (Role, Vec<Vec<u8>>)| {
            if let Kind::Nested(roles) = &mut role.kind {
                roles.extend(inner.into_iter().filter_map(find));
            }
            role
        };
        Ok(Self {
            known: Arc::clone(known),
            all: all.into_iter().map(with_inner).collect(),
            by_name,
        })
    }
}
