//! Names inside certificates (RFC 5280 §4.1.2.4) in normal form.

use crate::{
    Dn, Schema,
    stringprep::{Case, Insignificant, Prohibited, prepare},
    syntax::InvalidValue,
};

/// Appends the normal form of the DER of a Name.
pub(super) fn of_certificate(schema: &Schema, der: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let name = Dn::from_rdn_sequence(schema, der).map_err(|_| InvalidValue)?;
    put(schema, name.pretty(), out)
}

/// Appends the normal form of a name in an assertion, which must look like one.
pub(super) fn asserted(schema: &Schema, name: &str, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if !name.is_empty() && !name.contains('=') {
        return Err(InvalidValue);
    }
    put(schema, name, out)
}

/// Certificates come from outside. A name with types that the schema does not know is compared as prepared text.
fn put(schema: &Schema, name: &str, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    match Dn::parse(schema, name.as_bytes()) {
        Ok(dn) => {
            out.extend_from_slice(dn.normalized());
            Ok(())
        }
        Err(_) => prepare(
            name.as_bytes(),
            Case::Ignore,
            Insignificant::Spaces,
            Prohibited::Kept,
            out,
        ),
    }
}
