//! What names this server: a `serverID` without a URL, or a URL that is a listener's.

use std::sync::Arc;

use ironbark_config::{GlobalConfig, ServerId, SettingError};
use ironbark_model::ldap_url::LdapUrl;
use ironbark_runtime::process::full_host_name;

/// The URLs of `-h`.
#[derive(Clone, Debug)]
pub(crate) struct OwnUrls {
    listeners: Vec<Arc<str>>,
}

impl OwnUrls {
    /// For a server that starts.
    pub(crate) fn new(listeners: Vec<Arc<str>>) -> Self {
        Self { listeners }
    }

    /// Whether a URL is one of this server. Compares as slapd does: see [`is_own`].
    pub(crate) fn contain(&self, url: &str) -> bool {
        is_own(url, &self.listeners, &mut full_host_name)
    }

    /// The number that a configuration gives this server; 0 if it has no numbers at all. As in slapd, a change at run
    /// time may leave this server without a number: its line may come with the next change. It then keeps its number,
    /// `current`.
    ///
    /// # Errors
    /// The URLs of several lines belong to this server; or none does, and the server is starting.
    pub(crate) fn choose(&self, global: &GlobalConfig, current: Option<u16>) -> Result<u16, SettingError> {
        match (find(&global.server_ids, &self.listeners, &full_host_name)?, current) {
            (Found::Own(id), _) => Ok(id),
            (Found::None(compared), Some(id)) => {
                tracing::warn!(target: "any", "{compared}; the server ID stays {id}");
                Ok(id)
            }
            (Found::None(compared), None) => Err(compared.into()),
        }
    }
}

#[derive(PartialEq, Eq, Debug)]
enum Found {
    Own(u16),
    /// The URLs that were compared.
    None(String),
}

fn find(ids: &[ServerId], listeners: &[Arc<str>], host_name: &dyn Fn() -> String) -> Result<Found, SettingError> {
    let mut host = None;
    let mut asked = || host.get_or_insert_with(host_name).clone();
    let mut own = ids.iter().filter(|server| {
        let url = server.url.as_ref();
        url.is_none_or(|url| is_own(url, listeners, &mut asked))
    });
    let found = own.next();
    if let (Some(one), Some(other)) = (found, own.next()) {
        let url = |server: &ServerId| server.url.clone().unwrap_or_default();
        return Err(format!(
            "serverID: multiple server ID URLs matched, only one is allowed: {} and {}",
            url(one),
            url(other)
        )
        .into());
    }
    match found {
        Some(server) => Ok(Found::Own(server.id)),
        None if ids.is_empty() => Ok(Found::Own(0)),
        None => {
            let urls: Vec<&str> = ids.iter().filter_map(|server| server.url.as_deref()).collect();
            Ok(Found::None(format!(
                "no serverID / URL match found. Check slapd -h arguments: compared {} with the listeners {} on the host {}",
                urls.join(" "),
                listeners.join(" "),
                asked()
            )))
        }
    }
}

/// Compares as slapd does. A URL is ours if it equals a listener's URL letter by letter. It is also ours if two
/// conditions hold. Its host is empty, begins with localhost, or is this machine. A listener has its scheme and port,
/// and also its host, unless one of the two has no host.
fn is_own(url: &str, listeners: &[Arc<str>], host_name: &mut dyn FnMut() -> String) -> bool {
    if listeners.iter().any(|listener| same_text(url, listener)) {
        return true;
    }
    let mut is_local = |name: &str| {
        let begins = name.get(..LOCAL.len());
        name.is_empty()
            || begins.is_some_and(|start| start.eq_ignore_ascii_case(LOCAL))
            || host_name().eq_ignore_ascii_case(name)
    };
    parse(url).is_some_and(|(is_proxied, url)| {
        is_local(&url.host) && listeners.iter().any(|one| serves(one, is_proxied, &url))
    })
}

fn serves(listener: &str, is_proxied: bool, url: &LdapUrl) -> bool {
    let Some((listens_for_proxies, listener)) = parse(listener) else {
        return false;
    };
    let has_same_host =
        listener.host.is_empty() || url.host.is_empty() || listener.host.eq_ignore_ascii_case(&url.host);
    listens_for_proxies == is_proxied
        && listener.scheme == url.scheme
        && listener.effective_port() == url.effective_port()
        && has_same_host
}

