//! The stored secrets of a user, for the verification of a client.

use ironbark_model::{AttributeDescription, Dn};
use ironbark_sasl::scram::Hash;

use crate::{
    OperationError,
    authorization::{Asking, stored_values},
    password::{self, Scheme, scram::Keys},
    sasl::scram,
};

/// The passwords of an entry to which the client has `auth` access, and the `rootpw` of a rootdn, in any stored form.
pub(crate) fn passwords(asking: Asking<'_>, dn: &Dn) -> Result<Vec<Vec<u8>>, OperationError> {
    let configuration = asking.configuration;
    let mut found = stored_values(asking, dn, &configuration.well_known.user_password)?;
    let managed = configuration.contexts.iter().filter(|context| context.is_root(dn));
    found.extend(managed.filter_map(|context| Some(context.settings.root_password.as_ref()?.0.clone())));
    Ok(found)
}

/// The passwords among them that are stored in the clear.
pub(crate) fn cleartext(asking: Asking<'_>, dn: &Dn) -> Result<Vec<Vec<u8>>, OperationError> {
    Ok(passwords(asking, dn)?
        .iter()
        .filter_map(|value| in_the_clear(value))
        .collect())
}

fn in_the_clear(value: &[u8]) -> Option<Vec<u8>> {
    password::in_the_clear(value).map(<[u8]>::to_vec)
}

/// The keys for SCRAM: from `userPassword` or `authPassword` (RFC 5803), otherwise from passwords in the clear.
pub(crate) fn scram(asking: Asking<'_>, dn: &Dn, hash: Hash) -> Result<scram::Secret, OperationError> {
    let passwords = passwords(asking, dn)?;
    let keys = passwords.iter().find_map(|value| match password::split(value) {
        (Some(Scheme::Scram(function)), text) if function == hash => Keys::parse(hash, text),
        _ => None,
    });
    if let Some(keys) = keys {
        return Ok(scram::Secret::Keys(keys));
    }
    if let Some(attribute) = auth_password(asking) {
        let values = stored_values(asking, dn, &attribute)?;
        if let Some(keys) = values.iter().find_map(|value| of_auth_password(hash, value)) {
            return Ok(scram::Secret::Keys(keys));
        }
    }
    let clear: Vec<_> = passwords
        .iter()
        .filter_map(|value| in_the_clear(value))
        .take(MAX_CLEARTEXT)
        .collect();
    Ok(if clear.is_empty() {
        scram::Secret::Nothing
    } else {
        scram::Secret::Cleartext(clear)
    })
}

/// Each costs milliseconds.
const MAX_CLEARTEXT: usize = 4;

fn auth_password(asking: Asking<'_>) -> Option<AttributeDescription> {
    asking.configuration.schema.attribute_description(b"authPassword").ok()
}

/// `SCRAM-SHA-256$<rounds>:<salt>$<StoredKey>:<ServerKey>`.
fn of_auth_password(hash: Hash, value: &[u8]) -> Option<Keys> {
    let text = std::str::from_utf8(value).ok()?;
    let (name, rest) = text.split_once('$')?;
    let scheme = Scheme::from_name(name.trim().as_bytes())?;
    (scheme == Scheme::Scram(hash)).then(|| Keys::parse(hash, rest.as_bytes()))?
}
