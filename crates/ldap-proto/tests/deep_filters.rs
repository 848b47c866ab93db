//! The deepest accepted filters need only a part of a thread's stack.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

use std::thread;

use ironbark_ber::Reader;
use ironbark_ldap_proto::{DecodeLimits, filter};
use ironbark_model::Filter;

/// Half of a thread's stack. Dropping is recursive.
const STACK: usize = 1024 * 1024;

#[test]
fn the_deepest_filter_is_decoded_copied_encoded_and_dropped() {
    for connective in ["(!", "(&(cn=a)", "(|"] {
        let depth = DecodeLimits::MAX_FILTER_DEPTH;
        let text = format!("{}(cn=b){}", connective.repeat(depth), ")".repeat(depth));
        let work = || {
            let filter = Filter::parse(text.as_bytes(), usize::MAX).unwrap();
            let mut out = Vec::new();
            filter::write(&filter, &mut ironbark_ber::Writer::new(&mut out));
            let limits = DecodeLimits {
                filter_depth: usize::MAX,
                ..DecodeLimits::default()
            };
            let decoded = filter::decode(&mut Reader::new(&out), &limits).unwrap();
            assert_eq!(decoded.clone().to_string(), text);
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            thread.unwrap().join().unwrap();
        });
    }
}
