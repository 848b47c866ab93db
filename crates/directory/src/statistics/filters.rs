//! The filters of searches: without their values, with the number of searches, their cost, and the indexes that served
//! them.
//!
//! Each reactor has its own record with up to [`MOST_SHAPES`] filters. When it is full, searches with new filters are
//! counted without their filter. After a number of these the record makes room: the cheaper half is removed.

use std::{collections::HashMap, fmt::Write as _};

use ironbark_model::{
    CompiledFilter, Schema, Truth,
    filter::{Slot, compiled::FilterNode},
};
use ironbark_store::{Plan, TermKind};

/// Filters that one reactor remembers.
const MOST_SHAPES: usize = 256;
/// Searches with other filters before the record makes room.
const PATIENCE: u32 = 1024;
/// Filter items that distinguish filters, and that are shown.
const MOST_NODES: usize = 64;
/// Distinguishes the code of a term from that of a node.
const TERM: u64 = 1 << 63;
/// Uses of indexes by filters that were forgotten.
const MOST_USES: usize = 1024;

/// A filter item and whether an index served it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FilterTerm {
    /// First name of the attribute type.
    pub attribute: Box<str>,
    /// How it is compared.
    pub kind: TermKind,
    /// Whether an index served it.
    pub indexed: bool,
}

/// Searches with the same filter, apart from the values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterShape {
    /// The suffix of the database.
    pub database: Box<str>,
    /// The filter with `?` in place of values.
    pub filter: Box<str>,
    /// Whether an index, or the scope, avoided checking every entry.
    pub indexed: bool,
    /// The items that the planner looked up.
    pub terms: Box<[FilterTerm]>,
    /// The cost of these searches.
    pub cost: FilterCost,
}

/// The cost and the results of searches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FilterCost {
    /// Searches.
    pub searches: u64,
    /// Candidates that were looked at.
    pub candidates: u64,
    /// Entries that were returned.
    pub entries: u64,
}

/// Uses of an index on `attribute` by items of this `kind`, in the database with this suffix.
pub type IndexUses = HashMap<(Box<str>, Box<str>, TermKind), u64>;

/// The record of one reactor.
#[derive(Debug, Default)]
pub(super) struct FilterRecord {
    shapes: Vec<(Box<[u64]>, FilterShape)>,
    /// Places in `shapes` by the codes of the filter.
    places: HashMap<Box<[u64]>, usize>,
    /// Memory for the codes of the filter that is being counted.
    codes: Vec<u64>,
    /// The place where the last search was counted: the next one often has the same filter.
    last: usize,
    /// Searches whose filter is not in the record, since it was full.
    missed: u32,
    others: FilterCost,
    /// Uses of indexes by removed filters.
    uses: IndexUses,
}

/// The facts about a search that the record needs.
pub(crate) struct Searched<'a> {
    pub(crate) schema: &'a Schema,
    /// Identifies the database.
    pub(crate) database: u64,
    pub(crate) suffix: &'a str,
    pub(crate) filter: &'a CompiledFilter,
    pub(crate) plan: &'a Plan,
    pub(crate) cost: FilterCost,
}

impl FilterRecord {
    pub(super) fn count(&mut self, searched: &Searched<'_>) {
        put_codes(searched, &mut self.codes);
        let codes = &*self.codes;
        let is_last = self.shapes.get(self.last).is_some_and(|(known, _)| **known == *codes);
        let place = if is_last {
            Some(self.last)
        } else {
            self.places.get(codes).copied()
        };
        if let Some(place) = place
            && let Some((_, shape)) = self.shapes.get_mut(place)
        {
            shape.cost.add(searched.cost);
            self.last = place;
            return;
        }
        if self.shapes.len() >= MOST_SHAPES {
            self.others.add(searched.cost);
            self.missed += 1;
            if self.missed >= PATIENCE {
                self.make_room();
            }
            return;
        }
        self.last = self.shapes.len();
        self.places.insert(codes.into(), self.shapes.len());
        self.shapes.push((codes.into(), shape_of(searched)));
    }

