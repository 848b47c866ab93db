//! Whether a search sees derived attributes, and the walk over entries that have them.

use ironbark_model::AttributeDescription;
use ironbark_store::{DerivedAttributes, Purpose, View};

use super::{
    consider::Asker,
    run::{SearchRun, Walked},
    target::StoredWalk,
    work::Step,
};
use crate::{
    NamingContext, OperationError,
    overlay::{derived::DerivedFor, facts::Facts, overlays_of},
};

impl SearchRun {
    /// Walks over a view with derived attributes, if the search may see some.
    pub(super) fn walk_deriving(
        &mut self,
        context: &NamingContext,
        view: View<'_>,
        walk: &mut StoredWalk,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        if overlays_of(context).derivations.is_empty() && !self.sees_derived(None) {
            return self.walk_view(context, view, walk, step);
        }
        let facts = step.scratch.facts(&self.configuration, context, view)?;
        let facts = facts.as_deref().filter(|_| !self.is_synchronizing());
        if !self.sees_derived(facts) {
            return self.walk_view(context, view, walk, step);
        }
        let asker = Asker::of(self);
        let derived = DerivedFor {
            configuration: &asker.configuration,
            context,
            facts,
            asker: asker.requester(context),
            manages_dsa_it: self.options.manage_dsa_it,
        };
        self.walk_view(context, view.deriving(&derived), walk, step)
    }

    /// Whether derived attributes may have a part in the answers. `facts` are those of the database; `None`: only
    /// attributes that follow from the tree are derived.
    #[inline]
    pub(super) fn sees_derived(&self, facts: Option<&Facts>) -> bool {
        match facts {
            None => {
                let tree = &self.configuration.tree_attributes;
                self.asks_for(|asked, purpose| tree.covers(asked, purpose), false)
            }
            Some(facts) => self.asks_for(
                |asked, purpose| facts.cover(asked, purpose),
                facts.give_user_attributes(),
            ),
        }
    }

    #[inline]
    fn asks_for(&self, covers: impl Fn(&AttributeDescription, Purpose) -> bool, gives_user_attributes: bool) -> bool {
        let shows = |asked: &AttributeDescription| covers(asked, Purpose::Show);
        self.filter.asks_any_attribute
            || self.filter.slots.iter().any(|asked| covers(asked, Purpose::Match))
            || self.selection.may_select_derived(shows, gives_user_attributes)
            || self.extras.as_deref().is_some_and(|extras| {
                // The entries that are dereferenced may have any.
                let sorting = extras.sort.as_ref();
                !extras.dereference.is_empty() || sorting.is_some_and(|sorting| sorting.attributes().any(shows))
            })
    }
}
