//! Second factors, in the transaction of the writer: what is right there is marked as used there, so that no two
//! requests succeed with the same one.

use ironbark_model::Entry;

use crate::{
    OperationError,
    edit::modify::{Audience, modify_stamped},
    overlay::{Execution, SecondFactor, Spending, overlays_of},
};

/// What is found in a presented password.
#[derive(Default)]
pub(crate) struct Presented {
    /// What is left of it for comparisons with stored passwords, in octets.
    pub(crate) password_octets: usize,
    /// Whether an overlay asks for a factor that is not there.
    pub(crate) lacks_factor: bool,
    /// The factors that are right.
    spendings: Vec<Spending>,
}

impl Presented {
    /// A password, and nothing else.
    pub(crate) fn whole(presented: &[u8]) -> Self {
        Self {
            password_octets: presented.len(),
            ..Self::default()
        }
    }

    /// Asks the overlays, each about what the one before has left.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn of(execution: &Execution<'_, '_>, entry: &Entry, presented: &[u8]) -> Result<Self, OperationError> {
        let (mut found, mut rest) = (Self::default(), presented);
        for binds in &overlays_of(execution.context).binds {
            match binds.second_factor(execution, entry, rest)? {
                None => {}
                Some(SecondFactor::Wrong) => found.lacks_factor = true,
                Some(SecondFactor::Right(spending)) => {
                    let left = rest.len().saturating_sub(spending.octets);
                    rest = rest.get(..left).unwrap_or_default();
                    found.spendings.push(*spending);
                }
            }
        }
        found.password_octets = rest.len();
        Ok(found)
    }

    /// The stored passwords, with those behind the keys of factors that are right; or that such a key is all of the
    /// password. Keys that are not among the stored passwords do not count: the client has no access to them.
    pub(crate) fn behind_keys(&self, stored: &[Vec<u8>]) -> (Vec<Vec<u8>>, bool) {
        let (mut all, mut is_whole) = (stored.to_vec(), false);
        let keys = self.spendings.iter().filter_map(|spending| spending.key.as_ref());
        for key in keys.filter(|key| stored.contains(&key.value)) {
            match &key.password {
                Some(password) => all.push(password.clone()),
                None => is_whole |= self.password_octets == 0,
            }
        }
        (all, is_whole)
    }

    /// Marks all that is right as used. Returns whether each could be marked.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn spend(self, execution: &mut Execution<'_, '_>) -> Result<bool, OperationError> {
        let mut are_spent = true;
        for spending in self.spendings {
            are_spent &= spend(execution, spending)?;
        }
        Ok(are_spent)
    }
}

/// Marks a factor as used. `false`: that is impossible here, and the factor must not count.
///
/// # Errors
/// The storage failed.
pub(crate) fn spend(execution: &mut Execution<'_, '_>, spending: Spending) -> Result<bool, OperationError> {
    let name = spending.keeper.pretty();
    // Marked here alone, it could be used once more at the provider, and at each of its replicas.
    if execution.context.settings.is_shadow() || execution.waits_for_peers()? {
        tracing::error!(target: "any", "a second factor of \"{name}\" cannot be marked as used on a replica");
        return Ok(false);
    }
    let refusal = modify_stamped(execution, &spending.keeper, spending.modifications, Audience::Nobody)?;
    let Some(refusal) = refusal else {
        return Ok(true);
    };
    let (code, text) = (refusal.result_code, refusal.diagnostic_message);
    tracing::error!(target: "any", "marking a second factor of \"{name}\" as used: {code:?} {text}");
    Ok(false)
}
