//! The controls of one request, decoded into typed options.

use ironbark_model::ResultCode;

use super::{
    AccountUsabilityRequest, AssertionControl, Control, ControlKind, ControlSet, Criticality, DereferenceRequest,
    Descriptor, DomainScope, DontUseCopy, LazyCommit, ManageDsaIt, MatchedValues, NoOp, PagedResults,
    PasswordPolicyRequest, PermissiveModify, PostRead, PreRead, ProxiedAuthorization, RelaxRules, RequestControl,
    SearchOptions, SessionTracking, SortKeys, Subentries, TreeDelete,
    registry::{self, REGISTRY},
};
use crate::{DecodeLimits, Fault, RawControl, RawControls, Request};

/// What the configuration says about controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlPolicy {
    /// Controls that are there at all; others are not recognized.
    pub available: ControlSet,
    /// Controls whose criticality FALSE is refused, for those with [`Criticality::ShouldBeTrue`].
    pub must_be_critical: ControlSet,
}

impl Default for ControlPolicy {
    fn default() -> Self {
        Self {
            available: ControlSet::ALL,
            must_be_critical: ControlSet::NONE,
        }
    }
}

/// The recognized controls of a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestControls<'a> {
    /// RFC 4528.
    pub assertion: Option<Control<AssertionControl<'a>>>,
    /// RFC 4527.
    pub pre_read: Option<Control<PreRead<'a>>>,
    /// RFC 4527.
    pub post_read: Option<Control<PostRead<'a>>>,
    /// RFC 3876.
    pub matched_values: Option<Control<MatchedValues<'a>>>,
    /// RFC 2696.
    pub paged_results: Option<Control<PagedResults<'a>>>,
    /// RFC 2891.
    pub server_side_sort: Option<Control<SortKeys<'a>>>,
    /// Microsoft's domain scope.
    pub domain_scope: Option<Control<DomainScope>>,
    /// RFC 6171.
    pub dont_use_copy: Option<Control<DontUseCopy>>,
    /// Microsoft's permissive modify.
    pub permissive_modify: Option<Control<PermissiveModify>>,
    /// Microsoft's tree delete.
    pub tree_delete: Option<Control<TreeDelete>>,
    /// Microsoft's search options.
    pub search_options: Option<Control<SearchOptions>>,
    /// RFC 3672.
    pub subentries: Option<Control<Subentries>>,
    /// draft-zeilenga-ldap-noop.
    pub no_op: Option<Control<NoOp>>,
    /// draft-zeilenga-ldap-relax.
    pub relax_rules: Option<Control<RelaxRules>>,
    /// RFC 3296.
    pub manage_dsa_it: Option<Control<ManageDsaIt>>,
    /// RFC 4370.
    pub proxied_authorization: Option<Control<ProxiedAuthorization<'a>>>,
    /// draft-wahl-ldap-session.
    pub session_tracking: Option<Control<SessionTracking<'a>>>,
    /// Microsoft's lazy commit.
    pub lazy_commit: Option<Control<LazyCommit>>,
    /// draft-masarati-ldap-deref.
    pub dereference: Option<Control<DereferenceRequest<'a>>>,
    /// draft-behera-ldap-password-policy.
    pub password_policy: Option<Control<PasswordPolicyRequest>>,
    /// Sun's account usability.
    pub account_usability: Option<Control<AccountUsabilityRequest>>,
}

impl<'a> RequestControls<'a> {
    /// Decodes the controls that came with `request`.
    ///
    /// Unknown and inappropriate ones are ignored, or when critical refused with `unavailableCriticalExtension` (RFC
    /// 4511 §4.1.11); the criticality of an unbind request's controls has no meaning.
    ///
    /// # Errors
    /// `unavailableCriticalExtension`; `protocolError` for duplicates and malformed values; `adminLimitExceeded`.
    pub fn decode(
        controls: &RawControls<'a>,
        request: &Request<'_>,
        policy: &ControlPolicy,
        limits: &DecodeLimits,
    ) -> Result<Self, Fault> {
        let mut decoded = Self::default();
        if controls.is_empty() || matches!(request, Request::Unbind) {
            return Ok(decoded);
        }
        let extended = match request {
            Request::Extended(request) => Some(request.name),
            _ => None,
        };
        for control in controls {
            if control.oid.is_empty() {
                return Err(Fault::protocol("OID field is empty"));
            }
            let row = registry::lookup(control.oid).filter(|row| policy.available.contains(row.kind));
            match row {
                Some(row) if row.applies_to(request.operation(), extended) => {
                    check_criticality(row, control.critical, *policy)?;
                    decoded.put(row.kind, control, limits)?;
                }
                Some(_) if control.critical => return Err(unavailable("critical extension is unavailable")),
                None if control.critical => return Err(unavailable("critical extension is not recognized")),
                _ => {}
            }
        }
        search_options_and_domain_scope(&decoded)?;
        Ok(decoded)
    }

