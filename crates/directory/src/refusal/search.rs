//! Refusals of search.

refusals! {
    /// Why a search is refused, or ends early (RFC 4511 §4.5).
    pub(crate) enum SearchRefusal {
        /// The base object's name is no DN.
        InvalidBase => INVALID_DN_SYNTAX, "invalid DN";
        /// The base object does not exist, or is hidden.
        NoSuchBase => NO_SUCH_OBJECT;
        /// The access rules do not grant searching below the base object.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// An alias on the way to the base object has no valid target.
        InvalidAlias => ALIAS_PROBLEM, "alias dereferences to an invalid name";
        /// An alias on the way to the base object leads to itself.
        CircularAlias => ALIAS_PROBLEM, "circular alias";
        /// An alias on the way to the base object leads to nothing.
        AliasToNothing => ALIAS_PROBLEM, "aliasedObject not found";
        /// Too many aliases are on the way to the base object.
        AliasesTooDeep => ALIAS_PROBLEM, "maximum deref depth exceeded";
        /// Too many aliases are below the base object.
        TooManyAliases => ADMIN_LIMIT_EXCEEDED, "too many aliases";
        /// More entries match than may be sent.
        SizeLimit => SIZE_LIMIT_EXCEEDED;
        /// The time is up.
        TimeLimit => TIME_LIMIT_EXCEEDED;
        /// The requester may not search, or there are more candidates than `limits` allows.
        UncheckedLimit => ADMIN_LIMIT_EXCEEDED;
        /// The database is not there any more, or what remains of the search cannot be asked for again under another
        /// configuration.
        Reconfigured => UNAVAILABLE, "the configuration has changed; try again";
        /// The search has used up its steps.
        TooMuchWork => ADMIN_LIMIT_EXCEEDED, "search takes too much work";
    }
}

refusals! {
    /// Why a search in pages is refused (RFC 2696).
    pub(crate) enum PageRefusal {
        /// The cookie is not of this server.
        MalformedCookie => PROTOCOL_ERROR, "paged results cookie is invalid";
        /// The search of the cookie has ended, or the request is another one.
        OldCookie => UNWILLING_TO_PERFORM, "paged results cookie is invalid or old";
        /// The requester may not use pages.
        NotAllowed => ADMIN_LIMIT_EXCEEDED, "pagedResults control not allowed";
        /// The page is larger than the requester's pages may be.
        TooLarge => ADMIN_LIMIT_EXCEEDED, "illegal pagedResults page size";
        /// The client asks for more entries than all its pages may have.
        TooManyEntries => ADMIN_LIMIT_EXCEEDED;
    }
}

refusals! {
    /// Why a sorted search is refused (RFC 2891).
    pub(crate) enum SortRefusal {
        /// The schema does not have the attribute of a key.
        UndefinedAttribute => NO_SUCH_ATTRIBUTE, "serverSort control: Unrecognized attribute type in sort key";
        /// The key has no order.
        NoOrderingRule => INAPPROPRIATE_MATCHING, "serverSort control: No ordering rule";
        /// The request has too many keys.
        TooManyKeys => UNWILLING_TO_PERFORM, "Too many sort keys";
        /// Too many sorted searches are under way.
        TooManySearches => BUSY, "Other sort requests already in progress";
        /// Too many entries match.
        TooManyEntries => ADMIN_LIMIT_EXCEEDED, "too many entries to sort";
        /// The keys of the entries take too much memory.
        TooMuch => ADMIN_LIMIT_EXCEEDED, "too much to sort";
    }
}

refusals! {
    /// Why a virtual list view is refused (draft-ietf-ldapext-ldapv3-vlv).
    pub(crate) enum ListViewRefusal {
        /// The request has no sort control.
        Unsorted => VIRTUAL_LIST_VIEW_ERROR, "Sort control is required with VLV";
        /// The request has the paged results control.
        Paged => UNWILLING_TO_PERFORM, "VLV incompatible with PagedResults";
        /// The list has no entry at the offset.
        OffsetTooLarge => VIRTUAL_LIST_VIEW_ERROR, "VLV offset is behind the end of the list";
        /// The value has no place in the order.
        InvalidValue => VIRTUAL_LIST_VIEW_ERROR, "VLV value does not conform to the ordering rule";
    }
}

refusals! {
    /// Why a dereference control is refused (draft-masarati-ldap-deref).
    pub(crate) enum DereferenceRefusal {
        /// The schema does not have the attribute that is followed.
        UndefinedAttribute => PROTOCOL_ERROR, "Dereference control: derefAttr decoding error";
        /// Values of the attribute that is followed are no DNs.
        NoDnSyntax => PROTOCOL_ERROR, "Dereference control: derefAttr syntax not distinguishedName";
        /// The attribute is followed twice.
        RepeatedAttribute => PROTOCOL_ERROR, "Dereference control: derefAttr must be unique within control";
        /// The schema does not have an attribute that is asked for.
        UndefinedResult => PROTOCOL_ERROR, "Dereference control: attribute decoding error";
        /// The results for one entry take too much memory.
        TooMuch => ADMIN_LIMIT_EXCEEDED, "too much to dereference";
    }
}
