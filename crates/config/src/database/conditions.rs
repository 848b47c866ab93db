//! `require` and `restrict`: conditions that a request must meet before it is carried out.

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
        /// Strong authentication; every method except anonymous counts.
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
