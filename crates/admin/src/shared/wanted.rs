//! Texts that people type, and what is said of one that is wrong: what was wanted instead.

use ironbark_config::secret::masked;
use ironbark_model::{
    Dn, Filter, Schema,
    filter::{FilterError, FilterErrorKind},
    ldap_url::LdapUrl,
};

/// An LDAP URL.
///
/// # Errors
/// The message for the user.
pub(crate) fn url(text: &str) -> Result<LdapUrl, String> {
    LdapUrl::parse(text).map_err(|error| {
        let shown = masked(text);
        format!(
            "{shown}: {error}; a URL such as ldap://127.0.0.1:3890/, ldaps://ldap.example.com/ or \
             ldapi://%2Frun%2Fslapd%2Fldapi/ is wanted"
        )
    })
}

/// A name.
///
/// # Errors
/// The message for the user.
pub(crate) fn dn(schema: &Schema, text: &str) -> Result<Dn, String> {
    let parsed = Dn::parse(schema, text.as_bytes());
    parsed.map_err(|_| format!("\"{text}\" is no name of an entry; one such as ou=people,dc=example,dc=com is wanted"))
}

/// A search filter.
///
/// # Errors
/// The message for the user.
pub(crate) fn filter(text: &str, depth: usize) -> Result<Filter<'_>, String> {
    Filter::parse(text.as_bytes(), depth).map_err(|FilterError { kind, .. }| {
        let wanted = match kind {
            FilterErrorKind::Unbalanced => "a parenthesis is missing, or there is one too many",
            FilterErrorKind::Unexpected => "an item such as (uid=ann) is wanted",
            FilterErrorKind::NotOperands => "`!` takes one filter, as in (!(uid=ann))",
            FilterErrorKind::TooDeep => "it is nested more deeply than maxFilterDepth allows",
            FilterErrorKind::BadDescription => "the name of an attribute is wanted before the `=`, as in (uid=ann)",
            FilterErrorKind::BadValue => r"in a value ( ) * and \ are written \28 \29 \2a \5c",
            FilterErrorKind::EmptySubstring => "two asterisks stand side by side, and one is wanted",
        };
        format!("\"{text}\" is no filter: {wanted}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_answered_by_what_is_wanted() {
        for (text, wanted) in [
            ("(cn=", "a parenthesis is missing"),
            ("", "the name of an attribute"),
            ("(!(a=b)(c=d))", "`!` takes one filter"),
            ("(=x)", "the name of an attribute"),
            (r"(cn=\zz)", r"are written \28"),
            ("(cn=a**b)", "two asterisks"),
            ("(!(!(a=b)))", "maxFilterDepth"),
        ] {
            let said = filter(text, 1).unwrap_err();
            assert!(said.contains(wanted) && !said.contains("byte"), "{said}");
        }
        assert!(
            url("http://me:secret@x/")
                .unwrap_err()
                .starts_with("http://***@x/: not an LDAP URL; a URL such as")
        );
        let schema = ironbark_model::schema::SchemaBuilder::new().build().unwrap();
        assert!(
            dn(&schema, "x")
                .unwrap_err()
                .contains("ou=people,dc=example,dc=com is wanted")
        );
    }
}
