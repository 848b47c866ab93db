//! The reference page is current, and help finds settings.

use std::path::Path;

use ironbark_config::{help, reference_markdown, statement_text};
use ironbark_overlays::registry;

/// If the page is out of date, the test rewrites it and fails once.
#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = reference_markdown(&registry());
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    if found != page {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page).unwrap();
        panic!("docs/settings.md was not current and has been rewritten");
    }
}

#[test]
fn help_is_found_by_keyword_alias_and_attribute() {
    let help = |name: &str| help(&registry(), name);
    let text = help("IdleTimeout").unwrap();
    assert!(
        text.starts_with("idletimeout \\<seconds>") || text.starts_with("idletimeout <seconds>"),
        "{text}"
    );
    assert!(text.contains("default: 0") && text.contains("olcIdleTimeout"), "{text}");
    assert_eq!(help("olcidletimeout").unwrap(), text);
    assert_eq!(help("sasl-regexp"), help("authz-regexp"));
    assert_eq!(help("no-such-thing"), None);
}

#[test]
fn a_value_with_blanks_is_quoted_where_it_is_one_argument() {
    let registry = registry();
    let row = registry.with_keyword("suffix").next().unwrap();
    assert_eq!(statement_text(row, "ou=a b"), "suffix \"ou=a b\"");
    let row = registry.with_keyword("loglevel").next().unwrap();
    assert_eq!(statement_text(row, "stats sync"), "loglevel stats sync");
}
