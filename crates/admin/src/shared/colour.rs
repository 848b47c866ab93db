//! Words in colour. They are printed by `anstream`, which leaves the colours out where nobody sees them: into files and
//! pipes, on terminals without colours, and where NO_COLOR is set.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// What is as it should be: green.
pub(crate) fn good<T: fmt::Display>(text: T) -> impl fmt::Display {
    Coloured(AnsiColor::Green, text)
}

/// What is wrong: red.
pub(crate) fn bad<T: fmt::Display>(text: T) -> impl fmt::Display {
    Coloured(AnsiColor::Red, text)
}

struct Coloured<T>(AnsiColor, T);

impl<T: fmt::Display> fmt::Display for Coloured<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style::new().bold().fg_color(Some(self.0.into()));
        write!(f, "{style}{}{style:#}", self.1)
    }
}
