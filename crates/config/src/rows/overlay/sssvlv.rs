//! Settings of slapo-sssvlv(5).

use crate::{
    overlay::OverlayKind,
    rows::fields::overlay_field,
    setting::{Level, Setting},
};

const SSSVLV: Level = Level::Overlay(OverlayKind::Sssvlv);

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(SSSVLV, &["sssvlv-max"], &["olcSssVlvMax"])
        .takes("<number>", "0")
        .does(
            "Is how many sorted searches there may be at the same time, of all connections together; a paged one counts from its first \
             page to its last. One more is answered with busy. 0: half of `threads`. Without the overlay there is no limit but those of \
             the keys and entries of one search.",
        )
        .since("2.4")
        .like(&["20"])
        .obeyed(overlay_field!(Sssvlv.max)),
    Setting::new(SSSVLV, &["sssvlv-maxkeys"], &["olcSssVlvMaxKeys"])
        .takes("<number>", "5")
        .does(
            "Is how many keys a sorted search may have. One with more is answered with unwillingToPerform. Without the overlay the \
             default holds.",
        )
        .since("2.4")
        .like(&["2"])
        .obeyed(overlay_field!(Sssvlv.max_keys)),
    Setting::new(SSSVLV, &["sssvlv-maxperconn"], &["olcSssVlvMaxPerConn"])
        .takes("<number>", "5")
        .does(
            "Is how many sorted searches one connection may have at the same time, those of which it has not asked for the last page \
             included. One more is answered with busy.",
        )
        .since("2.4")
        .like(&["1"])
        .obeyed(overlay_field!(Sssvlv.max_per_connection)),
];
