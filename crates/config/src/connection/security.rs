//! `secprops`: what is demanded of a SASL mechanism and of the connection around it.

/// Properties of mechanisms, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SecurityFlags(u8);

impl SecurityFlags {
    /// `nodict`: an observer of the network cannot guess passwords.
    pub const NO_DICTIONARY: Self = Self(1);
    /// `noplain`: it does not send passwords in the clear. On a connection with TLS nothing is in the clear.
    pub const NO_PLAIN: Self = Self(2);
    /// `noactive`: an attacker who changes messages cannot break it.
    pub const NO_ACTIVE: Self = Self(4);
    /// `passcred`: it passes the client's credentials on.
    pub const PASS_CREDENTIALS: Self = Self(8);
    /// `forwardsec`: it has forward secrecy.
    pub const FORWARD_SECRECY: Self = Self(16);
    /// `noanonymous`: it is not anonymous.
    pub const NO_ANONYMOUS: Self = Self(32);

    /// No property.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// These and others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These except others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of `others` are among these.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The words of these, in the order of the bits.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let named = WORDS.iter().filter(move |(_, flag)| self.contains(*flag));
        named.map(|(word, _)| *word)
    }
}

/// Demands on a SASL negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BindSecurityProperties {
    /// Properties that the mechanism must have.
    pub flags: SecurityFlags,
    /// `minssf`: least strength of the connection's protection, in bits of its keys. Mechanisms here protect nothing
    /// themselves, so TLS or `ldapi://` must provide it.
    pub min_ssf: u32,
}

/// libldap's: `noanonymous,noplain`.
impl Default for BindSecurityProperties {
    fn default() -> Self {
        Self {
            flags: SecurityFlags::NO_ANONYMOUS.with(SecurityFlags::NO_PLAIN),
            min_ssf: 0,
        }
    }
}

/// A word of `secprops` that has no meaning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecurityWordError {
    /// It names no property.
    #[error("unknown word \"{0}\"")]
    Unknown(String),
    /// A number stands behind the equals sign of such a word.
    #[error("\"{0}\" is no number")]
    NoNumber(String),
}

impl BindSecurityProperties {
    /// Reads words that are separated by commas. Words for properties replace the default ones. `maxssf` and
    /// `maxbufsize` limit a protection by the mechanism itself; none is negotiated, so every value is obeyed.
    ///
    /// # Errors
    /// [`SecurityWordError`].
    pub fn parse(text: &str) -> Result<Self, SecurityWordError> {
        let mut properties = Self::default();
        let mut flags: Option<SecurityFlags> = None;
        for word in text.split(',').map(str::trim) {
            let known = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
            if let Some((_, flag)) = known {
                flags = Some(flags.unwrap_or_default().with(*flag));
            } else if word.eq_ignore_ascii_case("none") {
                flags.get_or_insert_default();
            } else {
                properties.set_number(word)?;
            }
        }
        properties.flags = flags.unwrap_or(properties.flags);
        Ok(properties)
    }

    fn set_number(&mut self, word: &str) -> Result<(), SecurityWordError> {
        let unknown = || SecurityWordError::Unknown(word.to_owned());
        let (name, number) = word.split_once('=').ok_or_else(unknown)?;
        let number: u32 = number
            .parse()
            .map_err(|_| SecurityWordError::NoNumber(word.to_owned()))?;
        match name.to_ascii_lowercase().as_str() {
            "minssf" => self.min_ssf = number,
            "maxssf" | "maxbufsize" => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

const WORDS: [(&str, SecurityFlags); 6] = [
    ("nodict", SecurityFlags::NO_DICTIONARY),
    ("noplain", SecurityFlags::NO_PLAIN),
    ("noactive", SecurityFlags::NO_ACTIVE),
    ("passcred", SecurityFlags::PASS_CREDENTIALS),
    ("forwardsec", SecurityFlags::FORWARD_SECRECY),
    ("noanonymous", SecurityFlags::NO_ANONYMOUS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_replace_the_defaults_and_numbers_do_not() {
        let flags = |text| BindSecurityProperties::parse(text).unwrap().flags;
        assert_eq!(flags("minssf=128"), BindSecurityProperties::default().flags);
        assert_eq!(flags("none"), SecurityFlags::empty());
        assert_eq!(flags("none,NoActive"), SecurityFlags::NO_ACTIVE);
        assert_eq!(
            flags("nodict, noplain,maxssf=0").words().collect::<Vec<_>>(),
            ["nodict", "noplain"]
        );
        assert_eq!(
            BindSecurityProperties::parse("minssf=56,maxbufsize=65536")
                .unwrap()
                .min_ssf,
            56
        );
    }

    #[test]
    fn other_words_are_refused_by_name() {
        for text in ["", "noplain,", "strong", "minssf", "minssf=", "minssf=-1", "ssf=1"] {
            assert!(BindSecurityProperties::parse(text).is_err(), "{text}");
        }
        assert!(
            BindSecurityProperties::parse("noplain,strong").is_err_and(|error| error.to_string().contains("strong"))
        );
    }
}
