//! The options that slapadd and slapmodify share: `-j`, `-S`, `-w`.

use super::getopt::Opt;
use super::options::Options;

/// How LDIF is read, and how written entries are stamped.
#[derive(Debug, Default)]
pub(crate) struct LoadOptions {
    /// `-j`: records that begin before this line are skipped.
    pub(crate) first_line: u64,
    /// `-S`: the server in CSNs.
    pub(crate) server_id: u16,
    /// `-w`: `contextCSN` is written at the end.
    pub(crate) writes_context_csn: bool,
}

impl LoadOptions {
    /// Reads these options. `other` gets the tool's own options.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn read(
        options: &Options,
        other: &mut dyn FnMut(&Opt, &str) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut load = Self::default();
        for opt in &options.own {
            let text = opt.text().map_err(|error| error.to_string())?;
            match opt.letter {
                'j' => {
                    load.first_line = text
                        .parse()
                        .map_err(|_| format!("-j {text}: a line number is expected"))?;
                }
                'S' => load.server_id = parse_sid(text).ok_or_else(|| format!("-S {text}: a server ID is expected"))?,
                'w' => load.writes_context_csn = true,
                _ => other(opt, text)?,
            }
        }
        Ok(load)
    }
}

/// A server ID: 0 to 4095.
pub(crate) fn parse_sid(text: &str) -> Option<u16> {
    text.parse().ok().filter(|sid| *sid <= 0xfff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_ids_have_twelve_bits() {
        assert_eq!(parse_sid("4095"), Some(4095));
        assert_eq!(parse_sid("4096"), None);
        assert_eq!(parse_sid("x"), None);
    }
}
