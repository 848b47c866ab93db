//! Writes: entries become dynamic and stay dynamic.

use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{ContentHooks, Execution, Renaming},
    stamp::generalized_time,
};
use ironbark_model::{Dn, Entry};
use ironbark_store::Location;

use super::{Dds, refusal::DdsRefusal, settings::MAX_TTL_S};

/// The end of a life that begins now.
pub(super) fn expiry(execution: &Execution<'_, '_>, ttl_s: u64) -> Vec<u8> {
    let now_s = execution.directory.clock().now().unix_seconds();
    generalized_time::text(now_s.saturating_add_unsigned(ttl_s)).into_bytes()
}

impl Dds {
    /// Whether a stored entry is dynamic; `None`: there is none.
    pub(super) fn is_dynamic(&self, execution: &Execution<'_, '_>, dn: &Dn) -> Result<Option<bool>, OperationError> {
        let view = execution.view();
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(None);
        };
        let Some(record) = view.record(id)? else {
            return Ok(None);
        };
        let mut classes = Entry::new(Dn::root());
        if let Some(held) = record.values(&self.object_class) {
            classes.attributes.push(held.to_attribute()?);
        }
        Ok(Some(classes.is_of_class(&self.schema, self.class)))
    }

    fn names_class(&self, values: &[Vec<u8>]) -> bool {
        let is_it = |value: &Vec<u8>| {
            let found = self.schema.find_object_class(value);
            found.is_some_and(|class| class.number == self.class)
        };
        values.iter().any(is_it)
    }

    /// The time to live that a modification asks for.
    fn asked_ttl_s(&self, value: &[u8]) -> Result<u64, DdsRefusal> {
        let number = std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        match number {
            Some(ttl_s) if ttl_s > MAX_TTL_S => Err(DdsRefusal::InvalidTtl),
            Some(ttl_s) if (1..=self.settings.max_ttl_s).contains(&ttl_s) => Ok(ttl_s),
            Some(_) => Err(DdsRefusal::TtlOverLimit),
            None => Err(DdsRefusal::InvalidTtl),
        }
    }

    /// Refuses a new dynamic entry when the limit is reached.
    fn check_number(&self, execution: &Execution<'_, '_>) -> Result<(), OperationError> {
        let most = self.settings.max_objects;
        if most > 0 && self.number_up_to(execution, most)? >= most {
            return Err(DdsRefusal::TooManyEntries.into());
        }
        Ok(())
    }
}

impl ContentHooks for Dds {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let is_dynamic = entry.is_of_class(&self.schema, self.class);
        let is_of = |name: &[u8]| {
            let class = self.schema.find_object_class(name);
            class.is_some_and(|class| entry.is_of_class(&self.schema, class.number))
        };
        if is_dynamic && is_of(b"referral") {
            return Err(DdsRefusal::Referral.into());
        }
        if is_dynamic && is_of(b"alias") {
            return Err(DdsRefusal::Alias.into());
        }
        let superior = entry.dn.parent().filter(|_| !execution.context.is_suffix(&entry.dn));
        if let Some(superior) = superior
            && !is_dynamic
            && self.is_dynamic(execution, &superior)? == Some(true)
        {
            return Err(DdsRefusal::StaticSubordinate.into());
        }
        if is_dynamic {
            self.check_number(execution)?;
            let ttl_s = self.settings.default_ttl_s();
            entry.set_values(&self.ttl, vec![ttl_s.to_string().into_bytes()]);
            entry.set_values(&self.expires, vec![expiry(execution, ttl_s)]);
        }
        Ok(())
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let concerns = |change: &Modification| [&self.object_class, &self.ttl].contains(&&change.description);
        if !modifications.iter().any(concerns) {
            return Ok(());
        }
        let Some(was_dynamic) = self.is_dynamic(execution, dn)? else {
            return Ok(());
        };
        let (mut is_dynamic, mut expires) = (was_dynamic, None);
        for change in modifications.iter() {
            let values = &change.values;
            if change.description == self.object_class {
                is_dynamic = match change.kind {
                    ModificationKind::Delete => is_dynamic && !(values.is_empty() || self.names_class(values)),
                    ModificationKind::Replace => self.names_class(values),
                    _ => is_dynamic || self.names_class(values),
                };
            } else if change.description == self.ttl {
                expires = Some(match (change.kind, values.first()) {
                    (ModificationKind::Delete, _) | (_, None) => Vec::new(),
                    (_, Some(value)) => vec![expiry(execution, self.asked_ttl_s(value)?)],
                });
            }
        }
        match (was_dynamic, is_dynamic) {
            (true, false) => Err(DdsRefusal::BecomesStatic),
            (false, true) => Err(DdsRefusal::BecomesDynamic),
            _ => Ok(()),
        }?;
        if let Some(values) = expires {
            let kind = ModificationKind::Replace;
            modifications.push(Modification::internal(&self.schema, kind, &self.expires, values));
        }
        Ok(())
    }

    fn before_modify_dn(
        &self,
        execution: &mut Execution<'_, '_>,
        renaming: Renaming<'_>,
    ) -> Result<(), OperationError> {
        let superior = renaming.target.parent();
        let Some(superior) = superior.filter(|superior| Some(superior) != renaming.dn.parent().as_ref()) else {
            return Ok(());
        };
        if self.is_dynamic(execution, renaming.dn)? == Some(false)
            && self.is_dynamic(execution, &superior)? == Some(true)
        {
            return Err(DdsRefusal::DynamicNewSuperior.into());
        }
        Ok(())
    }
}
