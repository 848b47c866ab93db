//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use ironbark_ber::Writer;
use ironbark_ldap_proto::{
    DecodeLimits,
    controls::{ControlValue, RequestControl as _},
};

use crate::{
    noopsrch::NoOpSearchResponse,
    psearch::{EntryChange, PersistentSearch},
};

/// Decodes `data` as the value of a control that an overlay describes. The first octet chooses which.
///
/// # Panics
/// When an encoded value does not decode to the original: that is the property under test.
pub fn overlay_control(data: &[u8]) {
    let Some((choice, value)) = data.split_first() else {
        return;
    };
    match choice % 3 {
        0 => {
            if let Ok(asked) = PersistentSearch::decode(value, &DecodeLimits::default()) {
                let again = PersistentSearch::decode(&octets(&asked), &DecodeLimits::default());
                assert_eq!(again, Ok(asked), "a persistent search came back changed");
            }
        }
        1 => {
            if let Ok(change) = EntryChange::decode_value(value) {
                let again = octets(&change);
                let again = EntryChange::decode_value(&again);
                assert_eq!(again, Ok(change), "an entry change came back changed");
            }
        }
        _ => {
            if let Ok(counted) = NoOpSearchResponse::decode_value(value) {
                let again = NoOpSearchResponse::decode_value(&octets(&counted));
                assert_eq!(again, Ok(counted), "numbers came back changed");
            }
        }
    }
}

fn octets(control: &impl ControlValue) -> Vec<u8> {
    let mut out = Vec::new();
    control.write_value(&mut Writer::new(&mut out));
    out
}
