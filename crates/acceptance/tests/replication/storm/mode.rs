//! How the servers of a storm follow each other, and what is done in it.

use std::fmt::Debug;

use ironbark_testkit::Flavor::{self, Ironbark, OpenLdap};

use super::{own::OwnKind, shared::Kind};

/// How servers follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Plain,
    /// By their access logs.
    Delta,
    /// As plain, and the server of this number is Debian's slapd. Only those changes are made for which
    /// docs/replication.md says that servers end equal beside slapd (row H of the table, with its note 10).
    BesideSlapd(usize),
}

impl Mode {
    pub(super) fn flavor(self, server: usize) -> Flavor {
        if self == Self::BesideSlapd(server) {
            OpenLdap
        } else {
            Ironbark
        }
    }

    /// Whether a server that ends may forget a change which it has made and not yet acknowledged: slapd may stop with a
    /// `contextCSN` that does not cover it, and nobody hears of it.
    pub(super) fn forgets_its_last_change(self, server: usize) -> bool {
        self.flavor(server) == OpenLdap
    }

    /// Whether only one server is away at a time, and comes back when nobody writes. slapd does not remember deletes:
    /// if one server names an entry as deleted in a refresh, and another one brings the entry later, slapd keeps it,
    /// and ignores the delete that comes behind it.
    pub(super) const fn comes_back_in_calm(self) -> bool {
        matches!(self, Self::BesideSlapd(_))
    }

    /// Whether a server may give an entry a revision that nobody asked for. slapd sends superiors of an entry after it.
    pub(super) const fn may_stamp(self) -> bool {
        matches!(self, Self::BesideSlapd(_))
    }

    /// For the name of a folder.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Delta => "delta",
            Self::BesideSlapd(_) => "beside-slapd",
        }
    }

    /// The changes of shared entries that are made.
    pub(super) fn kinds(self, server: usize) -> Vec<Kind> {
        let is_guaranteed = |kind: &Kind| match self {
            Self::Plain | Self::Delta => true,
            Self::BesideSlapd(slapd) => {
                BESIDE_SLAPD.contains(kind) || slapd != server && DELETES_BESIDE_SLAPD.contains(kind)
            }
        };
        let all = Kind::ALL.into_iter().filter(is_guaranteed);
        all.filter(is_wanted).collect()
    }

    /// The changes of own entries that are made.
    pub(super) fn own_kinds(self) -> Vec<OwnKind> {
        let is_guaranteed = |kind: &OwnKind| !matches!(self, Self::BesideSlapd(_)) || !TAKE_NAMES.contains(kind);
        let all = OwnKind::ALL.into_iter().filter(is_guaranteed);
        all.filter(is_wanted).collect()
    }

    /// Whether clients of several servers give the same names to units.
    pub(super) const fn has_shared_names(self) -> bool {
        !matches!(self, Self::BesideSlapd(_))
    }

    /// Whether an entry may keep the RDN that it had before a rename. slapd as a consumer may lose it.
    pub(super) const fn keeps_old_rdns(self) -> bool {
        !matches!(self, Self::BesideSlapd(_))
    }
}

/// Whether a kind of change is made. `IRONBARK_STORM_WITHOUT` leaves out kinds, `IRONBARK_STORM_ONLY` all others, for
/// the search for a cause.
fn is_wanted<T: Debug>(kind: &T) -> bool {
    let is_in = |variable: &str| {
        let listed = std::env::var(variable).unwrap_or_default();
        listed.split(',').any(|name| name == format!("{kind:?}"))
    };
    let is_only = std::env::var_os("IRONBARK_STORM_ONLY").is_none() || is_in("IRONBARK_STORM_ONLY");
    is_only && !is_in("IRONBARK_STORM_WITHOUT")
}

/// No unit is moved or renamed, because others add entries below it at the same time.
const BESIDE_SLAPD: [Kind; 7] = [
    Kind::AddUnit,
    Kind::ModifyUnit,
    Kind::AddLeaf,
    Kind::ModifyLeaf,
    Kind::RenameLeaf,
    Kind::MoveLeaf,
    Kind::Group,
];

/// Not at slapd: it does not remember deletes, and takes a later change of the entry for a new entry.
const DELETES_BESIDE_SLAPD: [Kind; 1] = [Kind::DeleteLeaf];

/// A slapd that was away may get an entry whose new name another one has left, before it gets that one. It then makes
/// both into one.
const TAKE_NAMES: [OwnKind; 2] = [OwnKind::SwapOwn, OwnKind::RenameOwnToFreed];
