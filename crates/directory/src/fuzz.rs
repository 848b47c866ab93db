//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use ironbark_config::{MemoryFiles, Registry, fuzz::DATABASE, load};

use crate::{
    password::{self, Cost},
    rules::Rules,
};

/// Reads each line of `data` as an access rule, and compiles those that are rules.
pub fn access(data: &[u8]) {
    let mut text = DATABASE.as_bytes().to_vec();
    for line in data.split(|byte| *byte == b'\n') {
        text.extend_from_slice(b"access ");
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let registry = Registry::default();
    let Ok(configuration) = load(
        "slapd.conf",
        &MemoryFiles::file("slapd.conf", text.as_slice()),
        &registry,
    ) else {
        return;
    };
    for database in &configuration.databases {
        let _ = Rules::compile(&registry, &configuration.schema, database.access.iter(), Vec::new());
    }
}

/// Reads `data` as a set of an access rule, and evaluates it on groups that are members of one another.
pub fn set(data: &[u8]) {
    crate::rules::set::fuzz(data);
}

/// Verifies the first line of `data` against the rest, a stored password; and the password against its own hash.
///
/// # Panics
/// When a new hash does not verify: that is the property under test.
pub fn password(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (presented, stored) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let (scheme, hash) = password::split(stored);
    if password::cost(stored) == Cost::Slow && !is_quick(hash) {
        return;
    }
    let _ = password::verify(stored, presented);
    if let Some(scheme) = scheme.filter(|_| password::cost(stored) == Cost::Cheap) {
        let made = password::hash(scheme, presented, &mut |salt| salt.fill(data.len().to_le_bytes()[0]));
        let is_own = made.is_ok_and(|made| made.first() != Some(&b'{') || password::verify(&made, presented));
        assert!(is_own, "a hash of a password verifies it");
    }
    if let Ok(format) = std::str::from_utf8(presented)
        && let Some(salt) = password::crypt_salt(format, &mut |octets| octets.fill(7))
        && is_quick(salt.as_bytes())
    {
        let _ = password::hash_crypt(stored, &salt);
    }
}

/// Whether a hash asks for little work, so that many can be tried. Unit tests cover the limits, which are at seconds.
fn is_quick(hash: &[u8]) -> bool {
    let has_big_number = hash.split(|byte| *byte == b'$').take(4).any(|field| {
        field
            .split(|byte| !byte.is_ascii_digit())
            .any(|digits| digits.len() > 2)
    });
    let is_costly = match hash.trim_ascii().get(..5) {
        Some([b'$', b'2', _, b'$', tens]) => *tens != b'0',
        Some([b'$', b'2', b'$', ..]) => true,
        Some([b'$', b'5' | b'6', b'$', ..]) => false,
        Some([b'$', b'y' | b'7' | b'g', ..]) => hash.len() > 64 || !hash.trim_ascii().starts_with(b"$y$j7"),
        _ => false,
    };
    !has_big_number && !is_costly
}
