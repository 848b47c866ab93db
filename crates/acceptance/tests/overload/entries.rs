//! Entries that no buffer between a server and its client holds.

use std::{fmt::Write as _, sync::OnceLock};

/// The suffix entry `dc=example,dc=com`, and 20,000 entries of about a kilobyte below it.
pub(crate) fn large_tree() -> &'static str {
    static LDIF: OnceLock<String> = OnceLock::new();
    LDIF.get_or_init(|| {
        let base = "dc=example,dc=com";
        let text = "0123456789".repeat(100);
        let mut ldif = format!("dn: {base}\nobjectClass: domain\ndc: example\n\n");
        for number in 0..20_000 {
            writeln!(
                ldif,
                "dn: cn=n{number},{base}\nobjectClass: person\ncn: n{number}\nsn: x\ndescription: {text}\n"
            )
            .unwrap();
        }
        ldif
    })
}