    /// Removes the cheaper half, but keeps the uses of indexes.
    fn make_room(&mut self) {
        self.missed = 0;
        let weight = |cost: &FilterCost| cost.candidates.saturating_add(cost.searches);
        self.shapes
            .sort_by_key(|(_, shape)| std::cmp::Reverse(weight(&shape.cost)));
        for (_, shape) in self.shapes.drain(MOST_SHAPES / 2..) {
            self.others.add(shape.cost);
            add_uses(&mut self.uses, &shape, MOST_USES);
        }
        self.places.clear();
        for (place, (codes, _)) in self.shapes.iter().enumerate() {
            self.places.insert(codes.clone(), place);
        }
        self.last = 0;
    }

    /// Adds this record to those of other reactors.
    pub(super) fn add_to(&self, report: &mut FilterReport) {
        for (_, shape) in &self.shapes {
            add_uses(&mut report.uses, shape, usize::MAX);
            let same = |known: &&mut FilterShape| {
                (&known.database, &known.filter, known.indexed, &known.terms)
                    == (&shape.database, &shape.filter, shape.indexed, &shape.terms)
            };
            match report.shapes.iter_mut().find(same) {
                Some(known) => known.cost.add(shape.cost),
                None => report.shapes.push(shape.clone()),
            }
        }
        report.others.add(self.others);
        for (index, count) in &self.uses {
            *report.uses.entry(index.clone()).or_default() += count;
        }
    }
}

/// The filters of searches in the whole server.
#[derive(Clone, Debug, Default)]
pub struct FilterReport {
    /// Filters, the most expensive first.
    pub shapes: Vec<FilterShape>,
    /// The cost of searches whose filter is not among them.
    pub others: FilterCost,
    /// How often searches used each index, including removed filters.
    pub uses: IndexUses,
}

impl FilterCost {
    fn add(&mut self, other: Self) {
        self.searches += other.searches;
        self.candidates += other.candidates;
        self.entries += other.entries;
    }
}

fn add_uses(uses: &mut IndexUses, shape: &FilterShape, most: usize) {
    for term in shape.terms.iter().filter(|term| term.indexed) {
        let index = (shape.database.clone(), term.attribute.clone(), term.kind);
        if uses.len() < most || uses.contains_key(&index) {
            *uses.entry(index).or_default() += shape.cost.searches;
        }
    }
}

/// Makes the codes that all searches with the same filter have, apart from the values, and no others. Only the first
/// [`MOST_NODES`] items count.
fn put_codes(searched: &Searched<'_>, codes: &mut Vec<u64>) {
    codes.clear();
    codes.push(searched.database << 1 | u64::from(searched.plan.indexed));
    let nodes = searched.filter.nodes.iter().take(MOST_NODES);
    codes.extend(nodes.map(|node| code_of(searched.filter, node)));
    codes.extend(searched.plan.terms().take(MOST_NODES).map(|term| {
        let outcome = (term.kind as u64) << 1 | u64::from(term.indexed);
        TERM | outcome << 32 | u64::from(term.attribute.0)
    }));
}

fn shape_of(searched: &Searched<'_>) -> FilterShape {
    let name = |number| searched.schema.attribute_type(number).name();
    let terms = searched.plan.terms().map(|term| FilterTerm {
        attribute: Box::from(name(term.attribute)),
        kind: term.kind,
        indexed: term.indexed,
    });
    FilterShape {
        database: searched.suffix.into(),
        filter: filter_without_values(searched.schema, searched.filter).into(),
        indexed: searched.plan.indexed,
        terms: terms.collect(),
        cost: searched.cost,
    }
}

