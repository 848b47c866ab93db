//! Curves by OpenSSL's names.

use rustls::crypto::{SupportedKxGroup, aws_lc_rs::kx_group};

use crate::{SelectionError, secp521r1};

/// The groups for key exchange that a list selects, in its order. Names are separated by colons; their case is ignored.
///
/// # Errors
/// A curve that does not exist here, unless it is X448 and one of several; an empty list.
pub fn select_curves(names: &str) -> Result<Vec<&'static dyn SupportedKxGroup>, SelectionError> {
    let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
    for name in names.split(':').filter(|name| !name.is_empty()) {
        groups.push(match name.to_ascii_lowercase().as_str() {
            "x25519" => kx_group::X25519,
            "prime256v1" | "p-256" | "secp256r1" => kx_group::SECP256R1,
            "secp384r1" | "p-384" => kx_group::SECP384R1,
            "x25519mlkem768" => kx_group::X25519MLKEM768,
            "secp521r1" | "p-521" => secp521r1::SECP521R1,
            // Known to OpenSSL, and one of several.
            "x448" if names.contains(':') => continue,
            _ => return Err(SelectionError::NoSuchCurve(name.to_owned())),
        });
    }
    if groups.is_empty() {
        return Err(SelectionError::NoCurve);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use rustls::NamedGroup;

    use super::*;

    #[test]
    fn names_select_in_their_order_and_unknown_ones_are_named() {
        let names =
            |text| select_curves(text).map(|groups| groups.iter().map(|group| group.name()).collect::<Vec<_>>());
        assert_eq!(
            names("P-521:X448:x25519"),
            Ok(vec![NamedGroup::secp521r1, NamedGroup::X25519])
        );
        assert_eq!(
            names("X448"),
            Err(SelectionError::NoSuchCurve("X448".to_owned())),
            "nothing else is left"
        );
        assert_eq!(names("X448:"), Err(SelectionError::NoCurve));
        assert_eq!(names(""), Err(SelectionError::NoCurve));
        assert!(names("sect163k1").is_err_and(|error| error.to_string().contains("sect163k1")));
    }
}
