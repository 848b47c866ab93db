//! `cargo xtask instructions`: callgrind counts the instructions of the hot paths, which are compared with the figures
//! of `data/instructions.txt`.
//!
//! The figures are a ratchet: a count above its figure fails. A count below it fails too, until `--accept` stores the
//! gain. A rise is accepted in the same way, and its commit gives the reason.

mod counting;
mod figures;
mod verdict;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use self::figures::Figures;
use self::verdict::Verdict;

/// The use of the counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They are compared with the figures.
    Check,
    /// They become the figures.
    Accept,
}

/// Counts, and compares with the figures or replaces them. Returns whether all is well.
pub(crate) fn run(root: &Path, purpose: Purpose) -> Result<bool> {
    let counted = counting::count(root)?;
    let path = root.join(FIGURES);
    let figures = fs::read_to_string(&path).context(FIGURES)?;
    let figures = Figures::read(&figures).context(FIGURES)?;
    let verdict = Verdict::new(&figures, &counted);
    print!("{verdict}");
    if purpose == Purpose::Accept {
        fs::write(&path, counted.to_string()).context(FIGURES)?;
        println!("{FIGURES} is written.");
        return Ok(true);
    }
    if !verdict.is_good() {
        println!(
            "FAILED. `cargo xtask instructions --accept` makes the counts the new figures: at once when they have sunk,"
        );
        println!("and when a rise is worth it, which the message of its commit then explains.");
    }
    Ok(verdict.is_good())
}

const FIGURES: &str = "data/instructions.txt";
