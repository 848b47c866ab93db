//! Protocol versions.

use rustls::{
    SupportedCipherSuite, SupportedProtocolVersion,
    version::{TLS12, TLS13},
};

use crate::SelectionError;

/// The versions that these suites allow and that are not older than `oldest`, the newest first. `oldest` is a version
/// in the form of the protocol: (3, 3) is TLS 1.2, (3, 4) is TLS 1.3. A newer one
/// counts as TLS 1.3. Versions before TLS 1.2 do not exist here.
///
/// # Errors
/// Nothing is left.
pub fn select_versions(
    oldest: (u8, u8),
    suites: &[SupportedCipherSuite],
) -> Result<Vec<&'static SupportedProtocolVersion>, SelectionError> {
    let of_suites =
        |version: &SupportedProtocolVersion| suites.iter().any(|suite| suite.version().version == version.version);
    let mut versions = Vec::new();
    if of_suites(&TLS13) {
        versions.push(&TLS13);
    }
    if oldest <= (3, 3) && of_suites(&TLS12) {
        versions.push(&TLS12);
    }
    if versions.is_empty() {
        return Err(SelectionError::NoVersion);
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select_ciphers;

    #[test]
    fn ciphers_and_the_oldest_version_choose() {
        let versions = |oldest, ciphers| select_versions(oldest, &select_ciphers(ciphers).unwrap());
        assert_eq!(versions((0, 0), None), Ok(vec![&TLS13, &TLS12]));
        assert_eq!(versions((3, 4), None), Ok(vec![&TLS13]));
        assert_eq!(versions((3, 0), Some("NORMAL:-VERS-TLS1.3")), Ok(vec![&TLS12]));
        assert_eq!(
            versions((3, 4), Some("NORMAL:-VERS-TLS1.3")),
            Err(SelectionError::NoVersion)
        );
        assert_eq!(versions((3, 5), None), Ok(vec![&TLS13]));
    }
}
