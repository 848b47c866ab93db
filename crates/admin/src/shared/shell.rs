//! Words of commands that are printed for people to copy.

use std::{borrow::Cow, path::Path};

/// A word, quoted where a shell would take it for something else.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    // Only a NUL cannot be quoted, and no word has one.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// The same of a path.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_word_as_it_is() {
        for word in [
            "/srv/a b",
            "cn=admin,o=It's $5 & more",
            "plain",
            "a\"b",
            "(cn=*)",
            "~x",
            "-",
            "",
        ] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
        assert_eq!(quoted("/srv/directory/slapd.conf"), "/srv/directory/slapd.conf");
    }
}
