//! Permissions of clients, and defaults: features, passwords, referrals, search base.

use crate::word_set::word_set;

word_set! {
    /// Features that `allow` turns on.
    Allow {
        /// LDAPv2 bind requests.
        BIND_V2 = 1, "bind_v2";
        /// Anonymous bind with a password.
        BIND_ANON_CRED = 2, "bind_anon_cred";
        /// Unauthenticated bind: a name without password counts as anonymous.
        BIND_ANON_DN = 4, "bind_anon_dn";
        /// Updates by anonymous clients, if access control allows them.
        UPDATE_ANON = 8, "update_anon";
        /// Proxied authorization by anonymous clients.
        PROXY_AUTHZ_ANON = 16, "proxy_authz_anon";
    }
}

word_set! {
    /// Features that `disallow` turns off.
    Disallow {
        /// Anonymous bind.
        BIND_ANON = 1, "bind_anon";
        /// Simple bind.
        BIND_SIMPLE = 2, "bind_simple";
        /// Falling back to anonymous at StartTLS.
        TLS_2_ANON = 4, "tls_2_anon";
        /// StartTLS after authentication.
        TLS_AUTHC = 8, "tls_authc";
        /// Proxied authorization that is not critical.
        PROXY_AUTHZ_NON_CRITICAL = 16, "proxy_authz_non_critical";
        /// Don't-use-copy that is not critical.
        DONTUSECOPY_NON_CRITICAL = 32, "dontusecopy_non_critical";
    }
}

/// The maximum that the decoder of requests accepts, `ironbark_ldap_proto::DecodeLimits::MAX_FILTER_DEPTH`.
pub const MAX_FILTER_DEPTH: u32 = 4096;
