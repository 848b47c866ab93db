//! Settings of slapo-sssvlv(5).

use crate::{
    overlay::OverlayKind,
    setting::{Level, Setting},
    value::overlay_field,
};

/// How much sorting a database, or the whole server, does at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SssvlvConfig {
    /// `sssvlv-max`: sorted searches of all connections; see [`SssvlvConfig::maximum`].
    pub max: u32,
    /// `sssvlv-maxkeys`: keys of one search.
    pub max_keys: u32,
    /// `sssvlv-maxperconn`: sorted searches of one connection, those whose next page is awaited included.
    pub max_per_connection: u32,
}

impl Default for SssvlvConfig {
    fn default() -> Self {
        Self {
            max: 0,
            max_keys: 5,
            max_per_connection: 5,
        }
    }
}

impl SssvlvConfig {
    /// Sorted searches of all connections: half as many as there are `threads` unless it is said.
    pub fn maximum(&self, threads: Option<u32>) -> u32 {
        const SLAPD_THREADS: u32 = 16;
        match self.max {
            0 => (threads.unwrap_or(SLAPD_THREADS) / 2).max(1),
            max => max,
        }
    }
}

const SSSVLV: Level = Level::Overlay(OverlayKind::Sssvlv);

pub(super) const ROWS: &[Setting] = &[
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
