//! Refusals of dynamic entries.

use ironbark_directory::refusals;
use ironbark_ldap_proto::extended::refresh::INVALID_TTL;

refusals! {
    /// Why a write or a refresh is refused.
    pub(super) enum DdsRefusal {
        /// The time to live is no number of seconds, 0, or more than any server allows.
        InvalidTtl => PROTOCOL_ERROR, INVALID_TTL;
        /// A modification asks for a longer time to live than `dds-max-ttl`, or for 0.
        TtlOverLimit => SIZE_LIMIT_EXCEEDED, "time-to-live for dynamicObject exceeds administrative limit";
        /// A refresh asks for a longer time to live than `dds-max-ttl`.
        RefreshOverLimit => SIZE_LIMIT_EXCEEDED, "time-to-live for dynamicObject exceeds limit";
        /// The database has as many dynamic entries as `dds-max-dynamicObjects` allows.
        TooManyEntries => UNWILLING_TO_PERFORM, "too many dynamicObjects in context";
        /// Referrals are static.
        Referral => OBJECT_CLASS_VIOLATION, "a referral cannot be a dynamicObject";
        /// Aliases are static.
        Alias => OBJECT_CLASS_VIOLATION, "an alias cannot be a dynamicObject";
        /// A new entry below a dynamic one is static.
        StaticSubordinate => CONSTRAINT_VIOLATION, "no static subordinate entries allowed for dynamicObject";
        /// A static entry would move below a dynamic one.
        DynamicNewSuperior => CONSTRAINT_VIOLATION, "static entry cannot have dynamicObject as newSuperior";
        /// A dynamic entry would become static.
        BecomesStatic => OBJECT_CLASS_VIOLATION,
            "objectClass modification cannot turn dynamicObject into static entry";
        /// A static entry would become dynamic.
        BecomesDynamic => OBJECT_CLASS_VIOLATION,
            "objectClass modification cannot turn static entry into dynamicObject";
        /// The entry to refresh is named by no DN.
        InvalidDn => INVALID_ATTRIBUTE_SYNTAX, "invalid DN in refresh exop request data";
        /// The entry to refresh is static.
        StaticEntry => OBJECT_CLASS_VIOLATION, "refresh operation only applies to dynamic objects";
        /// The access rules do not grant managing the time to live.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// No index helps to find the entries that have expired.
        TooMuchWork => ADMIN_LIMIT_EXCEEDED,
            "dds: looking for entries takes too much work: index entryExpireTimestamp";
    }
}
