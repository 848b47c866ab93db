//! Walking a filter without recursion, so that its depth costs no stack.

use smallvec::SmallVec;

use super::Filter;

/// One step of a walk through a filter.
#[derive(Clone, Copy, Debug)]
pub enum FilterStep<'f, 'a> {
    /// A node is reached; its operands follow.
    Enter(&'f Filter<'a>),
    /// All operands of an `&`, `|` or `!` are done. Items are only entered.
    Leave(&'f Filter<'a>),
}

/// The walk of [`Filter::steps`].
#[derive(Debug)]
pub struct FilterSteps<'f, 'a> {
    start: Option<&'f Filter<'a>>,
    open: SmallVec<[(&'f Filter<'a>, std::slice::Iter<'f, Filter<'a>>); 8]>,
}

impl<'f, 'a> FilterSteps<'f, 'a> {
    pub(super) fn new(filter: &'f Filter<'a>) -> Self {
        Self {
            start: Some(filter),
            open: SmallVec::new(),
        }
    }
    fn enter(&mut self, filter: &'f Filter<'a>) -> FilterStep<'f, 'a> {
        if matches!(filter, Filter::And(_) | Filter::Or(_) | Filter::Not(_)) {
            self.open.push((filter, filter.children().iter()));
        }
        FilterStep::Enter(filter)
    }
}

impl<'f, 'a> Iterator for FilterSteps<'f, 'a> {
    type Item = FilterStep<'f, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(filter) = self.start.take() {
            return Some(self.enter(filter));
        }
        match self.open.last_mut()?.1.next() {
            Some(child) => Some(self.enter(child)),
            None => self.open.pop().map(|(filter, _)| FilterStep::Leave(filter)),
        }
    }
}
