//! Sets that are used outside access rules.

use ironbark_model::Entry;
use ironbark_store::View;

use super::{check::Check, subject::Subject, target::Source};
use crate::{
    Configuration,
    rules::{Rules, set::Program},
};

/// A set, as in `set=` of slapd.access(5).
#[derive(Clone, Debug)]
pub struct SetExpression(Program);

impl SetExpression {
    /// Compiles a text. A malformed set holds for nobody, as in slapd.
    pub fn new(text: &str) -> Self {
        Self(Program::parse(text.as_bytes()))
    }

    /// Whether the set is not empty for an entry, which need not be stored. Other entries are read in `view`, without
    /// access checks. A set that is too big does not hold.
    pub(crate) fn holds(
        &self,
        configuration: &Configuration,
        subject: Subject<'_>,
        entry: &Entry,
        view: View<'_>,
    ) -> bool {
        let check = Check::new(configuration, Rules::none(), subject, Source::Memory(entry)).within(view);
        self.0.holds(&check) && !check.cannot_tell()
    }
}
