//! Looks up together what the searches of one read ask for (docs/internals/store.md, "Looking ahead").
//!
//! It changes no answer: a search takes from it what it would have looked up itself, in the same snapshot. So nobody
//! learns more from it than from the search, and a look-up that no search uses (for a limit, or for access) costs a
//! fraction of a microsecond, which the turn pays for.

use std::sync::Arc;

use ironbark_ldap_proto::AssertionsAhead;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema,
    filter::{Assertion, compiled::FilterNode},
    matching::MatchingRule,
};
use ironbark_store::{EqualityList, FoundAhead, LANES};
use smallvec::SmallVec;

use super::{prepare::store_scope, targets::choose};
use crate::{Configuration, NamingContext, scratch::Scratch};

/// What a reactor knows of the searches that its clients send. It is of one configuration.
#[derive(Default)]
pub(crate) struct LookAhead {
    /// The last kinds of searches that are alike but for the asserted values.
    shapes: SmallVec<[Shape; SHAPES]>,
    /// The shape that is replaced next.
    oldest: usize,
    /// Searches of unknown shapes so far.
    unknown: u32,
    lists: SmallVec<[EqualityList; LANES]>,
    /// Shape and assertion of each list.
    askers: SmallVec<[(usize, usize); LANES]>,
    normal: Vec<u8>,
}

/// Kinds of searches that are known at a time. An application sends one or two.
const SHAPES: usize = 4;
/// Of so many searches with unknown shapes, one gets its shape known.
const UNKNOWN: u32 = 16;
/// Octets of a message that is looked at.
const MOST_OCTETS: usize = 2048;
/// Looks that find no single entry, after which an assertion is not looked up ahead any more.
const MOST_MISSES: u8 = 3;
/// Steps of a turn that a list and its record cost.
const STEPS: u64 = 1;

/// Searches that are alike.
struct Shape {
    before: Box<[u8]>,
    items: SmallVec<[Item; 2]>,
    /// `None`: their entries are not in a database of the store.
    context: Option<Arc<NamingContext>>,
}

/// One equality assertion of such searches.
struct Item {
    attribute: Box<[u8]>,
    /// `None`: the schema does not know it, or it is no equality of normal forms.
    asked: Option<(AttributeDescription, &'static MatchingRule)>,
    /// Looks in a row that did not find one entry.
    misses: u8,
}

impl LookAhead {
    /// Looks up together what the searches at the front of `received` ask for. Returns the number of messages that it
    /// has looked at, at least one.
    pub(crate) fn look(
        &mut self,
        scratch: &mut Scratch,
        configuration: &Arc<Configuration>,
        received: &[u8],
        limit: usize,
    ) -> usize {
        let (mut rest, mut seen) = (received, 0);
        while let Ok(Some(length)) = ironbark_ldap_proto::frame(rest, limit)
            && let Some((message, behind)) = rest.split_at_checked(length)
        {
            // A message alone has nothing to wait together with.
            if seen == 0 && !matches!(ironbark_ldap_proto::frame(behind, limit), Ok(Some(_))) {
                break;
            }
            seen += 1;
            if !self.add(scratch, configuration, message) || self.lists.len() >= LANES {
                break;
            }
            rest = behind;
        }
        self.look_up(scratch);
        seen.max(1)
    }

    /// Looks up the lists.
    fn look_up(&mut self, scratch: &mut Scratch) {
        scratch.turn_left = scratch.turn_left.saturating_sub(STEPS * self.lists.len() as u64);
        let shape = self.askers.first().and_then(|(shape, _)| self.shapes.get(*shape));
        let context = shape.and_then(|shape| shape.context.as_ref());
        if let Some(context) = context
            && let Ok(Some(snapshot)) = scratch.take_snapshot(context)
        {
            let found = snapshot.look_ahead(&self.lists);
            scratch.keep_snapshot(snapshot);
            self.note(found);
        }
        self.lists.clear();
        self.askers.clear();
    }

    fn note(&mut self, found: FoundAhead) {
        for (place, (shape, item)) in self.askers.iter().enumerate() {
            let shape = self.shapes.get_mut(*shape);
            if let Some(item) = shape.and_then(|shape| shape.items.get_mut(*item)) {
                let is_found = found.contains(place);
                item.misses = if is_found { 0 } else { item.misses.saturating_add(1) };
            }
        }
    }

