//! Referrals: the global one, named subordinate referrals (RFC 3296), and the URIs made from them.

use std::ops::ControlFlow;

use ironbark_model::{
    Dn,
    ldap_url::{LdapUrl, LdapUrlError, UrlScope},
};
use ironbark_store::{DitScope, Record};

use crate::{Configuration, OperationError};

/// The answer for a name that no naming context holds: the global `referral`, or noSuchObject.
pub(crate) fn default_referral(configuration: &Configuration, dn: &Dn, scope: Option<DitScope>) -> OperationError {
    let urls = configuration
        .settings
        .referrals
        .iter()
        .filter_map(|url| rewrite(configuration, url.clone(), dn, None, scope))
        .collect();
    OperationError::referral(String::new(), urls)
}

/// Puts the requested name into URLs that do not stand for a name of their own, as slapd does. LDAP URLs that cannot be
/// parsed are left out.
pub(crate) fn rewritten(configuration: &Configuration, urls: &[String], dn: &Dn) -> Vec<String> {
    let urls = urls.iter();
    urls.filter_map(|url| rewrite(configuration, url.clone(), dn, None, None))
        .collect()
}

/// The URIs of a referral entry, unchanged and without labels: for an operation on the entry itself.
pub(crate) fn urls_of(configuration: &Configuration, record: &Record<'_>) -> Vec<String> {
    let mut urls = Vec::new();
    let Some(values) = record.values(&configuration.well_known.r#ref) else {
        return urls;
    };
    let collected = values.for_each(&mut |value| {
        // RFC 3296 §2.2: a value may carry a label after the URI.
        let uri = value.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if let Ok(text) = std::str::from_utf8(uri)
            && !text.is_empty()
        {
            urls.push(text.to_owned());
        }
        ControlFlow::Continue(())
    });
    if let Err(error) = collected {
        tracing::error!(target: "any", "reading a referral: {error}");
    }
    urls
}

/// The URIs of a referral entry, for a name at or below it (RFC 3296 §5.2). The RDNs between the two are kept. A
/// search's scope is added to a URI without scope. LDAP URLs that cannot be parsed are left out.
pub(crate) fn urls_below(
    configuration: &Configuration,
    record: &Record<'_>,
    target: &Dn,
    own: &Dn,
    scope: Option<DitScope>,
) -> Vec<String> {
    let urls = urls_of(configuration, record).into_iter();
    urls.filter_map(|url| rewrite(configuration, url, target, Some(own), scope))
        .collect()
}

/// Puts the target's name into an LDAP URL. If the URL has a DN that stands for `own`, the target's RDNs below `own`
/// are added to that DN. Otherwise the whole target name is put in. Other URLs stay unchanged.
fn rewrite(
    configuration: &Configuration,
    url: String,
    target: &Dn,
    own: Option<&Dn>,
    scope: Option<DitScope>,
) -> Option<String> {
    let mut parsed = match LdapUrl::parse(&url) {
        Ok(parsed) => parsed,
        Err(LdapUrlError::BadScheme) => return Some(url),
        Err(_) => return None,
    };
    match own {
        Some(own) if !parsed.dn.is_empty() => parsed.dn = joined(configuration, &parsed.dn, target, own),
        _ => target.pretty().clone_into(&mut parsed.dn),
    }
    parsed.scope = parsed.scope.or(scope.map(|scope| match scope {
        DitScope::Base => UrlScope::Base,
        DitScope::OneLevel => UrlScope::OneLevel,
        DitScope::Subtree => UrlScope::Subtree,
        DitScope::Children => UrlScope::Children,
    }));
    Some(parsed.to_string())
}

/// Joins the target's RDNs below `own` to the name in a URL.
fn joined(configuration: &Configuration, name: &str, target: &Dn, own: &Dn) -> String {
    let (own_text, _) = target.ancestor_forms(own.depth());
    let below = target.pretty().strip_suffix(own_text).unwrap_or_default();
    let below = below.strip_suffix(',').unwrap_or(below);
    // A name that our schema cannot parse stays unchanged.
    let name = match Dn::parse(&configuration.schema, name.as_bytes()) {
        Ok(name) => name.pretty().to_owned(),
        Err(_) => name.to_owned(),
    };
    match (below.is_empty(), name.is_empty()) {
        (true, _) => name,
        (false, true) => below.to_owned(),
        (false, false) => format!("{below},{name}"),
    }
}
