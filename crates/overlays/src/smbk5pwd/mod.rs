//! The overlay smbk5pwd: passwords of Samba and shadow accounts that follow the password modify operation.
//!
//! As in slapd, only that operation counts: a modify request may have a hash, of which no other can be made.

mod rows;

use std::{fmt::Write as _, str, sync::Arc};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{ContentHooks, Execution, Overlay},
    password,
};
use ironbark_model::{AttributeDescription, Dn, Entry, ResultCode, Schema, schema::ClassNumber};
use ironbark_store::Location;

use self::rows::{Account, ROWS, Smbk5pwdConfig};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "smbk5pwd",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcSmbK5PwdConfig"],
            oid: "4.1.1",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<Smbk5pwdConfig>,
        schema: "",
        introduction: "The password modify operation (RFC 3062; `ldappasswd`) also changes the password of a Samba \
            account and the date of a shadow account, in the same transaction. Other writes of userPassword do not, as \
            in slapd: use `password-hash` and this operation everywhere (nslcd and sssd do). The client needs no rights to \
            the other attributes. A new password that is not UTF-8 cannot be that of a Samba account, and is refused \
            with constraintViolation. sambaNTPassword is as good as the password to whoever reads it: let nobody but \
            Samba read it.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Smbk5pwd {
    schema: Arc<Schema>,
    samba: Option<Samba>,
    shadow: Option<Shadow>,
}

struct Samba {
    class: ClassNumber,
    nt_password: AttributeDescription,
    last_set: AttributeDescription,
    /// With the seconds after the change.
    must_change: (AttributeDescription, u32),
    can_change: (AttributeDescription, u32),
}

struct Shadow {
    class: ClassNumber,
    last_change: AttributeDescription,
}

fn make(settings: &Smbk5pwdConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| SettingError::Wrong(format!("unable to find attribute \"{name}\": {error}")))
    };
    let class = |name: &str| {
        let class = schema.find_object_class(name.as_bytes()).map(|class| class.number);
        class.ok_or_else(|| SettingError::Wrong(format!("unable to find object class \"{name}\"")))
    };
    let samba = if settings.has(Account::Samba) {
        Some(Samba {
            class: class("sambaSamAccount")?,
            nt_password: described("sambaNTPassword")?,
            last_set: described("sambaPwdLastSet")?,
            must_change: (described("sambaPwdMustChange")?, settings.must_change_s),
            can_change: (described("sambaPwdCanChange")?, settings.can_change_s),
        })
    } else {
        None
    };
    let shadow = if settings.has(Account::Shadow) {
        Some(Shadow {
            class: class("shadowAccount")?,
            last_change: described("shadowLastChange")?,
        })
    } else {
        None
    };
    Ok(Overlay {
        content: Some(Arc::new(Smbk5pwd {
            schema: Arc::clone(schema),
            samba,
            shadow,
        })),
        ..Overlay::new("smbk5pwd")
    })
}

impl ContentHooks for Smbk5pwd {
    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let Some(passwords) = &execution.passwords else {
            return Ok(());
        };
        let Location::Entry(id) = execution.view().locate(dn)? else {
            return Ok(());
        };
        let entry = execution.entry(id)?;
        let now_s = execution.directory.clock().now().unix_seconds();
        // In slapd's order.
        self.change_shadow(&entry, now_s, modifications);
        self.change_samba(&entry, &passwords.new, now_s, modifications)
    }
}

impl Smbk5pwd {
    fn change_shadow(&self, entry: &Entry, now_s: i64, modifications: &mut Vec<Modification>) {
        if let Some(shadow) = &self.shadow
            && entry.is_of_class(&self.schema, shadow.class)
        {
            modifications.push(self.replacement(&shadow.last_change, (now_s / DAY_S).to_string()));
        }
    }

    fn change_samba(
        &self,
        entry: &Entry,
        password: &[u8],
        now_s: i64,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let Some(samba) = &self.samba else { return Ok(()) };
        if !entry.is_of_class(&self.schema, samba.class) {
            return Ok(());
        }
        // The old one would stay valid.
        let Ok(clear) = str::from_utf8(password) else {
            return Err(OperationError::new(ResultCode::CONSTRAINT_VIOLATION, NOT_UTF_8));
        };
        for (name, after_s) in [&samba.can_change, &samba.must_change] {
            if *after_s > 0 {
                modifications.push(self.replacement(name, (now_s + i64::from(*after_s)).to_string()));
            }
        }
        modifications.push(self.replacement(&samba.last_set, now_s.to_string()));
        let mut digits = String::new();
        for octet in password::nt_hash(clear) {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{octet:02x}");
        }
        modifications.push(self.replacement(&samba.nt_password, digits));
        Ok(())
    }

    fn replacement(&self, name: &AttributeDescription, value: String) -> Modification {
        Modification::internal(&self.schema, ModificationKind::Replace, name, vec![value.into_bytes()])
    }
}

const DAY_S: i64 = 86_400;
const NOT_UTF_8: &str = "the password of a Samba account must be UTF-8";