    /// Adds the lists of a search. `false`: there are none, or it is of another database than those before.
    fn add(&mut self, scratch: &mut Scratch, configuration: &Arc<Configuration>, message: &[u8]) -> bool {
        // What a longer one costs would not be paid for.
        let search = Some(message).filter(|message| message.len() <= MOST_OCTETS);
        let Some(search) = search.and_then(AssertionsAhead::of) else {
            return false;
        };
        let Some(shape) = self.shape_of(configuration, &search) else {
            return false;
        };
        let of = |shape: usize| self.shapes.get(shape)?.context.as_ref();
        let Some(context) = of(shape) else { return false };
        let first = self.askers.first().and_then(|(shape, _)| of(*shape));
        if first.is_some_and(|first| !Arc::ptr_eq(first, context)) {
            return false;
        }
        let Ok(Some(snapshot)) = scratch.take_snapshot(context) else {
            return false;
        };
        let before = self.lists.len();
        let items = self.shapes.get(shape).map_or(&[][..], |shape| &shape.items);
        for (place, (item, (_, value))) in items.iter().zip(&search.assertions).enumerate() {
            let Some((description, rule)) = &item.asked else {
                continue;
            };
            self.normal.clear();
            let is_worth = item.misses < MOST_MISSES && self.lists.len() < LANES;
            if is_worth
                && rule.assertion(&configuration.schema, value, &mut self.normal).is_ok()
                && let Some(list) = snapshot.view().equality_list(description, rule, &self.normal)
            {
                self.lists.push(list);
                self.askers.push((shape, place));
            }
        }
        scratch.keep_snapshot(snapshot);
        self.lists.len() > before
    }

    /// The place of the search's shape among the known ones. `None`: it is not known, and does not become so.
    fn shape_of(&mut self, configuration: &Arc<Configuration>, search: &AssertionsAhead<'_>) -> Option<usize> {
        if let Some(place) = self.shapes.iter().position(|shape| shape.is_of(search)) {
            return Some(place);
        }
        if self.shapes.len() < SHAPES {
            self.shapes.push(Shape::of(configuration, search));
            return Some(self.shapes.len() - 1);
        }
        // Searches that are all different would replace shapes that others use, and pay for a new one each time.
        self.unknown = self.unknown.wrapping_add(1);
        if !self.unknown.is_multiple_of(UNKNOWN) || !self.lists.is_empty() {
            return None;
        }
        let place = self.oldest;
        self.oldest = (place + 1) % SHAPES;
        *self.shapes.get_mut(place)? = Shape::of(configuration, search);
        Some(place)
    }
}

impl Shape {
    fn of(configuration: &Arc<Configuration>, search: &AssertionsAhead<'_>) -> Self {
        let context = || {
            let base = Dn::parse(&configuration.schema, search.base).ok()?;
            let context = choose(configuration, &base, store_scope(search.scope)).ok()?;
            context.database().map(|_| Arc::clone(context))
        };
        let mut filter = CompiledFilter::default();
        let item = |(attribute, value): &(&[u8], &[u8])| Item {
            attribute: (*attribute).into(),
            asked: asked(&mut filter, &configuration.schema, attribute, value),
            misses: 0,
        };
        Self {
            before: search.before.into(),
            items: search.assertions.iter().map(item).collect(),
            context: context(),
        }
    }

    #[inline]
    fn is_of(&self, search: &AssertionsAhead<'_>) -> bool {
        *self.before == *search.before
            && self.items.len() == search.assertions.len()
            && (self.items.iter().zip(&search.assertions)).all(|(item, (attribute, _))| *item.attribute == **attribute)
    }
}

/// Which attribute is asked for, and the rule that decides.
fn asked(
    filter: &mut CompiledFilter,
    schema: &Schema,
    attribute: &[u8],
    value: &[u8],
) -> Option<(AttributeDescription, &'static MatchingRule)> {
    let assertion = Assertion {
        attribute: attribute.into(),
        value: value.into(),
    };
    filter.compile(schema, &Filter::Equality(assertion));
    match filter.nodes.first()? {
        FilterNode::Equality { slot, rule, .. } => Some((filter.slot(*slot)?.clone(), rule)),
        _ => None,
    }
}
