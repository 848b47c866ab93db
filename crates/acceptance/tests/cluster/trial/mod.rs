//! A cluster in a lab, with clients that write down what they see, and faults that strike it.

pub(crate) mod clients;
pub(crate) mod clock;
pub(crate) mod fault;
pub(crate) mod lab;
mod slow;
mod strike;
mod table;

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use ironbark_testkit::{Etcd, Flavor, Listen, Server, wait};

use self::{
    clients::{Clients, Ended, Finding},
    clock::WallClock,
    fault::{Fault, writes_go_on},
    lab::Lab,
    slow::SlowDisk,
    table::Table,
};
use crate::cluster::{TOP, assert_equal, common::ironbark, config_tree::in_directory, configuration, person};

pub(crate) const MEMBERS: usize = 3;
pub(crate) const NODES: usize = 3;
const REGISTERS: usize = 4;
/// MiB of each disk.
const DISK: usize = 1024;
/// How long the cluster may take to be well again. Other tests run beside this one.
const RECOVERY: Duration = Duration::from_mins(3);

/// A cluster, its clients, and what is wrong with it now.
pub(crate) struct Trial {
    clients: Clients,
    nodes: Vec<Server>,
    etcd: Etcd,
    lab: Lab,
    slow: Vec<(usize, SlowDisk)>,
    clocks: Vec<(usize, WallClock)>,
    down_since: [f64; NODES],
    /// Members that are not to run now.
    is_down: [bool; MEMBERS],
    /// What is wrong now, and was wrong last.
    struck: Vec<Fault>,
    /// Entries that a fault has added: their number, and those whose addition was acknowledged.
    added: (usize, Vec<String>),
    table: Table,
    pub(crate) findings: Vec<Finding>,
}

impl Trial {
    /// A cluster that is well.
    ///
    /// # Errors
    /// Why this machine, or this user, cannot have it.
    pub(crate) fn begin() -> Result<Self, String> {
        let lab = Lab::begin(NODES + MEMBERS)?;
        let etcd = members(&lab);
        let nodes: Vec<_> = (0..NODES).map(|number| node(&lab, &etcd, number)).collect();
        let pid = nodes[0].pid().unwrap();
        WallClock::of(pid)?;
        SlowDisk::of(pid, &lab.place(0), 0)?;
        nodes[0].ldapadd(TOP).unwrap().success().unwrap();
        for register in 0..REGISTERS {
            let text = format!("{}\ndescription: begin\n", person(&format!("r{register}")).trim_end());
            nodes[0].ldapadd(&text).unwrap().success().unwrap();
        }
        nodes[0].ldapadd(&person("much")).unwrap().success().unwrap();
        assert_equal(&nodes);
        let mut trial = Self {
            clients: Clients::begin(&nodes),
            nodes,
            etcd,
            lab,
            slow: Vec::new(),
            clocks: Vec::new(),
            down_since: [0.0; NODES],
            is_down: [false; MEMBERS],
            struck: Vec::new(),
            added: (0, Vec::new()),
            table: Table::default(),
            findings: Vec::new(),
        };
        trial.recover();
        Ok(trial)
    }

    /// Faults strike one after the other, last for a while together, and are taken back. Then all nodes must be well.
    pub(crate) fn strike(&mut self, faults: &[Fault]) {
        let began = (clients::now(), self.clients.total().all);
        self.struck = faults.to_vec();
        for fault in faults {
            self.begin_fault(*fault);
        }
        // Short faults and long ones.
        let is_slow = faults.iter().any(|fault| fault.kind.is_slow());
        let operations = if is_slow {
            10
        } else {
            [10, 30, 100][faults[0].further() % 3]
        };
        if writes_go_on(faults) {
            self.expect("writes go on", |ended, before| ended.well >= before.well + operations);
        } else {
            // A majority may be left all the same.
            self.expect("clients get answers", |ended, before| {
                ended.in_vain >= before.in_vain + 3 || ended.well >= before.well + 200
            });
        }
        // Beside other faults there may be nothing to write.
        for (party, slow) in std::mem::take(&mut self.slow) {
            if faults.len() == 1 && wait::until(|| slow.was_felt().then_some(())).is_none() {
                self.found(&format!("no sync of party {party} was slow"));
            }
            self.slow.push((party, slow));
        }
        // A member that has lost its data comes back when the others have.
        let (last, first): (Vec<_>, Vec<_>) = faults.iter().partition(|fault| fault.kind == fault::Kind::MemberLost);
        for fault in first.into_iter().chain(last) {
            self.end_fault(fault);
        }
        self.recover();
        let operations = self.clients.total().all - began.1;
        self.table.struck(faults, (began.0, clients::now()), operations);
    }

