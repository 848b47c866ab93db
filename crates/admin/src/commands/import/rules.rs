//! What becomes of the attributes, classes and entries of another server. One table makes the conversion, the lines of
//! the report and the tables of docs/migration.md.

use super::source::Source;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// The attribute is left out.
    Drop,
    /// The attribute is left out, and its values are shown to the administrator, also in the report.
    DropAndShow,
    /// The attribute is left out, and its values are kept for the administrator in left-out.ldif.
    DropAndKeep,
    /// The attribute gets another name.
    Rename(&'static str),
    /// `true` becomes pwdAccountLockedTime.
    Lock,
    /// The attribute stays. If it names a role that locks accounts, the entry gets pwdAccountLockedTime.
    LockByRole,
    /// Becomes entryUUID, if the entry has none.
    UniqueId,
    /// The value of objectClass is left out.
    DropClass,
    /// Entries of this class are left out.
    DropEntry,
    /// Entries with this text in their names are left out.
    DropNamed,
    /// Options of replication are taken off.
    Options,
    /// Values that replication keeps although they are deleted are left out.
    DeletedValue,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) source: Source,
    /// Names as written by people; one that ends with `*` is a beginning.
    pub(super) names: &'static [&'static str],
    pub(super) action: Action,
    pub(super) becomes: &'static str,
    pub(super) why: &'static str,
}

const fn rule(
    source: Source,
    names: &'static [&'static str],
    action: Action,
    becomes: &'static str,
    why: &'static str,
) -> Rule {
    Rule {
        source,
        names,
        action,
        becomes,
        why,
    }
}

const LEFT_OUT: &str = "left out";

