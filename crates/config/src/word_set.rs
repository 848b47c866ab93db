//! Sets of keywords, as bits: features, conditions, operations, log levels.

/// Declares a set type with one named constant per word.
macro_rules! word_set {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $constant:ident = $bits:literal, $word:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$doc])* pub const $constant: Self = Self($bits);)+

            /// Words and their bits, in the order in which they are printed.
            pub const WORDS: &[(&str, Self)] = &[$(($word, Self($bits))),+];

            /// Whether everything in `other` is in `self`.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Both together.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The bits in `self` that are not in `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// The bits of a word, in any case.
            pub fn word(word: &str) -> Option<Self> {
                Self::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|&(_, value)| value)
            }

            /// The words whose bits are all in the set, except words that another printed word covers.
            pub fn words(self) -> Vec<&'static str> {
                let mut rest = self.0;
                let mut words = Vec::new();
                for &(word, value) in Self::WORDS {
                    if value.0 != 0 && self.contains(value) && rest & value.0 != 0 {
                        words.push(word);
                        rest &= !value.0;
                    }
                }
                words
            }
        }
    };
}

pub(crate) use word_set;
