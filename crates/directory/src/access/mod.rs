//! Access control: the one seam between stored entries and clients.
//!
//! Rules are compiled once (`rules.rs`) and evaluated by [`Check`], one for each pair of entry and subject. Searches
//! remember decisions (`decisions.rs`).
//!
//! Invariant: [`visible`] is the only constructor of [`VisibleEntry`], and only a `VisibleEntry` can be encoded to a
//! client.

pub(crate) mod assertion;
pub(crate) mod check;
mod decide;
mod decisions;
pub(crate) mod disclosure;
mod entry_seen;
mod extent;
pub(crate) mod lookup;
mod matched;
mod name;
mod operations;
mod place;
mod requester;
mod searchable;
mod set_expression;
mod set_holds;
mod set_memory;
mod subject;
mod target;
mod visible;
mod who;
mod write_check;

pub(crate) use self::{
    check::Check,
    decisions::{DecisionCache, SubjectDecisions},
    extent::Extent,
    lookup::Lookup,
    operations::admit,
    place::EntryPlace,
    requester::Requester,
    searchable::{Answerable, AnswerableEntries},
    set_memory::SetAnswers,
    target::{Readable, Source, Target},
    visible::{check, check_remembered, visible},
    write_check::WriteCheck,
};
pub use self::{set_expression::SetExpression, subject::Subject, visible::VisibleEntry};
