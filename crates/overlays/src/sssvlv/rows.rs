//! Settings of slapo-sssvlv(5).

use ironbark_config::{Form, Level, Setting, overlay_field};

use super::settings::SssvlvConfig;

const SSSVLV: Level = Level::Overlay("sssvlv");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SSSVLV, &["sssvlv-max"], &["olcSssVlvMax"])
        .olc("3.21.1", Form::Integer)
        .shown()
        .takes("<number>", "0")
        .does(
            "Is how many sorted searches there may be at the same time, of all connections together; a paged one counts from its first \
             page to its last. One more is answered with busy. 0: half of `threads`. Without the overlay there is no limit but those of \
             the keys and entries of one search.",
        )
        .since("2.4")
        .like(&["20"])
        .obeyed(overlay_field!(SssvlvConfig.max)),
    Setting::new(SSSVLV, &["sssvlv-maxkeys"], &["olcSssVlvMaxKeys"])
        .olc("3.21.2", Form::Integer)
        .shown()
        .takes("<number>", "5")
        .does(
            "Is how many keys a sorted search may have. One with more is answered with unwillingToPerform. Without the overlay the \
             default holds.",
        )
        .since("2.4")
        .like(&["2"])
        .obeyed(overlay_field!(SssvlvConfig.max_keys)),
    Setting::new(SSSVLV, &["sssvlv-maxperconn"], &["olcSssVlvMaxPerConn"])
        .olc("3.21.3", Form::Integer)
        .shown()
        .takes("<number>", "5")
        .does(
            "Is how many sorted searches one connection may have at the same time, those of which it has not asked for the last page \
             included. One more is answered with busy.",
        )
        .since("2.4")
        .like(&["1"])
        .obeyed(overlay_field!(SssvlvConfig.max_per_connection)),
];
