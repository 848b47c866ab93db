//! Attribute descriptions that operations need by name, resolved once per schema.

use ironbark_model::{AttributeDescription, Schema};

macro_rules! well_known {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Descriptions of the system schema that operations refer to.
        #[derive(Clone, Debug)]
        pub struct WellKnown {
            $(#[doc = concat!("`", $name, "`.")] pub $field: AttributeDescription,)*
        }

        impl WellKnown {
            /// Resolves the descriptions. `None` only for a schema without the built-in definitions.
            pub fn of(schema: &Schema) -> Option<Self> {
                Some(Self { $($field: schema.attribute_description($name.as_bytes()).ok()?,)* })
            }
        }
    };
}

well_known! {
    object_class = "objectClass",
    structural_object_class = "structuralObjectClass",
    entry_uuid = "entryUUID",
    entry_csn = "entryCSN",
    context_csn = "contextCSN",
    entry_dn = "entryDN",
    creators_name = "creatorsName",
    create_timestamp = "createTimestamp",
    modifiers_name = "modifiersName",
    modify_timestamp = "modifyTimestamp",
    subschema_subentry = "subschemaSubentry",
    has_subordinates = "hasSubordinates",
    user_password = "userPassword",
    authz_to = "authzTo",
    authz_from = "authzFrom",
    aliased_object_name = "aliasedObjectName",
    r#ref = "ref",
    cn = "cn",
    pwd_policy_subentry = "pwdPolicySubentry",
    pwd_last_success = "pwdLastSuccess",
}
