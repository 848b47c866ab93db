//! `require` and `restrict`: what a request must fulfil before it is looked at.

use crate::{operations::Operations, word_set::word_set};

word_set! {
    /// Conditions that a connection must meet (`require`).
    Require {
        /// A bind has been done.
        BIND = 1, "bind";
        /// LDAPv3 is spoken.
        LDAP_V3 = 2, "LDAPv3";
        /// The client is authenticated.
        AUTHENTICATION = 4, "authc";
        /// It did so by SASL.
        SASL = 8, "SASL";
        /// It was strong; any way but anonymous is.
        STRONG = 16, "strong";
    }
}

/// `restrict`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Restrict {
    /// Operations refused with unwillingToPerform.
    pub operations: Operations,
    /// OIDs of single extended operations.
    pub extended: Vec<String>,
}
