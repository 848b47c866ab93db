//! The name of the machine.

/// The host name, as log lines show it; `localhost` when the system has none.
pub fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_always_a_name() {
        assert!(!super::host_name().is_empty());
    }
}
