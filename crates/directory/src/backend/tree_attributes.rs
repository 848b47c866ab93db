//! Operational attributes that follow from the tree: `entryDN` (RFC 5020), `subschemaSubentry` and `hasSubordinates`.
//! The entry of a database's first suffix also has `contextCSN`, if the database keeps a context vector.

use ironbark_model::{AttributeDescription, Dn, Schema, schema::TypeNumber};
use ironbark_store::{
    Csn, Derived, DerivedAttributes, DerivedCandidates, FilterItem, Location, Purpose, Record, StoreError, View, Wanted,
};

use super::well_known::WellKnown;

/// These attributes of stored entries.
#[derive(Clone, Debug)]
pub(crate) struct TreeAttributes {
    entry_dn: AttributeDescription,
    subschema_subentry: AttributeDescription,
    has_subordinates: AttributeDescription,
    context_csn: AttributeDescription,
    /// Of all these.
    types: [TypeNumber; 4],
    /// The name of the subschema subentry.
    subschema: Vec<u8>,
}

impl TreeAttributes {
    /// Those of a configuration whose subschema subentry has this name.
    pub(crate) fn new(known: &WellKnown, subschema: Option<&Dn>) -> Self {
        Self {
            entry_dn: known.entry_dn.clone(),
            subschema_subentry: known.subschema_subentry.clone(),
            has_subordinates: known.has_subordinates.clone(),
            context_csn: known.context_csn.clone(),
            types: [
                known.entry_dn.attribute_type,
                known.subschema_subentry.attribute_type,
                known.has_subordinates.attribute_type,
                known.context_csn.attribute_type,
            ],
            subschema: subschema.map_or("", Dn::pretty).as_bytes().to_vec(),
        }
    }

    /// Whether [`TreeAttributes::show`] gives an attribute.
    pub(crate) fn shows(&self, description: &AttributeDescription) -> bool {
        let shown = [&self.entry_dn, &self.subschema_subentry, &self.has_subordinates];
        shown.contains(&description)
    }

    /// Calls `visit` with description, name and value of those attributes that every entry has, in slapd's order,
    /// without taking memory.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn show(
        &self,
        of: &Record<'_>,
        dn: &str,
        wanted: impl Fn(&AttributeDescription) -> bool,
        mut visit: impl FnMut(&AttributeDescription, &[u8], &[u8]),
    ) -> Result<(), StoreError> {
        if wanted(&self.entry_dn) {
            visit(&self.entry_dn, b"entryDN", dn.as_bytes());
        }
        if wanted(&self.subschema_subentry) {
            visit(&self.subschema_subentry, b"subschemaSubentry", &self.subschema);
        }
        if wanted(&self.has_subordinates) {
            let text: &[u8] = if of.view().has_subordinates(of.id)? {
                b"TRUE"
            } else {
                b"FALSE"
            };
            visit(&self.has_subordinates, b"hasSubordinates", text);
        }
        Ok(())
    }

    /// All of them, in slapd's order.
    pub(crate) fn all(&self) -> [&AttributeDescription; 4] {
        [
            &self.entry_dn,
            &self.subschema_subentry,
            &self.has_subordinates,
            &self.context_csn,
        ]
    }
}

impl DerivedAttributes for TreeAttributes {
    #[inline]
    fn covers(&self, asked: &AttributeDescription, _: Purpose) -> bool {
        // None of them has a supertype.
        self.types.contains(&asked.attribute_type)
    }

    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let view = of.view();
        if wanted.has(&self.entry_dn) {
            let mut dn = Vec::new();
            match wanted.new_name {
                Some(name) => dn.extend_from_slice(name.pretty().as_bytes()),
                None => view.pretty_dn(of.id, &mut dn)?,
            }
            found.add(&self.entry_dn, [dn]);
        }
        if wanted.has(&self.subschema_subentry) {
            // As in slapd, a filter finds it by presence alone.
            let value = match wanted.purpose {
                Purpose::Match => NO_NAME.to_vec(),
                Purpose::Compare | Purpose::Show => self.subschema.clone(),
            };
            found.add(&self.subschema_subentry, [value]);
        }
        if wanted.has(&self.has_subordinates) {
            let text: &[u8] = if view.has_subordinates(of.id)? {
                b"TRUE"
            } else {
                b"FALSE"
            };
            found.add(&self.has_subordinates, [text.to_vec()]);
        }
        if of.parent() == 0
            && wanted.has(&self.context_csn)
            && let Some((_, vector)) = view.shown_context()?.filter(|(id, _)| *id == of.id)
        {
            let texts = vector.iter().map(Csn::text).map(String::into_bytes);
            found.replace(&self.context_csn, texts.collect());
        }
        Ok(())
    }

    fn candidates(&self, view: View<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let asked = item.asked().map(|asked| asked.attribute_type);
        if asked == Some(self.context_csn.attribute_type) {
            return Ok(DerivedCandidates::one(view.shown_context()?.map(|(id, _)| id)));
        }
        if asked == Some(self.subschema_subentry.attribute_type) {
            return Ok(if item.is_presence() {
                DerivedCandidates::Everything
            } else {
                DerivedCandidates::nothing()
            });
        }
        if asked == Some(self.entry_dn.attribute_type)
            && let Some(names) = item.equalities(view)
        {
            let mut may = DerivedCandidates::nothing();
            for name in names {
                may = may.or(one_named(view, view.schema(), name)?);
            }
            return Ok(may);
        }
        Ok(DerivedCandidates::Everything)
    }
}

/// This text is no DN, so no assertion matches it.
const NO_NAME: &[u8] = b"?";

fn one_named(view: View<'_>, schema: &Schema, name: &[u8]) -> Result<DerivedCandidates, StoreError> {
    let Ok(name) = Dn::parse(schema, name) else {
        return Ok(DerivedCandidates::Everything);
    };
    Ok(DerivedCandidates::one(match view.locate(&name)? {
        Location::Entry(id) => Some(id),
        Location::Missing { .. } => None,
    }))
}

/// The same attributes, as the filters of access rules see them: as in slapd, no entry has `hasSubordinates`.
pub(crate) struct SeenByRules<'a>(pub(crate) &'a TreeAttributes);

impl SeenByRules<'_> {
    /// Whether an entry in memory has an attribute as [`SeenByRules::of_memory`] gives it, whatever it holds.
    pub(crate) fn overrides(&self, attribute: TypeNumber) -> bool {
        let overridden = [&self.0.entry_dn, &self.0.subschema_subentry, &self.0.has_subordinates];
        overridden.iter().any(|known| known.attribute_type == attribute)
    }

    /// Those of an entry in memory that has this name.
    pub(crate) fn of_memory<'n>(&self, dn: &'n Dn) -> [(&AttributeDescription, &'n [u8]); 2] {
        [
            (&self.0.entry_dn, dn.pretty().as_bytes()),
            (&self.0.subschema_subentry, NO_NAME),
        ]
    }
}

impl DerivedAttributes for SeenByRules<'_> {
    fn covers(&self, asked: &AttributeDescription, purpose: Purpose) -> bool {
        asked.attribute_type != self.0.has_subordinates.attribute_type && self.0.covers(asked, purpose)
    }

    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let attributes = |one: &AttributeDescription| *one != self.0.has_subordinates && wanted.has(one);
        let seen = Wanted {
            attributes: &attributes,
            ..*wanted
        };
        self.0.derive(of, &seen, found)
    }

    fn candidates(&self, view: View<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        self.0.candidates(view, item)
    }
}
