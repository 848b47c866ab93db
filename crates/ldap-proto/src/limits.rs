//! Limits that decoding checks before it takes memory.

/// The limits of a message. Lists that are read lazily take no memory; their limits bound the work on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeLimits {
    /// Nesting of a filter: a filter without `&`, `|` and `!` has depth 0 (slapd's `maxfilterdepth`, default 1000).
    /// Values above [`DecodeLimits::MAX_FILTER_DEPTH`] act like it.
    pub filter_depth: usize,
    /// Filter items, substring parts included, in one message.
    pub filter_elements: usize,
    /// Attribute descriptions in a search's attribute selection.
    pub selected_attributes: usize,
    /// Attributes of an add request or modifications of a modify request.
    pub attributes: usize,
    /// Controls of one message.
    pub controls: usize,
}

impl DecodeLimits {
    /// The deepest filter that is ever accepted.
    pub const MAX_FILTER_DEPTH: usize = ironbark_model::filter::MAX_DEPTH;
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            filter_depth: 1000,
            filter_elements: 65_536,
            selected_attributes: 16_384,
            attributes: 65_536,
            controls: 64,
        }
    }
}
