//! Searches that send numbers in place of what they find (overlay noopsrch).

use ironbark_ldap_proto::controls::{Control, ControlKind, NoOpSearchResponse, RequestControls};
use ironbark_model::ResultCode;

use super::run::SearchRun;
use crate::{NamingContext, OperationError, overlay::overlays_of, refusal::ControlRefusal};

impl SearchRun {
    /// Makes it a count, if that is asked for and an overlay of the database offers it.
    ///
    /// # Errors
    /// `unavailableCriticalExtension`.
    pub(super) fn count_if_asked(
        &mut self,
        context: &NamingContext,
        controls: &RequestControls<'_>,
    ) -> Result<(), OperationError> {
        let Some(control) = &controls.no_op_search else {
            return Ok(());
        };
        // A consumer would take what it is not sent for deleted.
        let counts = overlays_of(context).controls.contains(ControlKind::NoOpSearch) && !self.is_synchronizing();
        if counts {
            self.extras.get_or_insert_default().counts_only = true;
        } else if control.critical {
            return Err(ControlRefusal::Unavailable.into());
        }
        Ok(())
    }

    /// Whether nothing is sent but numbers.
    pub(super) fn counts_only(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.counts_only)
    }

    /// The numbers, if they are asked for.
    pub(super) fn counted(&self) -> Option<Control<NoOpSearchResponse>> {
        self.counts_only().then(|| {
            Control::optional(NoOpSearchResponse {
                code: self
                    .verdict
                    .as_ref()
                    .map_or(ResultCode::SUCCESS, |verdict| verdict.code),
                entries: self.sent_now(),
                references: self.references,
            })
        })
    }
}
