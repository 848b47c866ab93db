//! Settings of slapo-sssvlv(5).

use ironbark_config::{Form, Setting, SettingLevel, overlay_field};

use super::settings::SssvlvConfig;

const SSSVLV: SettingLevel = SettingLevel::Overlay("sssvlv");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SSSVLV, &["sssvlv-max"], &["olcSssVlvMax"])
        .olc("3.21.1", Form::Integer)
        .shown()
        .takes("<number>", "0")
        .does(
            "Limits the sorted searches at the same time, of all connections together. A paged search counts from its \
             first page to its last. A search beyond the limit is answered with busy. 0 means half of `threads`. \
             Without the overlay, only the keys and the entries of one search are limited.",
        )
        .since("2.4")
        .like(&["20"])
        .obeyed(overlay_field!(SssvlvConfig.max)),
    Setting::new(SSSVLV, &["sssvlv-maxkeys"], &["olcSssVlvMaxKeys"])
        .olc("3.21.2", Form::Integer)
        .shown()
        .takes("<number>", "5")
        .does(
            "Limits the keys of a sorted search. A search with more keys is answered with unwillingToPerform. Without \
             the overlay the default holds.",
        )
        .since("2.4")
        .like(&["2"])
        .obeyed(overlay_field!(SssvlvConfig.max_keys)),
    Setting::new(SSSVLV, &["sssvlv-maxperconn"], &["olcSssVlvMaxPerConn"])
        .olc("3.21.3", Form::Integer)
        .shown()
        .takes("<number>", "5")
        .does(
            "Limits the sorted searches of one connection at the same time. A paged search counts until the client has \
             asked for its last page. A search beyond the limit is answered with busy.",
        )
        .since("2.4")
        .like(&["1"])
        .obeyed(overlay_field!(SssvlvConfig.max_per_connection)),
];