    fn expect(&mut self, what: &str, is_met: impl Fn(Ended, Ended) -> bool) {
        let before = self.clients.total();
        let met = wait::until_deadline(RECOVERY, || is_met(self.clients.total(), before).then_some(()));
        if met.is_none() {
            self.found(&format!("not so in {RECOVERY:?}: {what}"));
        }
    }

    /// Waits until each node has written, and all members of etcd answer.
    fn recover(&mut self) {
        let before = self.clients.ended().to_vec();
        let recovered = wait::until_deadline(RECOVERY, || {
            self.supervise();
            let ended = self.clients.ended().iter().zip(&before);
            ended
                .into_iter()
                .all(|(now, before)| now.well >= before.well + 5)
                .then_some(())
        });
        if recovered.is_none() {
            let ended = self.clients.ended().to_vec();
            self.found(&format!(
                "not all nodes write again in {RECOVERY:?}: {ended:?}, before {before:?}"
            ));
        }
        let answers = wait::until_deadline(RECOVERY, || {
            self.supervise();
            self.etcd.answers().then_some(())
        });
        if answers.is_none() {
            self.found("not all members of etcd answer again");
        }
    }

    fn found(&mut self, what: &str) {
        let logs = self.nodes.iter().map(|node| {
            let log = node.log();
            let lines: Vec<_> = log.lines().filter(|line| line.contains("cluster")).collect();
            lines[lines.len().saturating_sub(10)..].join("\n")
        });
        let members = (0..MEMBERS).map(|member| {
            let log = self.etcd.log(member);
            let lines: Vec<_> = log.lines().collect();
            lines[lines.len().saturating_sub(10)..].join("\n")
        });
        let logs: Vec<_> = logs.chain(members).collect();
        let what = format!("{what}, under {:?}\n{}", self.struck, logs.join("\n========\n"));
        clients::say(&what);
        self.findings.push((clients::now(), what));
    }

    /// Ends the clients, and says what they cannot have seen: a table of what was tried, and the findings.
    pub(crate) fn judge(mut self) -> (String, Vec<String>) {
        self.clients.end();
        self.compare();
        let (judged, counts) = self.clients.judged(&self.nodes, &self.added.1);
        let mut findings = std::mem::take(&mut self.findings);
        findings.extend(judged);
        if ["cas", "txn", "setting"]
            .iter()
            .any(|kind| !counts.contains(&format!("\"{kind} ok\"")))
        {
            findings.push((0.0, format!("no operation of some kind has ended well: {counts}")));
        }
        let table = format!("{}\n{counts}", self.table.text(&findings));
        (table, findings.into_iter().map(|(_, what)| what).collect())
    }

    /// All nodes must have the same: content, and digests of all entries.
    fn compare(&mut self) {
        let urls: Vec<_> = self.nodes.iter().map(Server::url).collect();
        let mut arguments = vec!["compare-replicas", "--deep", "--wait", "120"];
        arguments.extend([
            "-b",
            "dc=example,dc=com",
            "-D",
            "cn=Manager,dc=example,dc=com",
            "-w",
            "secret",
        ]);
        arguments.extend(urls.iter().map(String::as_str));
        let output = ironbark(&arguments);
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            self.found(&format!("nodes differ: {}", String::from_utf8_lossy(&said)));
        }
    }
}

pub(crate) fn members(lab: &Lab) -> Etcd {
    let places = (NODES..NODES + MEMBERS).map(|party| lab.place(party));
    // Few old files: the disks are memory. A member that was away gets a snapshot.
    let few = ["--max-wals", "2", "--max-snapshots", "2", "--snapshot-count", "5000"];
    let etcd = Etcd::prepare(places.collect(), lab.middle(), &few).unwrap();
    for member in 0..MEMBERS {
        lab.disk(&etcd.directory(member), DISK);
    }
    etcd.begin().unwrap()
}

/// A node that is a party of the lab. Clients reach it by its socket.
pub(crate) fn node(lab: &Lab, etcd: &Etcd, party: usize) -> Server {
    let settings = format!(
        "database config\naccess to * by dn.exact=\"cn=Manager,dc=example,dc=com\" manage\ncluster {} timeout=3\n\
         database mdb",
        etcd.urls()
    );
    let config = configuration(etcd, "").replace("timeout=3", "timeout=3 room=64");
    let config = config
        .replace("database mdb", &settings)
        .replacen("pidfile", "sasl-realm begin\npidfile", 1);
    let server = in_directory(Server::prepare(Flavor::Ironbark, &config).unwrap());
    let entering = lab.place(party).entering.join(" ");
    let program = Flavor::Ironbark.program().unwrap();
    let script = format!("#!/bin/sh\nexec {entering} {} slapd \"$@\"\n", program.display());
    let path = server.layout().write("server.sh", script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = server.listening_on(Listen::Socket).program(path);
    lab.disk(&server.layout().join("db"), DISK);
    server.launch().unwrap();
    server
}
