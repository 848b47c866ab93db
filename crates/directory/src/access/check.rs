//! Evaluation of access rules, as slapd.access(5) describes it: the first rule whose `what` holds decides, through its
//! `by` clauses.
//!
//! Implicit endings: a rule whose clauses all pass by grants nothing; after the last rule nothing is granted; without
//! any rule everybody reads. The frontend's rules follow the database's own.

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
    /// What its name is made of, if whoever asks knows it.
    pub(super) place: Option<EntryPlace<'a>>,
    /// Its name, once a rule has asked for it.
    pub(super) dn: BorrowedName<'a>,
    /// That is the name which it is about to get.
    pub(super) is_renamed: bool,
    /// All that is known of the subject.
    pub(super) standing: Option<&'a SubjectDecisions>,
    /// What sets say of the subject and the entry.
    pub(super) sets: SetAnswers,
    /// Which of the first 64 questions have been answered, and how.
    pub(super) answered: Cell<(u64, u64)>,
    /// What is known about entries of which the same is true, for the same subject.
    pub(super) kind: Option<Rc<EntryDecisions>>,
    /// Whether a rule could not be evaluated: then nothing is granted, for the clause that was passed over may have
    /// been one that refuses.
    failed: Cell<bool>,
}

/// For what a decision about an attribute holds.
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

/// What is known of the privileges on all values of an attribute of the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnAll {
    /// These, in all entries of the same kind.
    Alike(Privileges),
    /// These, in this entry.
    Here(Privileges),
    /// Each value has to be asked about.
    ByValue,
}

/// What was decided, and by what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    pub(crate) privileges: Privileges,
    /// What had been gathered when the rules ended: nothing of it is granted.
    pub(super) left: Privileges,
    /// The rule, by its place among the compiled ones, and the number of its clause from 1 on; 0 for the implicit one.
    pub(crate) by: Option<(usize, usize)>,
    /// For what else it holds.
    pub(super) reach: Reach,
}

impl<'a> Check<'a> {
    /// The rules of the database of who asks. The caller has let the rootdn pass.
    pub(super) fn of(requester: Requester<'a>, source: Source<'a>) -> Self {
        Self::new(requester.configuration, requester.rules(), requester.subject, source)
    }

    /// Everything that applies to an entry of a naming context. The caller has let the rootdn pass.
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
                Source::Record(_, view) => Some(view),
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

    /// Other entries of the database are looked up in this transaction.
    pub(super) fn within(mut self, view: View<'a>) -> Self {
        self.view = Some(view);
        self
    }

    /// Rules see the entry under this name, whatever they have said of it under its own.
    pub(super) fn named(mut self, name: Dn) -> Self {
        self.dn = BorrowedName::known(name);
        self.is_renamed = true;
        (self.place, self.kind) = (None, None);
        self.sets = SetAnswers::default();
        self.answered.set((0, 0));
        self
    }

    /// Whether a rule could not be evaluated, or the steps have run out: what was found out is not to be remembered.
    pub(super) fn cannot_tell(&self) -> bool {
        self.failed.get() || self.budget().is_some_and(Budget::is_exhausted)
    }

    /// What the check may cost; `None`: whatever it costs.
    pub(super) fn budget(&self) -> Option<&'a Budget> {
        self.view.and_then(|view| view.budget()).or(self.subject.budget)
    }

    /// A rule could not be evaluated.
    pub(super) fn fail(&self) {
        self.failed.set(true);
    }

    /// The entry's place is known.
    pub(super) fn placed(mut self, place: EntryPlace<'a>) -> Self {
        self.place = Some(place);
        self
    }

    /// What is known about entries like this.
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