/// All rules.
pub(super) const RULES: &[Rule] = &[
    rule(
        Source::Ds389,
        &["nsTombstone"],
        Action::DropEntry,
        LEFT_OUT,
        "entries that are deleted, and the state of replication (RUV)",
    ),
    rule(
        Source::Ds389,
        &["nsuniqueid="],
        Action::DropNamed,
        "left out; see left-out.ldif",
        "the entry lost a conflict of replication: decide at the old server which one counts",
    ),
    rule(
        Source::Ds389,
        &["nsds5ReplConflict"],
        Action::DropAndKeep,
        "left out; see left-out.ldif. The entry is loaded",
        "replication has kept or made the entry because of a conflict, mostly for the entries below it: decide whether it \
         is to stay",
    ),
    rule(
        Source::Ds389,
        &["cn=nspwpolicycontainer,"],
        Action::DropNamed,
        "left out; see left-out.ldif",
        "password policies for parts of the tree: write entries of class pwdPolicy, and `ppolicy_rules`",
    ),
    rule(
        Source::Ds389,
        &["adcsn-*", "mdcsn-*", "vucsn-*", "vdcsn-*"],
        Action::Options,
        "the attribute without the option",
        "state of replication",
    ),
    rule(
        Source::Ds389,
        &["deleted", "deletedattribute"],
        Action::DeletedValue,
        LEFT_OUT,
        "values that are deleted, kept for replication",
    ),
    rule(
        Source::Ds389,
        &["nsUniqueId"],
        Action::UniqueId,
        "`entryUUID`, if the entry has none",
        "the same number, with hyphens where a UUID has them",
    ),
    rule(
        Source::Ds389,
        &[
            "entryid",
            "parentid",
            "entrydn",
            "dsEntryDN",
            "numSubordinates",
            "hasSubordinates",
            "tombstoneNumSubordinates",
            "entryusn",
            "dncomp",
            "nsRole",
            "nsParentUniqueId",
            "nscpEntryDN",
            "nsds50ruv",
            "nsruvReplicaLastModified",
            "nsTombstoneCSN",
            "subschemaSubentry",
        ],
        Action::Drop,
        LEFT_OUT,
        "computed here (numSubordinates by `overlay numsubordinates`), or of the old database alone",
    ),
    rule(
        Source::Ds389,
        &["nsAccountLock"],
        Action::Lock,
        "`pwdAccountLockedTime: 000001010000Z`, if it is true",
        "overlay ppolicy lets nobody bind as a locked account",
    ),
    rule(
        Source::Ds389,
        &["nsRoleDN"],
        Action::LockByRole,
        "the same, with `pwdAccountLockedTime: 000001010000Z` if it names an inactivated role (`nsDisabledRole`)",
        "overlay ppolicy lets nobody bind as a locked account",
    ),
    rule(
        Source::Ds389,
        &["pwdUpdateTime"],
        Action::Rename("pwdChangedTime"),
        "`pwdChangedTime`",
        "overlay ppolicy counts the age of a password from it",
    ),
    rule(
        Source::Ds389,
        &["passwordExpirationTime", "passwordExpWarned", "passwordGraceUserTime"],
        Action::Drop,
        LEFT_OUT,
        "overlay ppolicy computes the end from pwdChangedTime and pwdMaxAge of the policy",
    ),
    rule(
        Source::Ds389,
        &["passwordRetryCount", "retryCountResetTime", "accountUnlockTime"],
        Action::Drop,
        LEFT_OUT,
        "overlay ppolicy counts failures anew, in pwdFailureTime; a temporary lock is over",
    ),
    rule(
        Source::Ds389,
        &["passwordHistory"],
        Action::Drop,
        LEFT_OUT,
        "overlay ppolicy begins a new history, in pwdHistory",
    ),
    rule(
        Source::Ds389,
        &["passwordAllowChangeTime"],
        Action::Drop,
        LEFT_OUT,
        "pwdMinAge of the policy serves instead",
    ),
    rule(
        Source::Ds389,
        &["pwdPolicySubentry"],
        Action::Drop,
        LEFT_OUT,
        "it names a policy of the old server; name an entry of class pwdPolicy",
    ),
    rule(
        Source::Ds389,
        &[
            "nsSizeLimit",
            "nsTimeLimit",
            "nsLookThroughLimit",
            "nsIdleTimeout",
            "nsPagedSizeLimit",
            "nsPagedLookThroughLimit",
            "nsPagedIDListScanLimit",
            "nsIDListScanLimit",
        ],
        Action::Drop,
        LEFT_OUT,
        "`limits dn.exact=\"...\" size=... time=...` in slapd.conf serves instead",
    ),
    rule(
        Source::Ds389,
        &["memberOf"],
        Action::Drop,
        "left out, and computed by `overlay memberof`",
        "memberof-computed is right at any time",
    ),
    rule(
        Source::Ds389,
        &["nsMemberOf"],
        Action::DropClass,
        "the class is left out",
        "memberOf is operational here, and needs no class",
    ),
    rule(
        Source::Ds389,
        &["aci"],
        Action::DropAndShow,
        "left out; see left-out.ldif",
        "access rules are in slapd.conf (`access to`), and are not converted",
    ),
    rule(
        Source::Opendj,
        &["ds-pwp-account-disabled"],
        Action::Lock,
        "`pwdAccountLockedTime: 000001010000Z`, if it is true",
        "overlay ppolicy lets nobody bind as a locked account",
    ),
    rule(
        Source::Opendj,
        &["ds-pwp-account-expiration-time"],
        Action::Rename("pwdEndTime"),
        "`pwdEndTime`",
        "overlay ppolicy lets nobody bind as an account that has expired",
    ),
    rule(
        Source::Opendj,
        &["ds-sync-*"],
        Action::Drop,
        LEFT_OUT,
        "state of replication",
    ),
    rule(
        Source::Opendj,
        &["ds-pwp-*"],
        Action::Drop,
        LEFT_OUT,
        "state and choice of a password policy of OpenDJ: pwdPolicySubentry, and the state that overlay ppolicy keeps, \
         serve instead",
    ),
    rule(
        Source::Opendj,
        &["pwdPolicySubentry"],
        Action::Drop,
        LEFT_OUT,
        "it names a policy of the old server; name an entry of class pwdPolicy",
    ),
    rule(
        Source::Opendj,
        &["ds-privilege-name", "ds-rlim-*"],
        Action::Drop,
        LEFT_OUT,
        "`access to` and `limits` in slapd.conf serve instead",
    ),
    rule(
        Source::Opendj,
        &[
            "hasSubordinates",
            "numSubordinates",
            "subschemaSubentry",
            "entryDN",
            "etag",
            "structuralObjectClass",
            "governingStructureRule",
            "collectiveAttributeSubentries",
            "createTimestampMillis",
        ],
        Action::Drop,
        LEFT_OUT,
        "computed here (numSubordinates by `overlay numsubordinates`), or of OpenDJ alone",
    ),
    rule(
        Source::Opendj,
        &["isMemberOf", "memberOf"],
        Action::Drop,
        "left out, and computed by `overlay memberof`",
        "memberof-computed is right at any time; the attribute is memberOf",
    ),
    rule(
        Source::Opendj,
        &["aci"],
        Action::DropAndShow,
        "left out; see left-out.ldif",
        "access rules are in slapd.conf (`access to`), and are not converted",
    ),
];

