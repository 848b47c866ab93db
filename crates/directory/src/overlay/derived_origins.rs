//! Which overlays have given an entry its derived attributes, and from where: for tools.

use ironbark_model::AttributeDescription;
use ironbark_store::{Derived, Purpose, Record, StoreError, Wanted};

use super::{DerivingEntry, Origin, derived::DerivedFor, facts::Facts};

/// What one overlay gives to an entry.
#[derive(Clone, Debug)]
pub struct Given {
    /// Name of the overlay.
    pub overlay: &'static str,
    /// The attribute.
    pub attribute: AttributeDescription,
    /// The values.
    pub values: Vec<Vec<u8>>,
    /// Whether values of the entry, and of overlays before, do not count.
    pub replaces: bool,
    /// Where it is from.
    pub origins: Vec<Origin>,
}

impl DerivedFor<'_> {
    /// What overlays give to an entry.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn given_to(&self, of: &Record<'_>) -> Result<Vec<Given>, StoreError> {
        let wanted = Wanted {
            purpose: Purpose::Show,
            new_name: None,
            attributes: &|_| true,
            operational: &|_| true,
        };
        let mut all = Vec::new();
        for (level, overlay, one) in self.facts.into_iter().flat_map(Facts::named) {
            let below = self.below(level);
            let record = of.deriving(&below);
            let entry = DerivingEntry {
                record,
                look: self.look(record.view()),
            };
            let mut found = Derived::default();
            one.derive(&entry, &wanted, &mut found)?;
            for given in found.attributes() {
                all.push(Given {
                    overlay,
                    attribute: given.description.clone(),
                    values: given.values.clone(),
                    replaces: given.replaces,
                    origins: one.origins(&entry, &given.description)?,
                });
            }
        }
        Ok(all)
    }
}
