//! Evaluation of access rules, as slapd.access(5) describes it: the first rule whose `what` matches decides, by its
//! `by` clauses.
//!
//! Implicit endings: a rule grants nothing if none of its clauses matches. After the last rule nothing is granted.
//! Without any rule everybody may read. The frontend's rules follow the database's own.

use std::{cell::Cell, rc::Rc};

use ironbark_config::access::Privileges;
use ironbark_model::{Attribute, AttributeDescription, Budget, Dn};
use ironbark_store::View;

use super::{
    decisions::{EntryDecisions, SubjectDecisions},
    place::{BorrowedName, EntryPlace},
    requester::Requester,
    set_memory::SetAnswers,
    subject::Subject,
    target::Source,
};
use crate::{Configuration, rules::Rules};

/// Access rules applied to one subject and one entry.
pub(crate) struct Check<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) rules: &'a Rules,
    pub(super) subject: Subject<'a>,
    pub(super) source: Source<'a>,
    /// The transaction in which other entries of the database are looked up; `None`: the last commit.
    pub(super) view: Option<View<'a>>,
    /// The parts of the entry's name, if the caller knows them.
    pub(super) place: Option<EntryPlace<'a>>,
    /// The entry's name, once a rule has needed it.
    pub(super) dn: BorrowedName<'a>,
    /// Whether this is the name that the entry is about to get.
    pub(super) is_renamed: bool,
    /// Everything that is remembered about the subject.
    pub(super) standing: Option<&'a SubjectDecisions>,
    /// The results of sets for the subject and the entry.
    pub(super) sets: SetAnswers,
    /// Which of the first 64 questions have been answered, and the answers.
    pub(super) answered: Cell<(u64, u64)>,
    /// The remembered decisions for entries with the same answers, for the same subject.
    pub(super) kind: Option<Rc<EntryDecisions>>,
    /// Whether a rule could not be evaluated. Nothing is granted then, because the skipped clause may have been one
    /// that refuses.
    failed: Cell<bool>,
}

/// How far a decision about an attribute applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) enum Reach {
    /// All entries of the same kind.
    #[default]
    EntryDecisions,
    /// All values in this entry.
    Entry,
    /// This value.
    Value,
}

/// The known privileges on all values of an attribute of the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnAll {
    /// These, in all entries of the same kind.
    Alike(Privileges),
    /// These, in this entry.
    Here(Privileges),
    /// Each value must be decided on its own.
    ByValue,
}

/// A decision and its reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    pub(crate) privileges: Privileges,
    /// The privileges gathered when the rules ended: none of them is granted.
    pub(super) left: Privileges,
    /// The rule, by its place among the compiled ones, and the number of its clause from 1 on; 0 for the implicit one.
    pub(crate) by: Option<(usize, usize)>,
    /// How far the decision applies beyond this value.
    pub(super) reach: Reach,
}

impl<'a> Check<'a> {
    /// The rules of the requester's database. The caller has checked that the requester is not the rootdn.
    pub(super) fn of(requester: Requester<'a>, source: Source<'a>) -> Self {
        Self::new(requester.configuration, requester.rules(), requester.subject, source)
    }

    /// All rules that apply to an entry of a naming context. The caller has checked that the subject is not the rootdn.
    pub(crate) fn new(
        configuration: &'a Configuration,
        rules: &'a Rules,
        subject: Subject<'a>,
        source: Source<'a>,
    ) -> Self {
        Self {
            configuration,
            rules,
            subject,
            source,
            view: match source {
                // Rules see what entries hold.
                Source::Record(_, view) => Some(view.without_derived()),
                Source::Memory(_) => None,
            },
            place: None,
            dn: BorrowedName::default(),
            is_renamed: false,
            standing: None,
            sets: SetAnswers::default(),
            answered: Cell::new((0, 0)),
            kind: None,
            failed: Cell::new(false),
        }
    }

    /// Looks up other entries of the database in this transaction.
    pub(super) fn within(mut self, view: View<'a>) -> Self {
        self.view = Some(view);
        self
    }

    /// Rules see the entry under this name. Decisions about its own name no longer count.
    pub(super) fn named(mut self, name: Dn) -> Self {
        self.dn = BorrowedName::known(name);
        self.is_renamed = true;
        (self.place, self.kind) = (None, None);
        self.sets = SetAnswers::default();
        self.answered.set((0, 0));
        self
    }

    /// Whether a rule could not be evaluated, or the steps have run out: the result must not be remembered.
    pub(super) fn cannot_tell(&self) -> bool {
        self.failed.get() || self.budget().is_some_and(Budget::is_exhausted)
    }

    /// The limit on the cost of the check; `None`: no limit.
    pub(super) fn budget(&self) -> Option<&'a Budget> {
        self.view.and_then(|view| view.budget()).or(self.subject.budget)
    }

    /// Notes that a rule could not be evaluated.
    pub(super) fn fail(&self) {
        self.failed.set(true);
    }

    /// Sets the entry's place.
    pub(super) fn placed(mut self, place: EntryPlace<'a>) -> Self {
        self.place = Some(place);
        self
    }

    /// The remembered decisions about entries of this kind.
    pub(super) fn kind(&self) -> Option<&EntryDecisions> {
        self.kind.as_deref()
    }

    /// Visits the attributes that a description asks for, subtypes and options included, until one says yes.
    pub(super) fn any_attribute(&self, asked: &AttributeDescription, mut test: impl FnMut(Held<'_>) -> bool) -> bool {
        let schema = &*self.configuration.schema;
        match self.source {
            Source::Record(record, _) => record
                .attributes()
                .any(|held| schema.is_description_subtype(held.description(), asked) && test(Held::Stored(&held))),
            Source::Memory(entry) => entry
                .attributes
                .iter()
                .any(|held| schema.is_description_subtype(&held.description, asked) && test(Held::Memory(held))),
        }
    }
}

/// An attribute of an entry.
pub(super) enum Held<'h> {
    Stored(&'h ironbark_store::RecordAttribute<'h>),
    Memory(&'h Attribute),
}
