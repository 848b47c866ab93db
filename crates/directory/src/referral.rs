//! Referrals: the global one, named subordinate referrals (RFC 3296), and the URIs they turn into.

use ironbark_model::{Dn, ldap_url::LdapUrl};
use ironbark_store::{EntryId, Record, Scope, View};

use crate::{Configuration, OperationError};

/// The error for a name that does not exist: a referral if the deepest existing ancestor is one, otherwise noSuchObject with its DN.
pub(crate) fn missing(
    configuration: &Configuration,
    view: View<'_>,
    dn: &Dn,
    ancestor: Option<(EntryId, usize)>,
) -> OperationError {
    let Some((id, depth)) = ancestor else {
        return default_referral(configuration, dn, None);
    };
    let matched = dn.ancestor(depth);
    match view.record(id) {
        Ok(Some(record)) if record.is_referral() => {
            let urls = urls_of(configuration, &record, Some((dn, &matched)), None);
            OperationError::referral(matched_text(view, id, &matched), urls)
        }
        Ok(_) => OperationError::no_such_object(matched_text(view, id, &matched)),
        Err(error) => error.into(),
    }
}

/// As [`missing`], for a search: what the referral names is to be searched with the same scope.
pub(crate) fn missing_for_search(
    configuration: &Configuration,
    view: View<'_>,
    base: &Dn,
    ancestor: Option<(EntryId, usize)>,
    scope: Scope,
) -> OperationError {
    let Some((id, depth)) = ancestor else {
        return default_referral(configuration, base, Some(scope));
    };
    let matched = base.ancestor(depth);
    match view.record(id) {
        Ok(Some(record)) if record.is_referral() => {
            let urls = urls_of(configuration, &record, Some((base, &matched)), Some(scope));
            OperationError::referral(matched_text(view, id, &matched), urls)
        }
        Ok(_) => OperationError::no_such_object(matched_text(view, id, &matched)),
        Err(error) => error.into(),
    }
}

/// The DN as stored, which is how matchedDN is printed.
fn matched_text(view: View<'_>, id: EntryId, fallback: &Dn) -> String {
    view.dn(id)
        .map_or_else(|_| fallback.pretty().to_owned(), |dn| dn.pretty().to_owned())
}

/// The answer for a name that no naming context holds: the global `referral`, or noSuchObject.
pub(crate) fn default_referral(configuration: &Configuration, dn: &Dn, scope: Option<Scope>) -> OperationError {
    let urls = configuration
        .settings
        .referrals
        .iter()
        .map(|url| rewrite(configuration, url, dn, None, scope))
        .collect();
    OperationError::referral(String::new(), urls)
}

/// The URIs of a referral entry, rewritten for the name that was asked for.
///
/// `below` is the name asked for and the referral entry's own name: what lies between them is carried over into the URI
/// (RFC 3296 §5.2). `scope` is appended for search continuations.
pub(crate) fn urls_of(
    configuration: &Configuration,
    record: &Record<'_>,
    below: Option<(&Dn, &Dn)>,
    scope: Option<Scope>,
) -> Vec<String> {
    let mut urls = Vec::new();
    let Some(values) = record.values(&configuration.well_known.r#ref) else {
        return urls;
    };
    let collected = values.for_each(&mut |value| {
        // RFC 3296 §2.2: a value may carry a label after the URI.
        let uri = value.split(|byte| *byte == b' ').next().unwrap_or_default();
        if let Ok(text) = std::str::from_utf8(uri) {
            urls.push(match below {
                Some((target, base)) => rewrite(configuration, text, target, Some(base), scope),
                None => rewrite_scope(text, scope),
            });
        }
        std::ops::ControlFlow::Continue(())
    });
    if let Err(error) = collected {
        tracing::error!(target: "any", "reading a referral: {error}");
    }
    urls
}

/// Puts the target's name into an LDAP URL: as it is when the URL has no DN, otherwise the part below `base` joined to the URL's DN.
fn rewrite(configuration: &Configuration, url: &str, target: &Dn, base: Option<&Dn>, scope: Option<Scope>) -> String {
    let Ok(mut parsed) = LdapUrl::parse(url) else {
        return url.to_owned();
    };
    match base {
        _ if parsed.dn.is_empty() => target.pretty().clone_into(&mut parsed.dn),
        Some(base) => {
            if let Ok(own) = Dn::parse(&configuration.schema, parsed.dn.as_bytes()) {
                let mut name = own;
                for level in (0..target.depth().saturating_sub(base.depth())).rev() {
                    let Some(rdn) = target
                        .rdn(level)
                        .and_then(|(pretty, _)| Dn::parse(&configuration.schema, pretty).ok())
                    else {
                        continue;
                    };
                    name = name.child(&rdn);
                }
                name.pretty().clone_into(&mut parsed.dn);
            }
        }
        None => {}
    }
    set_scope(&mut parsed, scope);
    parsed.to_string()
}

fn rewrite_scope(url: &str, scope: Option<Scope>) -> String {
    let Ok(mut parsed) = LdapUrl::parse(url) else {
        return url.to_owned();
    };
    set_scope(&mut parsed, scope);
    parsed.to_string()
}

fn set_scope(url: &mut LdapUrl, scope: Option<Scope>) {
    use ironbark_model::ldap_url::UrlScope;
    url.scope = match scope {
        None => return,
        Some(Scope::Base) => Some(UrlScope::Base),
        Some(Scope::OneLevel) => Some(UrlScope::OneLevel),
        Some(Scope::Subtree) => Some(UrlScope::Subtree),
        Some(Scope::Children) => Some(UrlScope::Children),
    };
}