/// The rules of one source, by name.
pub(super) fn find(source: Source, action: impl Fn(Action) -> bool, name: &str) -> Option<(usize, &'static Rule)> {
    let is_name = |known: &&str| match known.strip_suffix('*') {
        Some(begin) => name
            .get(..begin.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(begin)),
        None => known.eq_ignore_ascii_case(name),
    };
    let mut rules = RULES.iter().enumerate();
    rules.find(|(_, rule)| rule.source == source && action(rule.action) && rule.names.iter().any(is_name))
}

/// The position of the rule for accounts that are locked by a role.
pub(super) fn of_locking_roles(source: Source) -> Option<usize> {
    let is_it = |rule: &Rule| rule.source == source && rule.action == Action::LockByRole;
    RULES.iter().position(is_it)
}

/// The rule by which entries with a name are left out. The name is a plain one.
pub(super) fn of_name(source: Source, dn: &str) -> Option<usize> {
    let is_of = |rule: &Rule| {
        let is_named = rule.source == source && rule.action == Action::DropNamed;
        is_named && rule.names.iter().any(|part| dn.contains(part))
    };
    RULES.iter().position(is_of)
}

/// Whether a rule leaves out an attribute type whatever its values are.
pub(super) fn leaves_out(source: Source, name: &str) -> bool {
    find(source, Action::is_of_attributes, name).is_some()
}

impl Action {
    /// Whether the names of the rule are attribute types.
    pub(super) fn is_of_attributes(self) -> bool {
        matches!(
            self,
            Self::Drop | Self::DropAndShow | Self::DropAndKeep | Self::Rename(_) | Self::Lock | Self::UniqueId
        )
    }
}

/// The names of a rule as people read them.
pub(super) fn subject(rule: &Rule) -> String {
    let names: Vec<String> = rule.names.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    match rule.action {
        Action::DropClass => format!("class {names}"),
        Action::DropEntry => format!("entries of class {names}"),
        Action::DropNamed => format!("entries with {names} in their names"),
        Action::Options | Action::DeletedValue => format!("options {names}"),
        _ => names,
    }
}

/// The table of a source, as docs/migration.md has it.
#[cfg(test)]
pub(super) fn table(source: Source) -> String {
    use std::fmt::Write as _;
    let mut text = "| there | here | why |\n|---|---|---|\n".to_owned();
    for rule in RULES.iter().filter(|rule| rule.source == source) {
        let _ = writeln!(text, "| {} | {} | {} |", subject(rule), rule.becomes, rule.why);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_documentation_are_current() {
        let text = include_str!("../../../../../docs/migration.md");
        for source in [Source::Ds389, Source::Opendj] {
            let table = table(source);
            assert!(text.contains(&table), "docs/migration.md lacks this table:\n{table}");
        }
    }

    #[test]
    fn a_name_has_one_rule_and_an_exact_name_goes_before_a_beginning() {
        let action = |name| find(Source::Opendj, Action::is_of_attributes, name).map(|(_, rule)| rule.action);
        assert_eq!(action("ds-pwp-account-disabled"), Some(Action::Lock));
        assert_eq!(action("DS-PWP-other"), Some(Action::Drop));
        assert_eq!(action("cn"), None);
    }
}
