//! A process of its own with a database: it reads orders from its input, one a line, and answers each with a line.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};

use super::{
    hook::looking_on,
    model::{Model, Step, read},
};
use crate::{
    Database, DatabaseOptions, HeldSnapshot, StoreError,
    common::{add, assert_sound, options, schema},
    points::Point,
};

const VARIABLE: &str = "IRONBARK_STORE_TURNS";
const MARK: &str = "> ";

/// A process that was started, as the one that gives orders sees it.
pub(super) struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start() -> Self {
        // A write beyond the limit of a file's length is then an error, and no signal.
        let mut child = Command::new("/bin/sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["points::tests::process::obeys", "--exact", "--nocapture"])
            .env(VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            orders: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// The answer to an order. `None`: the process has ended.
    pub(super) fn ask(&mut self, order: &str) -> Option<String> {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
        let mut line = String::new();
        while self.answers.read_line(&mut line).unwrap() > 0 {
            if let Some((_, answer)) = line.split_once(MARK) {
                return Some(answer.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What such a process has open.
#[derive(Default)]
struct Opened {
    held: Option<HeldSnapshot>,
    database: Option<Arc<Database>>,
}

/// Not a test of its own: the process that the turns start.
#[test]
fn obeys() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let mut opened = Opened::default();
    for order in std::io::stdin().lines() {
        let answer = opened.obey(&order.unwrap());
        println!("{MARK}{answer}");
    }
}

impl Opened {
    fn database(&self) -> &Arc<Database> {
        self.database.as_ref().unwrap()
    }

    fn obey(&mut self, order: &str) -> String {
        let (act, rest) = order.split_once(' ').unwrap_or((order, ""));
        match act {
            "write" => return self.write(rest),
            "open" | "look" => return self.open(rest.as_ref(), act == "look"),
            "close" => *self = Self::default(),
            "read" => return format!("{:?}", read(self.database())),
            "hold" => self.held = Some(self.database().hold().unwrap()),
            "held" => return format!("{:?}", Model::shown(self.held.as_ref().unwrap().view())),
            "check" => assert_sound(self.database()),
            _ => panic!("{order}"),
        }
        "done".into()
    }

    fn open(&mut self, directory: &Path, read_only: bool) -> String {
        let options = DatabaseOptions {
            read_only,
            indexes: Vec::new(),
            ..options(directory)
        };
        match Database::open(options, schema()) {
            Ok(database) => self.database = Some(Arc::new(database)),
            Err(StoreError::InUse(_)) => return "in use".into(),
            Err(error) => panic!("{error}"),
        }
        "done".into()
    }

    /// The first word says how the transaction ends.
    fn write(&self, order: &str) -> String {
        let mut words = order.split(' ');
        let ending = words.next().unwrap().to_owned();
        let database = self.database();
        let has_ended = move |point| {
            if format!("{point:?}") == ending {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
        };
        let steps: Vec<_> = words.map(Step::parse).collect();
        let ending = order.split(' ').next().unwrap();
        looking_on(has_ended, || make(database, ending, &steps).into())
    }
}

fn make(database: &Database, ending: &str, steps: &[Step]) -> &'static str {
    let mut write = database.write().unwrap();
    if write.view().entry_count().unwrap() == 0 {
        let base = [("objectClass", "domain"), ("dc", "example")];
        write.apply_effect(&add("dc=example,dc=com", &base)).unwrap();
    }
    for step in steps {
        match write.apply_effect(&step.effect()) {
            Ok(_) => {}
            Err(StoreError::Inapplicable(_)) => return "refused",
            Err(error) => panic!("{error}"),
        }
    }
    match ending {
        "drop" => "dropped",
        "full" => committed_without_room(database, || write.commit()),
        _ => {
            write.commit().unwrap();
            "done"
        }
    }
}

/// Commits while the file may not grow.
fn committed_without_room(database: &Database, commit: impl FnOnce() -> Result<(), StoreError>) -> &'static str {
    let file = database.options().directory.join("data.mdb");
    let limit = getrlimit(Resource::Fsize);
    let current = Some(std::fs::metadata(file).unwrap().len());
    setrlimit(Resource::Fsize, Rlimit { current, ..limit }).unwrap();
    let committed = commit();
    setrlimit(Resource::Fsize, limit).unwrap();
    match committed {
        Ok(()) => "done",
        Err(_) => "failed",
    }
}

/// The points at which a writer may end.
pub(super) const ENDS: [Point; 4] = [Point::Begun, Point::Written, Point::Published, Point::Committed];
