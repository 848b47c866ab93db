//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use crate::{
    CompiledFilter, Dn, Entry, Filter, Schema, dn::name_and_uid, entry::EntrySource, filter::log::LogFilter,
    ldap_url::LdapUrl,
};

/// Parses `data` as a filter, prints, compiles and evaluates it.
///
/// # Panics
/// When a printed filter does not parse to the same filter: that is the property under test.
pub fn filter(data: &[u8]) {
    let Ok(filter) = Filter::parse(data, 50) else {
        return;
    };
    let text = filter.to_string();
    assert_eq!(
        Filter::parse(text.as_bytes(), 50),
        Ok(filter.clone()),
        "a filter came back changed"
    );
    let schema = Schema::system();
    let _ = LogFilter::new(&schema, &filter).to_string();
    let mut compiled = CompiledFilter::default();
    compiled.compile(&schema, &filter);
    let entry = Entry::new(Dn::root());
    let source = EntrySource {
        schema: &schema,
        filter: &compiled,
        entry: &entry,
    };
    let _ = compiled.evaluate(&schema, &source, &mut Vec::new());
}

/// Parses `data` as a DN, as a name with an optional UID, and as the DER of a certificate's issuer.
///
/// # Panics
/// When the pretty form does not parse to an equal name: that is the property under test.
pub fn dn(data: &[u8]) {
    let schema = Schema::system();
    if let Ok(dn) = Dn::parse(&schema, data) {
        if dn.pretty().len() <= crate::dn::MAX_LENGTH {
            let again = Dn::parse(&schema, dn.pretty().as_bytes());
            assert_eq!(again.as_ref(), Ok(&dn), "a name came back changed");
        }
        let _ = dn.leaf_assertions(&schema);
    }
    let _ = name_and_uid::parse(&schema, data);
    let _ = Dn::from_rdn_sequence(&schema, data);
}

/// Parses `data` as an LDAP URL and prints it.
///
/// # Panics
/// When a printed URL does not parse to an equal one: that is the property under test.
pub fn ldap_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(url) = LdapUrl::parse(text) {
        let _ = url.socket_mode();
        assert_eq!(LdapUrl::parse(&url.to_string()), Ok(url), "a URL came back changed");
    }
}