    /// Which controls came along.
    pub fn present(&self) -> ControlSet {
        self.those(|_| true)
    }

    /// Which of them are critical.
    pub fn critical(&self) -> ControlSet {
        self.those(|is_critical| is_critical)
    }

    /// Those of which, by their criticality, something holds.
    fn those(&self, holds: impl Fn(bool) -> bool) -> ControlSet {
        use ControlKind as Kind;
        fn criticality<T>(control: Option<&Control<T>>) -> Option<bool> {
            control.map(|control| control.critical)
        }
        let all = [
            (criticality(self.assertion.as_ref()), Kind::Assertion),
            (criticality(self.pre_read.as_ref()), Kind::PreRead),
            (criticality(self.post_read.as_ref()), Kind::PostRead),
            (criticality(self.matched_values.as_ref()), Kind::MatchedValues),
            (criticality(self.paged_results.as_ref()), Kind::PagedResults),
            (criticality(self.server_side_sort.as_ref()), Kind::ServerSideSort),
            (criticality(self.domain_scope.as_ref()), Kind::DomainScope),
            (criticality(self.dont_use_copy.as_ref()), Kind::DontUseCopy),
            (criticality(self.permissive_modify.as_ref()), Kind::PermissiveModify),
            (criticality(self.tree_delete.as_ref()), Kind::TreeDelete),
            (criticality(self.search_options.as_ref()), Kind::SearchOptions),
            (criticality(self.subentries.as_ref()), Kind::Subentries),
            (criticality(self.no_op.as_ref()), Kind::NoOp),
            (criticality(self.relax_rules.as_ref()), Kind::RelaxRules),
            (criticality(self.manage_dsa_it.as_ref()), Kind::ManageDsaIt),
            (
                criticality(self.proxied_authorization.as_ref()),
                Kind::ProxiedAuthorization,
            ),
            (criticality(self.session_tracking.as_ref()), Kind::SessionTracking),
            (criticality(self.lazy_commit.as_ref()), Kind::LazyCommit),
            (criticality(self.dereference.as_ref()), Kind::Dereference),
            (criticality(self.password_policy.as_ref()), Kind::PasswordPolicy),
            (criticality(self.account_usability.as_ref()), Kind::AccountUsability),
        ];
        let those = all
            .into_iter()
            .filter(|(criticality, _)| criticality.is_some_and(&holds));
        those.fold(ControlSet::NONE, |set, (_, kind)| set.with(kind))
    }

    /// As if these had not come along.
    pub fn remove(&mut self, removed: ControlSet) {
        if removed == ControlSet::NONE {
            return;
        }
        for row in REGISTRY.iter().filter(|row| removed.contains(row.kind)) {
            match row.kind {
                ControlKind::Assertion => self.assertion = None,
                ControlKind::PreRead => self.pre_read = None,
                ControlKind::PostRead => self.post_read = None,
                ControlKind::MatchedValues => self.matched_values = None,
                ControlKind::PagedResults => self.paged_results = None,
                ControlKind::ServerSideSort => self.server_side_sort = None,
                ControlKind::DomainScope => self.domain_scope = None,
                ControlKind::DontUseCopy => self.dont_use_copy = None,
                ControlKind::PermissiveModify => self.permissive_modify = None,
                ControlKind::TreeDelete => self.tree_delete = None,
                ControlKind::SearchOptions => self.search_options = None,
                ControlKind::Subentries => self.subentries = None,
                ControlKind::NoOp => self.no_op = None,
                ControlKind::RelaxRules => self.relax_rules = None,
                ControlKind::ManageDsaIt => self.manage_dsa_it = None,
                ControlKind::ProxiedAuthorization => self.proxied_authorization = None,
                ControlKind::SessionTracking => self.session_tracking = None,
                ControlKind::LazyCommit => self.lazy_commit = None,
                ControlKind::Dereference => self.dereference = None,
                ControlKind::PasswordPolicy => self.password_policy = None,
                ControlKind::AccountUsability => self.account_usability = None,
            }
        }
    }

