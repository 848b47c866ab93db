//! The name of the machine.

use dns_lookup::{AddrInfoHints, getaddrinfo};

/// The host name, as log lines show it; `localhost` when the system has none.
pub fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// The name of this machine with its domain, from the system's resolver; without the domain if the resolver knows none.
/// It may wait for the network.
pub fn full_host_name() -> String {
    let name = host_name();
    let hints = AddrInfoHints {
        flags: CANONICAL_NAME,
        ..AddrInfoHints::default()
    };
    let found = getaddrinfo(Some(&name), None, Some(hints)).ok();
    let full = found.and_then(|mut found| found.find_map(|one| one.ok()?.canonname));
    full.unwrap_or(name)
}

/// `AI_CANONNAME` of Linux.
const CANONICAL_NAME: i32 = 2;

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_always_a_name() {
        assert!(!super::host_name().is_empty());
        assert!(!super::full_host_name().is_empty());
    }
}