/// The part of a node that distinguishes it: its kind, and its attribute or its extent.
fn code_of(filter: &CompiledFilter, node: &FilterNode) -> u64 {
    let kind: u64 = match node {
        FilterNode::And { .. } => 0,
        FilterNode::Or { .. } => 1,
        FilterNode::Not { .. } => 2,
        FilterNode::Constant(Truth::True) => 3,
        FilterNode::Constant(Truth::False) => 4,
        FilterNode::Constant(Truth::Undefined) => 5,
        FilterNode::Present(_) => 6,
        FilterNode::Equality { .. } => 7,
        FilterNode::AnyOf { .. } => 8,
        FilterNode::Less { .. } => 9,
        FilterNode::GreaterOrEqual { .. } => 10,
        FilterNode::LessOrEqual { .. } => 11,
        FilterNode::Approx { .. } => 12,
        FilterNode::Substrings { .. } => 13,
        FilterNode::AnyAttribute { .. } => 14,
        FilterNode::InChain { .. } => 15,
    };
    let number = match (end_of(node), slot_of(node)) {
        (Some(end), _) => end,
        (None, Some(slot)) => filter.slot(slot).map_or(0, |description| description.attribute_type.0),
        (None, None) => 0,
    };
    kind << 32 | u64::from(number)
}

fn slot_of(node: &FilterNode) -> Option<Slot> {
    match node {
        FilterNode::Present(slot)
        | FilterNode::Equality { slot, .. }
        | FilterNode::AnyOf { slot, .. }
        | FilterNode::Less { slot, .. }
        | FilterNode::GreaterOrEqual { slot, .. }
        | FilterNode::LessOrEqual { slot, .. }
        | FilterNode::Approx { slot, .. }
        | FilterNode::Substrings { slot, .. }
        | FilterNode::InChain { slot, .. } => Some(*slot),
        FilterNode::And { .. }
        | FilterNode::Or { .. }
        | FilterNode::Not { .. }
        | FilterNode::Constant(_)
        | FilterNode::AnyAttribute { .. } => None,
    }
}

fn end_of(node: &FilterNode) -> Option<u32> {
    match node {
        FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => Some(*end),
        _ => None,
    }
}

/// The filter with `?` instead of values; cut off if it is long.
pub fn filter_without_values(schema: &Schema, filter: &CompiledFilter) -> String {
    let mut text = String::new();
    let mut open: Vec<u32> = Vec::new();
    for (at, node) in (0_u32..).zip(&filter.nodes) {
        while open.last().is_some_and(|end| *end <= at) {
            open.pop();
            text.push(')');
        }
        if at as usize >= MOST_NODES {
            text.push_str("...");
            break;
        }
        if let Some(end) = end_of(node) {
            text.push('(');
            text.push(match node {
                FilterNode::And { .. } => '&',
                FilterNode::Or { .. } => '|',
                _ => '!',
            });
            open.push(end);
            continue;
        }
        item_text(schema, filter, node, &mut text);
    }
    text.extend(open.iter().map(|_| ')'));
    text
}

fn item_text(schema: &Schema, filter: &CompiledFilter, node: &FilterNode, text: &mut String) {
    let name = slot_of(node)
        .and_then(|slot| filter.slot(slot))
        .map(|description| schema.description_text(description))
        .unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = match node {
        FilterNode::Present(_) => write!(text, "({name}=*)"),
        FilterNode::Less { .. } => write!(text, "({name}<?)"),
        FilterNode::GreaterOrEqual { .. } => write!(text, "({name}>=?)"),
        FilterNode::LessOrEqual { .. } => write!(text, "({name}<=?)"),
        FilterNode::Approx { .. } => write!(text, "({name}~=?)"),
        FilterNode::InChain { .. } => write!(text, "({name}:1.2.840.113556.1.4.1941:=?)"),
        FilterNode::Substrings {
            initial, any, r#final, ..
        } => {
            let part = |is_there| if is_there { "?" } else { "" };
            let middle = if any.is_empty() { "" } else { "?*" };
            let (first, last) = (part(initial.is_some()), part(r#final.is_some()));
            write!(text, "({name}={first}*{middle}{last})")
        }
        FilterNode::AnyAttribute { rule, .. } => write!(text, "(:{}:=?)", rule.oid),
        FilterNode::Constant(Truth::True) => write!(text, "(&)"),
        FilterNode::Constant(Truth::False) => write!(text, "(|)"),
        FilterNode::Constant(Truth::Undefined) => write!(text, "(?=undefined)"),
        _ => write!(text, "({name}=?)"),
    };
}
