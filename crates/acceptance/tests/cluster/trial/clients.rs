//! The clients of a trial, and the judge of what they have seen: `history.py` and `judge.py`.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use ironbark_runtime::Clock;
use ironbark_testkit::{Layout, Server};

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/history.py");
const JUDGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/judge.py");

/// Clients that write down what they see.
pub(crate) struct Clients {
    process: Child,
    layout: Layout,
    counts: Counts,
    /// When nodes cannot answer: node, begin and end in seconds.
    down: Vec<(usize, f64, f64)>,
}

/// Operations that have ended, as far as the history was read.
#[derive(Default)]
struct Counts {
    read: u64,
    half: String,
    nodes: Vec<Ended>,
}

/// How many operations have ended.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ended {
    pub(crate) all: usize,
    pub(crate) well: usize,
    /// Refused because etcd does not answer, or without an answer.
    pub(crate) in_vain: usize,
}

/// A finding: when, and what.
pub(crate) type Finding = (f64, String);

impl Clients {
    /// Clients of all nodes.
    pub(crate) fn begin(nodes: &[Server]) -> Self {
        let layout = Layout::new().unwrap();
        let process = Command::new("/usr/bin/python3")
            .arg("-B")
            .args([CLIENTS.as_ref(), layout.join("history").as_os_str()])
            .args(nodes.iter().map(Server::url))
            .stdin(Stdio::piped())
            .spawn();
        Self {
            process: process.unwrap(),
            layout,
            counts: Counts {
                nodes: vec![Ended::default(); nodes.len()],
                ..Counts::default()
            },
            down: Vec::new(),
        }
    }

    /// How many operations have ended at each node.
    pub(crate) fn ended(&mut self) -> &[Ended] {
        self.counts.read_on(&self.layout.join("history"));
        &self.counts.nodes
    }

    /// How many operations have ended at all nodes.
    pub(crate) fn total(&mut self) -> Ended {
        let nodes = self.ended().iter();
        nodes.fold(Ended::default(), |sum, one| Ended {
            all: sum.all + one.all,
            well: sum.well + one.well,
            in_vain: sum.in_vain + one.in_vain,
        })
    }

    /// A node cannot answer, from then on until now.
    pub(crate) fn was_down(&mut self, node: usize, since: f64) {
        self.down.push((node, since, now()));
    }

    /// Ends the clients.
    pub(crate) fn end(&mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    /// What cannot have been, and counts for the table. `acknowledged` are entries that others have added.
    pub(crate) fn judged(&mut self, nodes: &[Server], acknowledged: &[String]) -> (Vec<Finding>, String) {
        let down = self
            .layout
            .write("down", serde_json::to_string(&self.down).unwrap())
            .unwrap();
        let added = self
            .layout
            .write("added", serde_json::to_string(acknowledged).unwrap())
            .unwrap();
        let files: [PathBuf; 3] = [self.layout.join("history"), down, added];
        let verdict = Command::new("/usr/bin/python3")
            .arg("-B")
            .arg(JUDGE)
            .args(files)
            .args(nodes.iter().map(Server::url))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&verdict.stdout).into_owned();
        let counts = String::from_utf8_lossy(&verdict.stderr).into_owned();
        assert!(verdict.status.success(), "{said}{counts}");
        let finding = |line: &str| {
            let (at, what) = line.split_once('\t').unwrap();
            (at.parse().unwrap(), what.to_owned())
        };
        (said.lines().map(finding).collect(), counts)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // They have ended if all is well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Counts {
    fn read_on(&mut self, history: &Path) {
        let Ok(mut file) = File::open(history) else {
            return;
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut text = std::mem::take(&mut self.half);
        self.read += u64::try_from(file.read_to_string(&mut text).unwrap()).unwrap();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.half = text.split_off(whole);
        for line in text.lines().filter(|line| !line.contains("\"kind\": \"local\"")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let node = usize::try_from(line["node"].as_u64().unwrap()).unwrap();
            let ended = &mut self.nodes[node];
            ended.all += 1;
            ended.well += usize::from(line["outcome"] == "ok");
            ended.in_vain += usize::from(line["outcome"] == "refused" || line["outcome"] == "unknown");
        }
    }
}

/// Seconds of the clock that the clients read as well.
pub(crate) fn now() -> f64 {
    std::time::Duration::from_nanos(Clock::system().monotonic().nanos()).as_secs_f64()
}

/// Says something on the terminal at once, also when the test is not watched.
pub(crate) fn say(text: &str) {
    // The harness shows what a test prints when the test has failed; this goes past it.
    let _ = writeln!(std::io::stderr(), "{text}");
}
