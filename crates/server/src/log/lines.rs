//! Lines on their way to the log thread: one text, and for each run of lines that begin alike what they have in common.

use ironbark_runtime::WallTime;

/// The targets of a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Targets {
    pub(super) stderr: bool,
    pub(super) syslog: bool,
    pub(super) file: bool,
}

impl Targets {
    pub(super) fn any(self) -> bool {
        self.stderr || self.syslog || self.file
    }
}

/// What lines have in common that one thread wrote at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) time: WallTime,
    /// The name of the level.
    pub(super) level: &'static str,
    /// The number of the thread.
    pub(super) thread: usize,
    pub(super) targets: Targets,
}

/// Lines in their order. Once the memory has grown, adding a line allocates nothing.
#[derive(Default, Debug)]
pub(super) struct Lines {
    runs: Vec<Run>,
    /// Each line has its line end.
    text: String,
}

/// Lines that follow each other and have the same head.
#[derive(Debug)]
struct Run {
    head: Head,
    octets: usize,
    lines: u64,
}

impl Lines {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The number of runs.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The number of lines.
    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.lines).sum()
    }

    /// The memory that the lines take, in octets.
    pub(super) fn octets(&self) -> usize {
        self.text.len() + self.runs.len() * size_of::<Run>()
    }

    /// The head of the last line.
    pub(super) fn last(&self) -> Option<&Head> {
        self.runs.last().map(|run| &run.head)
    }

    /// Adds a line. It joins the run before it if the heads are the same.
    pub(super) fn push(&mut self, head: Head, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        let octets = line.len() + 1;
        match self.runs.last_mut() {
            Some(run) if run.head == head => {
                run.octets += octets;
                run.lines += 1;
            }
            _ => self.runs.push(Run { head, octets, lines: 1 }),
        }
    }

    /// Adds lines as runs of their own.
    pub(super) fn append(&mut self, others: &mut Self) {
        self.text.push_str(&others.text);
        self.runs.append(&mut others.runs);
        others.clear();
    }

    /// Removes the lines, and memory beyond `kept` octets.
    pub(super) fn clear_to(&mut self, kept: usize) {
        self.clear();
        self.text.shrink_to(kept);
        self.runs.shrink_to(kept / size_of::<Run>());
    }

    fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    /// The runs and the text of their lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Head, &str)> {
        let mut rest = self.text.as_str();
        self.runs.iter().map_while(move |run| {
            let (lines, after) = rest.split_at_checked(run.octets)?;
            rest = after;
            Some((&run.head, lines))
        })
    }

    /// No line goes to stderr any more: it has been written there.
    pub(super) fn forget_stderr(&mut self) {
        for run in &mut self.runs {
            run.head.targets.stderr = false;
        }
    }
}
