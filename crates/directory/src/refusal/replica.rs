//! Refusals of what a provider has sent.

refusals! {
    /// Why a change of a provider is not applied. The session with the provider ends.
    pub(crate) enum ReplicaRefusal {
        /// The database keeps no log: tombstones, vector and index of entryUUID come with it.
        NoLog => UNWILLING_TO_PERFORM, "replication needs a database with changelog-size or changelog-age";
        /// A message of the session before this one was refused.
        AfterRefusal => OTHER, "a message before this one was refused";
        /// Entries cannot be found by UUID yet.
        NoIndex => BUSY, "the index of entryUUID is still being built";
        /// The local base is in another database.
        OtherDatabase => UNWILLING_TO_PERFORM, "the base of the consumer is not in this database";
        /// The name of an entry is no DN.
        InvalidName { name: String } => INVALID_DN_SYNTAX, format!("\"{name}\": invalid DN");
        /// The entry is not in base and scope of the consumer.
        OutOfScope { name: String } => UNWILLING_TO_PERFORM,
            format!("\"{name}\": outside of base and scope of the consumer");
        /// The UUID is that of an entry outside of base and scope.
        OtherEntry { name: String, other: String } => UNWILLING_TO_PERFORM,
            format!("\"{name}\": its entryUUID is that of \"{other}\", outside of base and scope of the consumer");
        /// The schema lacks the attribute, or does not allow storing it under this description.
        UnknownAttribute { name: String, attribute: String, reason: String } => UNDEFINED_ATTRIBUTE_TYPE,
            format!("\"{name}\": attribute {attribute}: {reason}; the schema must be that of the provider");
        /// A value does not conform to its syntax.
        InvalidValue { name: String, attribute: String } => INVALID_ATTRIBUTE_SYNTAX,
            format!("\"{name}\": attribute {attribute}: a value is invalid per syntax");
        /// The entry has no entryCSN of the usual form.
        NoCsn { name: String } => UNWILLING_TO_PERFORM, format!("\"{name}\": no valid entryCSN");
        /// A change of a provider's log is about an entry that is not here: a refresh must follow.
        Gap { name: String } => SYNC_REFRESH_REQUIRED,
            format!("\"{name}\": the log tells of a change of this entry, which is not here");
        /// A change of a provider's log would give two entries one entryUUID: a refresh must follow.
        TakenUuid { name: String, other: String } => SYNC_REFRESH_REQUIRED,
            format!("\"{name}\": the log gives it the entryUUID of \"{other}\"");
        /// A provider's log tells no valid place of an entry.
        InvalidPlace { name: String } => UNWILLING_TO_PERFORM,
            format!("\"{name}\": the log tells no valid place of this entry");
        /// The recent changes of an entry cannot be read.
        InvalidRecent { name: String } => UNWILLING_TO_PERFORM,
            format!("\"{name}\": the recent changes of this entry cannot be read");
        /// Its entryUUID is not that of the message.
        WrongUuid { name: String } => UNWILLING_TO_PERFORM,
            format!("\"{name}\": entryUUID is not that of the message");
        /// A refresh of an empty database has an entry twice: it cannot be loaded at once.
        SentTwice { name: String } => UNWILLING_TO_PERFORM, format!("\"{name}\": sent twice");
        /// A refresh of an empty database tells the ends of more entries than are kept in memory.
        TooManyEnded => ADMIN_LIMIT_EXCEEDED, "too many deleted entries";
        /// The configuration has changed while an empty database was loaded.
        OtherConfiguration => BUSY, "the configuration has changed meanwhile";
        /// `filter` of the consumer.
        InvalidFilter { filter: String } => UNWILLING_TO_PERFORM, format!("bad filter {filter}");
        /// So many entries would have to move that other writes would wait.
        TooManyMoves { name: String } => ADMIN_LIMIT_EXCEEDED, format!("\"{name}\": too many entries have to move");
    }
}