/// A URL, and whether its scheme is one for proxies (`pldap`).
fn parse(text: &str) -> Option<(bool, LdapUrl)> {
    let without = text.strip_prefix(['p', 'P']);
    LdapUrl::parse(without.unwrap_or(text))
        .ok()
        .map(|url| (without.is_some(), url))
}

/// A slash at the end makes no difference.
fn same_text(one: &str, other: &str) -> bool {
    one.trim_end_matches('/')
        .eq_ignore_ascii_case(other.trim_end_matches('/'))
}

const LOCAL: &str = "localhost";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: &[(u16, &str)], listeners: &[&str]) -> Result<Found, SettingError> {
        let id = |(id, url): &(u16, &str)| ServerId {
            id: *id,
            url: Some((*url).to_owned()).filter(|url| !url.is_empty()),
        };
        let ids: Vec<ServerId> = ids.iter().map(id).collect();
        let listeners: Vec<Arc<str>> = listeners.iter().map(|one| Arc::from(*one)).collect();
        find(&ids, &listeners, &|| "ldap1.example.com".to_owned())
    }

    #[test]
    fn a_url_is_ours_as_in_slapd() {
        for (url, listener, is_ours) in [
            ("ldap://10.1.2.3:1389/", "LDAP://10.1.2.3:1389", true),
            ("ldap://10.1.2.3/", "ldap://10.1.2.3:389/", false),
            ("ldap://ldap1.example.com", "ldap:///", true),
            ("ldap://LDAP1.example.com:389", "ldap:///", true),
            ("ldap://ldap1.example.com:390", "ldap:///", false),
            ("ldap://ldap2.example.com", "ldap:///", false),
            ("ldap://localhost.localdomain", "ldap:///", true),
            ("ldap://localhost", "ldap://127.0.0.1", false),
            ("ldap:///", "ldap://127.0.0.1/", true),
            ("ldaps://", "ldap:///", false),
            ("ldaps://", "ldaps://ldap1.example.com:636", true),
            ("ldapi://%2Frun%2Fx", "ldapi://%2Frun%2Fx/????x-mod=0777", false),
            ("pldap:///", "ldap:///", false),
            ("pldap:///", "pldap://127.0.0.1", true),
        ] {
            let expected = |found: &Found| matches!(found, Found::Own(7)) == is_ours;
            let found = found(&[(6, "ldap://ldap9"), (7, url)], &["ldap://127.9.9.9/", listener]).unwrap();
            assert!(expected(&found), "{url} {listener}: {found:?}");
        }
    }

    #[test]
    fn what_was_compared_is_named() {
        assert_eq!(found(&[], &["ldap:///"]), Ok(Found::Own(0)));
        assert_eq!(found(&[(5, "")], &["ldap:///"]), Ok(Found::Own(5)));
        let two = [(1, "ldap://ldap8/"), (2, "ldap://ldap9:1389/")];
        let text = "no serverID / URL match found. Check slapd -h arguments: compared ldap://ldap8/ ldap://ldap9:1389/ with the \
                    listeners ldap:/// ldapi:/// on the host ldap1.example.com";
        assert_eq!(
            found(&two, &["ldap:///", "ldapi:///"]),
            Ok(Found::None(text.to_owned()))
        );
        let both = [(1, "ldap://localhost/"), (2, "ldap:///")];
        let text = "serverID: multiple server ID URLs matched, only one is allowed: ldap://localhost/ and ldap:///";
        assert_eq!(found(&both, &["ldap:///"]), Err(text.into()));
    }

    #[test]
    fn a_server_that_runs_keeps_its_number_when_its_line_goes() {
        let own = OwnUrls::new(vec!["ldap:///".into()]);
        let of = |url: &str, id| {
            let mut global = GlobalConfig::default();
            global.server_ids.push(ServerId {
                id,
                url: Some(url.to_owned()),
            });
            global
        };
        assert!(own.choose(&of("ldap://elsewhere:1/", 3), None).is_err());
        assert_eq!(own.choose(&of("ldap:///", 4), None), Ok(4));
        assert_eq!(own.choose(&of("ldap://elsewhere:1/", 3), Some(4)), Ok(4));
    }
}
