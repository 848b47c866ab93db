//! Searches that send numbers in place of what they find, as an overlay reports them.

use std::sync::Arc;

use ironbark_ldap_proto::controls::RequestControls;
use ironbark_model::ResultCode;

use super::run::SearchRun;
use crate::{
    NamingContext, OperationError, ResponseControl,
    overlay::{Counted, overlays_of},
    refusal::ControlRefusal,
};

impl SearchRun {
    /// Makes it a count, if an overlay of the database answers a control that asks for one.
    ///
    /// # Errors
    /// `unavailableCriticalExtension`.
    pub(super) fn count_if_asked(
        &mut self,
        context: &NamingContext,
        controls: &RequestControls<'_>,
    ) -> Result<(), OperationError> {
        if controls.of_overlays.is_empty() {
            return Ok(());
        }
        for hooks in &overlays_of(context).counting {
            let Some(sent) = controls.sent(hooks.asked_by()) else {
                continue;
            };
            // A consumer would take what it is not sent for deleted.
            if !self.is_synchronizing() {
                self.extras.get_or_insert_default().counting = Some(Arc::clone(hooks));
            } else if sent.critical {
                return Err(ControlRefusal::Unavailable.into());
            }
        }
        Ok(())
    }

    /// Whether nothing is sent but numbers.
    pub(super) fn counts_only(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.counting.is_some())
    }

    /// The numbers, if they are asked for.
    pub(super) fn counted(&self) -> Option<ResponseControl> {
        let hooks = self.extras.as_ref()?.counting.as_ref()?;
        let verdict = self.verdict.as_ref();
        Some(hooks.report(Counted {
            code: verdict.map_or(ResultCode::SUCCESS, |verdict| verdict.code),
            entries: self.sent_now(),
            references: self.references,
        }))
    }
}
