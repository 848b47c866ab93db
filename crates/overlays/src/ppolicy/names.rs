//! The attributes and the class that the overlay works with, resolved once.

use ironbark_config::SettingError;
use ironbark_model::{AttributeDescription, Entry, Schema, schema::ClassNumber};

macro_rules! names {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Descriptions by what they are.
        pub(super) struct Names {
            $(pub(super) $field: AttributeDescription,)*
            policy_class: ClassNumber,
        }

        impl Names {
            /// Resolves them.
            pub(super) fn of(schema: &Schema) -> Result<Self, SettingError> {
                let find = |name: &str| {
                    let found = schema.attribute_description(name.as_bytes());
                    found.map_err(|error| format!("{name}: {error}"))
                };
                let class = schema.find_object_class(b"pwdPolicy");
                Ok(Self {
                    $($field: find($name)?,)*
                    policy_class: class.ok_or_else(|| "there is no class pwdPolicy".to_owned())?.number,
                })
            }
        }
    };
}

names! {
    password = "userPassword",
    changed_time = "pwdChangedTime",
    locked_time = "pwdAccountLockedTime",
    failure_time = "pwdFailureTime",
    history = "pwdHistory",
    grace_use_time = "pwdGraceUseTime",
    reset = "pwdReset",
    policy_subentry = "pwdPolicySubentry",
    start_time = "pwdStartTime",
    end_time = "pwdEndTime",
    last_success = "pwdLastSuccess",
    lockout_end = "pwdAccountTmpLockoutEnd",
}

impl Names {
    /// Whether an entry is a policy.
    pub(super) fn is_policy(&self, schema: &Schema, entry: &Entry) -> bool {
        entry.is_of_class(schema, self.policy_class)
    }
}

/// The first value of an attribute.
pub(super) fn first<'e>(entry: &'e Entry, name: &AttributeDescription) -> Option<&'e [u8]> {
    entry.attribute(name)?.values.first().map(Vec::as_slice)
}

/// Whether the first value of an attribute is TRUE.
pub(super) fn is_true(entry: &Entry, name: &AttributeDescription) -> bool {
    first(entry, name).is_some_and(|value| value.eq_ignore_ascii_case(b"TRUE"))
}
