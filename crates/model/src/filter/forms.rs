//! Normal forms of an entry's values that several items of one filter use. They are made once for all these items.

use std::ops::ControlFlow;

use super::compiled::{Slot, ValueSource};
use crate::{Schema, matching::MatchingRule};

/// Octets of normal forms that are kept for one attribute.
const MOST_OCTETS: usize = 8 << 20;
/// Number of attributes whose normal forms are kept.
const MOST_ATTRIBUTES: usize = 4;

/// The memory of one evaluation of a big filter.
#[derive(Default)]
pub(super) struct FormCache {
    known: Vec<Known>,
}

struct Known {
    slot: Slot,
    rule: &'static MatchingRule,
    forms: Forms,
}

enum Forms {
    /// One item has used the values. The next item will make the normal forms.
    AskedOnce,
    Made(NormalForms),
    /// There are too many.
    None,
}

/// The normal forms of all values, one after the other.
#[derive(Default)]
pub(super) struct NormalForms {
    octets: Vec<u8>,
    ends: Vec<usize>,
}

impl NormalForms {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let form = self.octets.get(start..*end).unwrap_or_default();
            start = *end;
            form
        })
    }

    /// `None`: there are too many.
    fn make(schema: &Schema, source: &dyn ValueSource, slot: Slot, rule: &'static MatchingRule) -> Option<Self> {
        let mut forms = Self::default();
        source.values(slot, &mut |value| {
            let start = forms.octets.len();
            let is_affordable = super::evaluate::afford(source, crate::budget::cost_of(value));
            if (rule.normalize_value)(schema, value, &mut forms.octets).is_ok() {
                forms.ends.push(forms.octets.len());
            } else {
                forms.octets.truncate(start);
            }
            if is_affordable && forms.octets.len() <= MOST_OCTETS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        (forms.octets.len() <= MOST_OCTETS).then_some(forms)
    }
}

impl FormCache {
    /// The forms, if they are made already.
    pub(super) fn made(&self, slot: Slot, rule: &'static MatchingRule) -> Option<&NormalForms> {
        let known = self
            .known
            .iter()
            .find(|known| known.slot == slot && known.rule == rule)?;
        match &known.forms {
            Forms::Made(forms) => Some(forms),
            Forms::AskedOnce | Forms::None => None,
        }
    }

    /// The forms, if an item has asked for them before and there are not too many.
    pub(super) fn of(
        &mut self,
        schema: &Schema,
        source: &dyn ValueSource,
        slot: Slot,
        rule: &'static MatchingRule,
    ) -> Option<&NormalForms> {
        let place = self
            .known
            .iter()
            .position(|known| known.slot == slot && known.rule == rule);
        let Some(place) = place else {
            if self.known.len() < MOST_ATTRIBUTES {
                self.known.push(Known {
                    slot,
                    rule,
                    forms: Forms::AskedOnce,
                });
            }
            return None;
        };
        let known = self.known.get_mut(place)?;
        if matches!(known.forms, Forms::AskedOnce) {
            known.forms = NormalForms::make(schema, source, slot, rule).map_or(Forms::None, Forms::Made);
        }
        match &known.forms {
            Forms::Made(forms) => Some(forms),
            Forms::AskedOnce | Forms::None => None,
        }
    }
}