    fn put(&mut self, kind: ControlKind, control: RawControl<'a>, limits: &DecodeLimits) -> Result<(), Fault> {
        match kind {
            ControlKind::Assertion => put(&mut self.assertion, control, limits),
            ControlKind::PreRead => put(&mut self.pre_read, control, limits),
            ControlKind::PostRead => put(&mut self.post_read, control, limits),
            ControlKind::MatchedValues => put(&mut self.matched_values, control, limits),
            ControlKind::PagedResults => put(&mut self.paged_results, control, limits),
            ControlKind::ServerSideSort => put(&mut self.server_side_sort, control, limits),
            ControlKind::DomainScope => put(&mut self.domain_scope, control, limits),
            ControlKind::DontUseCopy => put(&mut self.dont_use_copy, control, limits),
            ControlKind::PermissiveModify => put(&mut self.permissive_modify, control, limits),
            ControlKind::TreeDelete => put(&mut self.tree_delete, control, limits),
            ControlKind::SearchOptions => put(&mut self.search_options, control, limits),
            ControlKind::Subentries => put(&mut self.subentries, control, limits),
            ControlKind::NoOp => put(&mut self.no_op, control, limits),
            ControlKind::RelaxRules => put(&mut self.relax_rules, control, limits),
            ControlKind::ManageDsaIt => put(&mut self.manage_dsa_it, control, limits),
            ControlKind::ProxiedAuthorization => put(&mut self.proxied_authorization, control, limits),
            ControlKind::SessionTracking => put(&mut self.session_tracking, control, limits),
            ControlKind::LazyCommit => put(&mut self.lazy_commit, control, limits),
            ControlKind::Dereference => put(&mut self.dereference, control, limits),
            ControlKind::PasswordPolicy => put(&mut self.password_policy, control, limits),
            ControlKind::AccountUsability => {
                // slapd does not mind that it comes twice.
                self.account_usability = None;
                put(&mut self.account_usability, control, limits)
            }
        }
    }
}

fn put<'a, T: RequestControl<'a>>(
    slot: &mut Option<Control<T>>,
    control: RawControl<'a>,
    limits: &DecodeLimits,
) -> Result<(), Fault> {
    let row = T::DESCRIPTOR;
    if slot.is_some() {
        return Err(Fault::protocol(row.texts.duplicate));
    }
    let value = T::decode(row.checked_value(control.value)?, limits)?;
    *slot = Some(Control {
        critical: control.critical,
        value,
    });
    Ok(())
}

fn check_criticality(row: &Descriptor, critical: bool, policy: ControlPolicy) -> Result<(), Fault> {
    match (row.criticality, critical) {
        (Criticality::ShouldBeTrue { refusal }, false) if policy.must_be_critical.contains(row.kind) => {
            Err(Fault::protocol(refusal))
        }
        (Criticality::MustBeFalse { refusal }, true) => Err(Fault::protocol(refusal)),
        _ => Ok(()),
    }
}

/// The domain scope flag of the search options is the domain scope control once more; flags that nobody knows are
/// refused when critical.
fn search_options_and_domain_scope(decoded: &RequestControls<'_>) -> Result<(), Fault> {
    let Some(options) = decoded.search_options else {
        return Ok(());
    };
    if options.critical && options.value.has_unknown_flags() {
        return Err(Fault::refused(
            ResultCode::UNWILLING_TO_PERFORM,
            "searchOptions contained unrecognized flag",
        ));
    }
    if options.value.domain_scope() && decoded.domain_scope.is_some() {
        return Err(Fault::protocol(
            "searchOptions control specified multiple times or with domainScope control",
        ));
    }
    Ok(())
}

const fn unavailable(text: &'static str) -> Fault {
    Fault::refused(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text)
}
