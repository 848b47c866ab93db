//! Referrals: the global one, named subordinate referrals (RFC 3296), and the URIs they turn into.

use std::ops::ControlFlow;

use ironbark_model::{
    Dn,
    ldap_url::{LdapUrl, LdapUrlError, UrlScope},
};
use ironbark_store::{Record, Scope};

use crate::{Configuration, OperationError};

/// The answer for a name that no naming context holds: the global `referral`, or noSuchObject.
pub(crate) fn default_referral(configuration: &Configuration, dn: &Dn, scope: Option<Scope>) -> OperationError {
    let urls = configuration
        .settings
        .referrals
        .iter()
        .filter_map(|url| rewrite(configuration, url.clone(), dn, None, scope))
        .collect();
    OperationError::referral(String::new(), urls)
}

/// URLs that stand for no name of their own, with the name of the entry that is asked for, as slapd does it. LDAP URLs
/// that cannot be read are left out.
pub(crate) fn rewritten(configuration: &Configuration, urls: &[String], dn: &Dn) -> Vec<String> {
    let urls = urls.iter();
    urls.filter_map(|url| rewrite(configuration, url.clone(), dn, None, None))
        .collect()
}

/// The URIs of a referral entry as they are, without labels: of an operation on the entry itself.
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

/// The URIs of a referral entry, rewritten for a name at or below its own (RFC 3296 §5.2): what lies between the two is
/// carried over. A search's scope is added where the URI has none. LDAP URLs that cannot be read are left out.
pub(crate) fn urls_below(
    configuration: &Configuration,
    record: &Record<'_>,
    target: &Dn,
    own: &Dn,
    scope: Option<Scope>,
) -> Vec<String> {
    let urls = urls_of(configuration, record).into_iter();
    urls.filter_map(|url| rewrite(configuration, url, target, Some(own), scope))
        .collect()
}

/// Puts the target's name into an LDAP URL: as it is when the URL has no DN or stands for no name of its own, otherwise
/// the part below `own` joined to the URL's DN. Other URLs stay as they are.
fn rewrite(
    configuration: &Configuration,
    url: String,
    target: &Dn,
    own: Option<&Dn>,
    scope: Option<Scope>,
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
        Scope::Base => UrlScope::Base,
        Scope::OneLevel => UrlScope::OneLevel,
        Scope::Subtree => UrlScope::Subtree,
        Scope::Children => UrlScope::Children,
    }));
    Some(parsed.to_string())
}

/// The name of a URL with what `target` has below `own`.
fn joined(configuration: &Configuration, name: &str, target: &Dn, own: &Dn) -> String {
    let (own_text, _) = target.ancestor_forms(own.depth());
    let below = target.pretty().strip_suffix(own_text).unwrap_or_default();
    let below = below.strip_suffix(',').unwrap_or(below);
    // A name of another server's schema stays as it is.
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
