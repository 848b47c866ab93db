//! What clients see under faults is what one server without faults might have shown them (linearizability).

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use ironbark_testkit::{Etcd, Layout, Server, wait};
use nix::sys::signal::Signal;

use crate::{TOP, assert_equal, nodes, person};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/history.py");
const REGISTERS: usize = 4;
const MEMBERS: usize = 3;
const NODES: usize = 3;

/// What may go wrong, on a node or member of etcd chosen by a number.
#[derive(Clone, Copy, Debug)]
enum Fault {
    NodeKilled,
    NodeHangs,
    MemberKilled,
    MemberHangs,
    MajorityKilled,
    MajorityHangs,
}

const FAULTS: [Fault; 6] = [
    Fault::NodeKilled,
    Fault::MemberKilled,
    Fault::NodeHangs,
    Fault::MemberHangs,
    Fault::MajorityKilled,
    Fault::MajorityHangs,
];

/// A cluster, and clients that write down what they see.
struct Trial {
    etcd: Etcd,
    nodes: Vec<Server>,
    clients: Child,
    _layout: Layout,
    history: PathBuf,
}

impl Trial {
    fn begin() -> Self {
        let etcd = Etcd::start(MEMBERS).unwrap();
        let nodes = nodes(&etcd, NODES);
        nodes[0].ldapadd(TOP).unwrap().success().unwrap();
        for register in 0..REGISTERS {
            let text = format!("{}\ndescription: begin\n", person(&format!("r{register}")).trim_end());
            nodes[0].ldapadd(&text).unwrap().success().unwrap();
        }
        assert_equal(&nodes);
        let layout = Layout::new().unwrap();
        let history = layout.join("history");
        let mut program = Command::new("/usr/bin/python3");
        program
            .arg(PROGRAM)
            .arg("run")
            .arg(&history)
            .args(nodes.iter().map(Server::url));
        let clients = program.stdin(Stdio::piped()).spawn().unwrap();
        Self {
            etcd,
            nodes,
            clients,
            _layout: layout,
            history,
        }
    }

    /// Waits until this many more operations have ended well, or in any way.
    fn wait_for(&self, count: usize, outcome: &str) {
        let ended = || lines_with(&self.history, outcome);
        let before = ended();
        let more = wait::until(|| (ended() >= before + count).then_some(()));
        assert!(
            more.is_some(),
            "clients see no more {outcome} in a minute: {:?}",
            self.nodes.iter().map(Server::log).collect::<Vec<_>>()
        );
    }

    fn strike(&mut self, fault: Fault, number: usize) {
        let (node, member) = (number % NODES, number % MEMBERS);
        let two = [member, (member + 1) % MEMBERS];
        match fault {
            Fault::NodeKilled => {
                self.nodes[node].kill().unwrap();
                self.wait_for(10, "ok");
                self.nodes[node].launch().unwrap();
            }
            Fault::NodeHangs => {
                self.nodes[node].signal(Signal::SIGSTOP).unwrap();
                self.wait_for(10, "ok");
                self.nodes[node].signal(Signal::SIGCONT).unwrap();
            }
            Fault::MemberKilled => {
                self.etcd.kill(member).unwrap();
                self.wait_for(10, "ok");
                self.etcd.launch(member).unwrap();
            }
            Fault::MemberHangs => {
                self.etcd.signal(member, Signal::SIGSTOP).unwrap();
                self.wait_for(10, "ok");
                self.etcd.signal(member, Signal::SIGCONT).unwrap();
            }
            Fault::MajorityKilled => {
                for member in two {
                    self.etcd.kill(member).unwrap();
                }
                self.wait_for(3, "");
                for member in two {
                    self.etcd.launch(member).unwrap();
                }
            }
            Fault::MajorityHangs => {
                for member in two {
                    self.etcd.signal(member, Signal::SIGSTOP).unwrap();
                }
                self.wait_for(3, "");
                for member in two {
                    self.etcd.signal(member, Signal::SIGCONT).unwrap();
                }
            }
        }
        self.etcd.wait_for_answer().unwrap();
        self.wait_for(20, "ok");
    }

    fn judge(mut self) {
        drop(self.clients.stdin.take());
        assert!(self.clients.wait().unwrap().success());
        assert_equal(&self.nodes);
        let mut program = Command::new("/usr/bin/python3");
        program.arg(PROGRAM).arg("judge").arg(&self.history);
        let verdict = program.args(self.nodes.iter().map(Server::url)).output().unwrap();
        let (said, counts) = (
            String::from_utf8_lossy(&verdict.stdout),
            String::from_utf8_lossy(&verdict.stderr),
        );
        assert!(verdict.status.success() && said.is_empty(), "{said}{counts}");
        assert!(counts.contains("cas ok"), "{counts}");
        eprintln!("{counts}");
    }
}

fn lines_with(history: &Path, outcome: &str) -> usize {
    let text = fs::read_to_string(history).unwrap_or_default();
    let wanted = format!("\"outcome\": \"{outcome}");
    text.lines().filter(|line| line.contains(&wanted)).count()
}

/// `MINUTES` in the environment: as many faults as the time allows, in random order.
#[test]
fn no_client_sees_what_one_server_without_faults_would_not_show() {
    let mut trial = Trial::begin();
    trial.wait_for(20, "ok");
    for (number, fault) in FAULTS.into_iter().enumerate() {
        trial.strike(fault, number);
    }
    let minutes = std::env::var("MINUTES").ok().and_then(|text| text.parse().ok());
    if let Some(minutes) = minutes {
        let mut state = u64::from(std::process::id());
        let mut struck = 0;
        let strike = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = usize::try_from(state >> 33).unwrap();
            trial.strike(FAULTS[number % FAULTS.len()], number / FAULTS.len());
            struck += 1;
            None::<()>
        };
        wait::until_deadline(Duration::from_mins(minutes), strike);
        eprintln!("{struck} faults");
    }
    trial.judge();
}
