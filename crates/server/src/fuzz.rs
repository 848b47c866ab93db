//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use futures_util::FutureExt as _;

use crate::listener::{proxy, url::ListenerUrl};

/// Reads `data` as the first octets that a proxy sends.
///
/// # Panics
/// When more is read than the header, or a second reading of the same header takes another number of octets: that is
/// the property under test.
pub fn proxy_header(data: &[u8]) {
    let mut input = data;
    let read = proxy::read_header(&mut input).now_or_never();
    let taken = data.len() - input.len();
    if let Some(Ok(source)) = read {
        let mut alone = data.get(..taken).unwrap_or_default();
        let again = proxy::read_header(&mut alone).now_or_never();
        assert!(
            matches!(again, Some(Ok(again)) if again == source),
            "a header depends on what follows it"
        );
        assert!(
            alone.is_empty() && taken <= proxy::MAX_HEADER,
            "a header is longer than it may be"
        );
    }
}

/// Reads `data` as a URL of `-h`.
pub fn listener_url(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ListenerUrl::parse(text);
    }
}
