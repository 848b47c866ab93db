//! Settings of slapo-valsort(5).

use ironbark_config::overlay::OverlaySettings;
use ironbark_model::Dn;

/// How values are sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ValsortConfig {
    /// `valsort-attr`, one each.
    pub(super) rules: Vec<RuleSetting>,
}

/// One `valsort-attr`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RuleSetting {
    /// The attribute description, as it is printed.
    pub(super) attribute: String,
    /// The entries: a subtree.
    pub(super) base: Dn,
    /// By weights, which are then removed; `order` applies to equal weights.
    pub(super) is_weighted: bool,
    pub(super) order: Option<Order>,
}

/// An order of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// By normal forms.
    Alphabetic { descending: bool },
    /// By the numbers at their beginning.
    Numeric { descending: bool },
}

/// The words for the orders.
pub(super) const ORDERS: [(&str, Order); 4] = [
    ("alpha-ascend", Order::Alphabetic { descending: false }),
    ("alpha-descend", Order::Alphabetic { descending: true }),
    ("numeric-ascend", Order::Numeric { descending: false }),
    ("numeric-descend", Order::Numeric { descending: true }),
];

impl RuleSetting {
    /// As slapd prints it.
    pub(super) fn text(&self) -> String {
        let weighted = if self.is_weighted { " weighted" } else { "" };
        let order = ORDERS.iter().find(|(_, order)| Some(*order) == self.order);
        let order = order.map(|(word, _)| format!(" {word}")).unwrap_or_default();
        let base = String::from_utf8_lossy(self.base.normalized());
        format!("{} \"{base}\"{weighted}{order}", self.attribute)
    }
}

impl OverlaySettings for ValsortConfig {}
