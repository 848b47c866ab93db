//! Searches of overlays for other entries, in the transaction of a write.

use ironbark_config::access::Privileges;
use ironbark_model::{CompiledFilter, Dn, Entry, Filter, Truth, budget::Budget, filter::Guard};
use ironbark_store::{DitScope, EntryGuards, EntryId, Evaluation, Location, View};

use super::Execution;
use crate::{
    NamingContext, OperationError,
    access::{AnswerableEntries, Requester, SetExpression, Subject, Target, WriteCheck},
};

/// A search for any entry that matches a filter.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Where it begins, in any database; `None`: at each suffix of the write's own database.
    pub base: Option<&'a Dn>,
    /// How far it goes.
    pub scope: DitScope,
    /// What it looks for.
    pub filter: &'a Filter<'a>,
    /// An entry of the write's own database that is ignored.
    pub except: Option<EntryId>,
    /// The rights that apply.
    pub rights: Rights,
}

/// The rights that a search uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rights {
    /// The server's: every entry can answer.
    Server,
    /// The client's: an entry that it may not search does not answer.
    Client,
}

impl Execution<'_, '_> {
    /// Whether there is such an entry. The write's own database is read in the transaction, others as they are now. The
    /// answer is meaningless if `work` is exhausted.
    ///
    /// # Errors
    /// The storage failed.
    pub fn finds(&self, question: &Question<'_>, work: &Budget) -> Result<bool, OperationError> {
        let own = self.view().under(work);
        let Some(base) = question.base else {
            for suffix in self.context.suffixes() {
                if self.finds_in(self.context, own, suffix, question)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        };
        let Some(context) = self.configuration.context_of(base) else {
            return Ok(false);
        };
        if context.number == self.context.number {
            return self.finds_in(self.context, own, base, question);
        }
        let Some(database) = context.database() else {
            return Ok(false);
        };
        let (snapshot, others) = (
            database.snapshot()?,
            Question {
                except: None,
                ..*question
            },
        );
        let view = snapshot.view().deriving(&self.configuration.tree_attributes);
        self.finds_in(context, view.under(work), base, &others)
    }

    fn finds_in(
        &self,
        context: &NamingContext,
        view: View<'_>,
        base: &Dn,
        question: &Question<'_>,
    ) -> Result<bool, OperationError> {
        let scope = question.scope;
        let Location::Entry(base) = view.locate(base)? else {
            return Ok(false);
        };
        let subject = match question.rights {
            Rights::Server => Subject::of_server(self.origin),
            Rights::Client => self.subject().at(context),
        };
        let requester = Requester {
            configuration: self.configuration,
            context,
            subject,
        };
        let guards = AnswerableEntries::new(requester, None, Privileges::SEARCH);
        let guards = guards.as_ref().map(|guards| guards as &dyn EntryGuards);
        let mut filter = CompiledFilter::default();
        filter.compile_within(view.schema(), question.filter, view.budget());
        let plan = view.plan_guarded(base, scope, &filter, guards)?;
        let mut candidates = view.candidates(&plan, 0)?;
        let mut scratch = Vec::new();
        while let Some(record) = candidates.next_record()? {
            if !view.spend(1) {
                return Ok(false);
            }
            if Some(record.id) == question.except || !record.is_in_scope(base, scope)? {
                continue;
            }
            let check = WriteCheck::on_record(requester, &record, view);
            let guard = check.answerable(Privileges::SEARCH);
            let with = Evaluation {
                plan: Some(&plan),
                guard: guard.as_ref().map(|guard| guard as &dyn Guard),
                guards,
                ..Evaluation::default()
            };
            if record.evaluate_with(with, &filter, &mut scratch) == Truth::True
                && check.permits(Target::Entry, Privileges::SEARCH)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a set holds for an entry, which need not be stored, and the requester. Everything is read with the
    /// server's rights, as in slapd.
    pub fn set_holds(&self, set: &SetExpression, entry: &Entry) -> bool {
        set.holds(self.configuration, self.subject(), entry, self.view())
    }
}
