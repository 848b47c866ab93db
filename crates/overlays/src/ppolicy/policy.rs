//! One policy: the content of an entry of class pwdPolicy.

use ironbark_config::parts;
use ironbark_directory::password::Scheme;
use ironbark_model::{Entry, Schema};

use super::state::Ppolicy;

/// Seconds and counts; 0: not set, or no limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of the policy")]
pub(super) struct Policy {
    pub(super) min_age: i64,
    pub(super) max_age: i64,
    pub(super) max_idle: i64,
    pub(super) in_history: usize,
    pub(super) check_quality: i64,
    pub(super) min_length: i64,
    pub(super) max_length: i64,
    pub(super) expire_warning: i64,
    pub(super) grace_expiry: i64,
    pub(super) grace_limit: i64,
    pub(super) lockout: bool,
    pub(super) lockout_duration: i64,
    pub(super) min_delay: i64,
    pub(super) max_delay: i64,
    pub(super) max_failure: usize,
    pub(super) max_recorded_failure: usize,
    pub(super) failure_count_interval: i64,
    pub(super) must_change: bool,
    pub(super) allow_user_change: bool,
    pub(super) safe_modify: bool,
    pub(super) use_check_module: bool,
    /// Whether pwdCheckModule, as of slapd 2.5, names ppm.
    pub(super) names_ppm: bool,
    /// pwdCheckModuleArg.
    pub(super) module_argument: Option<Vec<u8>>,
    pub(super) default_hash: Option<Scheme>,
    pub(super) rehash_on_bind: bool,
}

/// Failures that are recorded if delays need them and no setting gives a number.
const RECORDED_FOR_DELAYS: usize = 5;

impl Policy {
    /// `None`, with a line in the log, if a value is no number: nothing is enforced then.
    pub(super) fn read(overlay: &Ppolicy, entry: &Entry) -> Option<Self> {
        let source = Source {
            schema: &overlay.schema,
            entry,
        };
        let mut policy = source.numbers().or_else(|| {
            let name = entry.dn.pretty();
            tracing::error!(target: "any", "overlay ppolicy: policy \"{name}\" is invalid, no policy will be applied");
            None
        })?;
        policy.lockout = source.flag("pwdLockout", false);
        policy.must_change = source.flag("pwdMustChange", false);
        policy.allow_user_change = source.flag("pwdAllowUserChange", true);
        policy.safe_modify = source.flag("pwdSafeModify", false);
        if source.is_of_class("pwdPolicyChecker") {
            let module = source.value("pwdCheckModule").map(String::from_utf8_lossy);
            policy.names_ppm = module.as_deref().is_some_and(is_ppm);
            policy.use_check_module = source.flag("pwdUseCheckModule", false) || module.is_some();
            policy.module_argument = source.value("pwdCheckModuleArg").map(<[u8]>::to_vec);
        }
        if source.is_of_class("pwdHashingPolicy") {
            policy.default_hash = source.scheme();
            policy.rehash_on_bind = policy.default_hash.is_some() && source.flag("pwdRehashOnBind", false);
        }
        policy.max_recorded_failure = policy.max_recorded_failure.max(policy.max_failure);
        if policy.min_delay > 0 {
            if policy.max_recorded_failure == 0 {
                policy.max_recorded_failure = RECORDED_FOR_DELAYS;
            }
            if policy.max_delay == 0 {
                policy.max_delay = policy.min_delay;
            }
        }
        Some(policy)
    }
}

/// Whether the path of a module is one of ppm.
pub(super) fn is_ppm(path: &str) -> bool {
    parts::module_name(path) == "ppm"
}

struct Source<'a> {
    schema: &'a Schema,
    entry: &'a Entry,
}

impl Source<'_> {
    fn value(&self, name: &str) -> Option<&[u8]> {
        let description = self.schema.attribute_description(name.as_bytes()).ok()?;
        self.entry.attribute(&description)?.values.first().map(Vec::as_slice)
    }

    /// A number of 32 bits, as in slapd; a negative number counts as zero.
    fn number(&self, name: &str) -> Option<i64> {
        let Some(value) = self.value(name) else { return Some(0) };
        let number: i32 = std::str::from_utf8(value).ok()?.parse().ok()?;
        Some(i64::from(number.max(0)))
    }

    fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.number(name)?).ok()
    }

    fn numbers(&self) -> Option<Policy> {
        Some(Policy {
            min_age: self.number("pwdMinAge")?,
            max_age: self.number("pwdMaxAge")?,
            max_idle: self.number("pwdMaxIdle")?,
            in_history: self.count("pwdInHistory")?,
            check_quality: self.number("pwdCheckQuality")?,
            min_length: self.number("pwdMinLength")?,
            max_length: self.number("pwdMaxLength")?,
            expire_warning: self.number("pwdExpireWarning")?,
            grace_expiry: self.number("pwdGraceExpiry")?,
            grace_limit: self.number("pwdGraceAuthNLimit")?,
            lockout_duration: self.number("pwdLockoutDuration")?,
            min_delay: self.number("pwdMinDelay")?,
            max_delay: self.number("pwdMaxDelay")?,
            max_failure: self.count("pwdMaxFailure")?,
            max_recorded_failure: self.count("pwdMaxRecordedFailure")?,
            failure_count_interval: self.number("pwdFailureCountInterval")?,
            ..Policy::default()
        })
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.value(name)
            .map_or(default, |value| value.eq_ignore_ascii_case(b"TRUE"))
    }

    fn is_of_class(&self, name: &str) -> bool {
        let class = self.schema.find_object_class(name.as_bytes());
        class.is_some_and(|class| self.entry.is_of_class(self.schema, class.number))
    }

    /// `pwdDefaultHash`; an unknown scheme is ignored, with a line in the log.
    fn scheme(&self) -> Option<Scheme> {
        let text = self.value("pwdDefaultHash")?;
        let name = text.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        let scheme = name.and_then(Scheme::from_name);
        if scheme.is_none() {
            let (text, name) = (String::from_utf8_lossy(text), self.entry.dn.pretty());
            tracing::error!(target: "any", "overlay ppolicy: unknown hash \"{text}\" in policy \"{name}\"");
        }
        scheme
    }
}
