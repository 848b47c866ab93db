//! Settings that do not depend on the image.

use super::{Given, Replication};

/// The address of the metrics listener.
pub(super) fn metrics(given: &Given) -> Result<Option<String>, String> {
    let text = given.or("IRONBARK_METRICS", "0.0.0.0:9330");
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let parsed: Result<core::net::SocketAddr, _> = text.parse();
    match parsed {
        Ok(_) => Ok(Some(text.to_owned())),
        Err(_) => Err(format!("IRONBARK_METRICS={text}: address:port is expected, or none")),
    }
}

/// Where LDAP is served; `None`: everywhere.
pub(super) fn address(given: &Given) -> Result<Option<core::net::IpAddr>, String> {
    let Some(text) = given
        .value("IRONBARK_ADDRESS")
        .filter(|text| !text.eq_ignore_ascii_case("all"))
    else {
        return Ok(None);
    };
    let parsed = text
        .parse()
        .map_err(|_| format!("IRONBARK_ADDRESS={text}: an address is expected"));
    parsed.map(Some)
}

/// 10 GiB: room for any directory of a container, and no more than a number until it is used.
pub(super) fn max_size(given: &Given) -> Result<u64, String> {
    Ok(given.number("IRONBARK_MAX_SIZE")?.unwrap_or(10 << 30))
}

/// The words of a list.
pub(super) fn words(text: &str) -> Vec<String> {
    let words = text.split([',', ';', ' ', '\t', '\n']);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A port, which is not 0.
pub(super) fn port(given: &Given, name: &str, default: u16) -> Result<u16, String> {
    match given.number(name)? {
        Some(0) => Err(format!("{name}=0: a port is expected")),
        Some(port) => Ok(port),
        None => Ok(default),
    }
}

/// `IRONBARK_REPLICATION*`.
pub(super) fn replication(
    given: &Given,
    suffix: &str,
    admin: &str,
    has_tls: bool,
    authority: Option<&str>,
) -> Result<Option<Replication>, String> {
    let hosts = words(given.or("IRONBARK_REPLICATION_HOSTS", ""));
    let asked = given.or(
        "IRONBARK_REPLICATION",
        if hosts.is_empty() { "none" } else { "multi-provider" },
    );
    let is_consumer = match asked {
        "none" => return Ok(None),
        "consumer" => true,
        "multi-provider" => false,
        other => {
            return Err(format!(
                "IRONBARK_REPLICATION={other}: none, multi-provider or consumer is expected"
            ));
        }
    };
    if hosts.is_empty() {
        return Err(format!("IRONBARK_REPLICATION={asked} needs IRONBARK_REPLICATION_HOSTS"));
    }
    let usual = || {
        let mut text = format!(
            "searchbase=\"{suffix}\" bindmethod=simple binddn=\"{admin}\" credentials=\"$LDAP_ADMIN_PASSWORD\" \
             type=refreshAndPersist retry=\"1 10 5 +\" timeout=10"
        );
        if has_tls && !hosts.iter().any(|host| host.starts_with("ldaps:")) {
            text.push_str(" starttls=critical");
        }
        if let Some(authority) = authority.filter(|_| has_tls) {
            text.push_str(" tls_cacert=");
            text.push_str(authority);
        }
        text
    };
    Ok(Some(Replication {
        options: given
            .value("IRONBARK_REPLICATION_OPTIONS")
            .map_or_else(usual, str::to_owned),
        hosts,
        is_consumer,
        first_rid: 1,
    }))
}
