//! The C library's regcomp and regexec, which slapd uses. A small program in C asks them.

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::Spans;

/// An expression, and texts to find it in. None of them has a NUL octet.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) is_case_ignored: bool,
    pub(super) expression: String,
    pub(super) texts: Vec<Vec<u8>>,
}

/// What the library makes of a case.
#[derive(Debug)]
pub(super) enum Answer {
    /// regcomp refuses the expression.
    Refused,
    /// For each text.
    Found(Vec<Found>),
    /// regexec did not end.
    Stuck,
}

/// What regexec finds in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// Whether it matches, if no submatches are asked for.
    pub(super) is_match: bool,
    /// The match and its submatches.
    pub(super) spans: Option<Spans>,
}

/// The program.
pub(super) struct Oracle {
    folder: TempDir,
}

impl Oracle {
    /// Compiles it.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("oracle.c");
        fs::write(&source, include_str!("oracle.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O2", "-o"])
            .arg(folder.path().join("oracle"))
            .arg(source);
        assert!(compiler.status().unwrap().success(), "{compiler:?}");
        Self { folder }
    }

    /// The answers, in the order of the cases.
    pub(super) fn ask(&self, cases: &[Case]) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(rest) = cases.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            let (some, is_stuck) = self.ask_some(rest);
            answers.extend(some);
            answers.extend(is_stuck.then_some(Answer::Stuck));
        }
        answers
    }

    /// The answers up to the first case that the library is stuck in.
    fn ask_some(&self, cases: &[Case]) -> (Vec<Answer>, bool) {
        let mut input = Vec::new();
        for case in cases {
            input.extend(u32::from(case.is_case_ignored).to_le_bytes());
            push(&mut input, case.expression.as_bytes());
            input.extend(u32::try_from(case.texts.len()).unwrap().to_le_bytes());
            case.texts.iter().for_each(|text| push(&mut input, text));
        }
        let path = self.folder.path().join("cases");
        fs::write(&path, input).unwrap();
        // Without its environment it is in locale C, as slapd is.
        let output = Command::new(self.folder.path().join("oracle"))
            .env_clear()
            .stdin(File::open(path).unwrap())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let is_stuck = output.status.signal() == Some(SIGVTALRM);
        assert!(output.status.success() || is_stuck, "{}", output.status);
        let (mut answers, mut rest) = (Vec::new(), output.stdout.as_slice());
        while !rest.is_empty() {
            answers.push(answer(&mut rest, cases[answers.len()].texts.len()));
        }
        assert!(is_stuck || answers.len() == cases.len());
        (answers, is_stuck)
    }
}

fn push(input: &mut Vec<u8>, text: &[u8]) {
    assert!(!text.contains(&0), "a text ends at a NUL in C: {}", text.escape_ascii());
    input.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    input.extend(text);
}

fn answer(rest: &mut &[u8], texts: usize) -> Answer {
    if number(rest) == 1 {
        return Answer::Refused;
    }
    let groups = number(rest);
    let found = |rest: &mut &[u8]| Found {
        is_match: number(rest) == 1,
        spans: (number(rest) == 1).then(|| (0..=groups).map(|_| span(rest)).collect()),
    };
    Answer::Found((0..texts).map(|_| found(rest)).collect())
}

fn span(rest: &mut &[u8]) -> Option<(usize, usize)> {
    let (start, end) = (number(rest), number(rest));
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

fn number(rest: &mut &[u8]) -> i32 {
    let (octets, after) = rest.split_first_chunk().unwrap();
    *rest = after;
    i32::from_le_bytes(*octets)
}

const SIGVTALRM: i32 = 26;
