//! How each fault begins, and how it is taken back.

use ironbark_testkit::{outage::crash_of_machine, wait};
use nix::sys::signal::Signal;

use crate::cluster::{
    person, random_letters,
    trial::{
        DISK, MEMBERS, NODES, RECOVERY, Trial,
        clients::now,
        clock::WallClock,
        fault::{Fault, Kind},
        slow::SlowDisk,
    },
};

/// How much longer a sync takes on a slow disk.
const SLOW_MS: u32 = 200;
/// An entry that takes much room.
const MUCH: &str = "uid=much,ou=people,dc=example,dc=com";
const HOUR: i64 = 3_600;
/// By how many seconds a clock may be wrong.
const JUMPS: [i64; 8] = [120, -120, 1_800, -1_800, 5 * HOUR, -5 * HOUR, 11 * HOUR, -11 * HOUR];

impl Trial {
    pub(super) fn begin_fault(&mut self, fault: Fault) {
        let (node, member) = (fault.node(), fault.member());
        self.lab.cut(&fault.ways());
        match fault.kind {
            Kind::NodeKilled => {
                self.down_since[node] = now();
                self.nodes[node].kill().unwrap();
            }
            Kind::NodeCrashes => {
                self.down_since[node] = now();
                self.nodes[node].kill().unwrap();
                // A node that was killed before and is only just up may have flushed all.
                crash_of_machine(&self.nodes[node].layout().join("db")).unwrap();
            }
            Kind::NodeHangs => {
                self.down_since[node] = now();
                self.nodes[node].signal(Signal::SIGSTOP).unwrap();
            }
            Kind::NodeClock => self.skew(node, self.nodes[node].pid().unwrap(), fault),
            Kind::MemberClock => self.skew(NODES + member, self.etcd.pid(member).unwrap(), fault),
            Kind::NodeDiskFull => self.fill_node(node),
            Kind::MemberDiskFull => self.fill_member(member),
            Kind::NodeDiskSlow => self.slow_down(node, self.nodes[node].pid().unwrap()),
            Kind::MemberDiskSlow => self.slow_down(NODES + member, self.etcd.pid(member).unwrap()),
            Kind::MemberKilled => self.kill_member(member),
            Kind::MemberHangs => self.etcd.signal(member, Signal::SIGSTOP).unwrap(),
            Kind::MemberLost => {
                self.is_down[member] = true;
                self.etcd.lose(member).unwrap();
            }
            Kind::MajorityKilled => fault.majority().into_iter().for_each(|one| self.kill_member(one)),
            Kind::MajorityHangs => {
                let hang = |one: &usize| self.etcd.signal(*one, Signal::SIGSTOP).unwrap();
                fault.majority().iter().for_each(hang);
            }
            Kind::NodeCutOff
            | Kind::MemberCutOff
            | Kind::LinkCut
            | Kind::PeerLinkCut
            | Kind::Divided
            | Kind::MajorityCutOff => {}
        }
    }

    pub(super) fn end_fault(&mut self, fault: &Fault) {
        let (node, member) = (fault.node(), fault.member());
        self.lab.join(&fault.ways());
        match fault.kind {
            Kind::NodeKilled | Kind::NodeCrashes => {
                self.nodes[node].launch().unwrap();
                self.clients.was_down(node, self.down_since[node]);
            }
            Kind::NodeHangs => {
                self.nodes[node].signal(Signal::SIGCONT).unwrap();
                self.clients.was_down(node, self.down_since[node]);
            }
            Kind::NodeClock | Kind::NodeDiskSlow => self.set_right(node),
            Kind::MemberClock | Kind::MemberDiskSlow => self.set_right(NODES + member),
            Kind::NodeDiskFull => self.lab.make_room(&self.nodes[node].layout().join("db"), DISK),
            // etcd ends when it cannot write: then it is started again.
            Kind::MemberDiskFull => self.lab.make_room(&self.etcd.directory(member), DISK),
            Kind::MemberKilled => self.launch_member(member),
            Kind::MemberHangs => self.etcd.signal(member, Signal::SIGCONT).unwrap(),
            Kind::MemberLost => self.replace_member(member),
            Kind::MajorityKilled => fault.majority().into_iter().for_each(|one| self.launch_member(one)),
            Kind::MajorityHangs => {
                let wake = |one: &usize| self.etcd.signal(*one, Signal::SIGCONT).unwrap();
                fault.majority().iter().for_each(wake);
            }
            Kind::NodeCutOff
            | Kind::MemberCutOff
            | Kind::LinkCut
            | Kind::PeerLinkCut
            | Kind::Divided
            | Kind::MajorityCutOff => {}
        }
    }

    /// A clock jumps, and jumps again while the process runs.
    fn skew(&mut self, party: usize, pid: u32, fault: Fault) {
        let clock = WallClock::of(pid).unwrap();
        clock.set(JUMPS[(fault.further() + 3) % JUMPS.len()]);
        self.expect("clients get answers when a clock has jumped", |ended, before| {
            ended.all >= before.all + 3
        });
        clock.set(JUMPS[fault.further() % JUMPS.len()]);
        self.clocks.push((party, clock));
    }

    fn slow_down(&mut self, party: usize, pid: u32) {
        let place = self.lab.place(party);
        let slow = SlowDisk::of(pid, &place, SLOW_MS).unwrap();
        self.slow.push((party, slow));
    }

    fn set_right(&mut self, party: usize) {
        for (_, clock) in self.clocks.iter().filter(|(one, _)| *one == party) {
            clock.set(0);
        }
        self.clocks.retain(|(one, _)| *one != party);
        self.slow.retain(|(one, _)| *one != party);
    }

    /// Fills the disk of a node, and writes there until it has noticed.
    fn fill_node(&mut self, node: usize) {
        self.lab.fill(&self.nodes[node].layout().join("db"));
        let letters = String::from_utf8(random_letters(40_000)).unwrap();
        let refused = wait::until(|| {
            self.added.0 += 1;
            let name = format!("full{}", self.added.0);
            let text = format!("{}\ndescription: {letters}\n", person(&name).trim_end());
            let outcome = self.nodes[node].ldapadd(&text).unwrap();
            if outcome.code() == Some(0) {
                self.added.1.push(name);
            }
            (outcome.code() != Some(0)).then_some(())
        });
        if refused.is_none() {
            self.found("a full disk is not noticed");
        }
    }

    /// Fills the disk of a member, and writes until it ends: etcd cannot go on then. Beside other faults there may be
    /// nothing to write, and nodes that do not answer.
    fn fill_member(&mut self, member: usize) {
        self.lab.fill(&self.etcd.directory(member));
        let away: Vec<_> = self.struck.iter().flat_map(|fault| fault.nodes_away()).collect();
        let writers: Vec<_> = (0..NODES).filter(|node| !away.contains(node)).collect();
        let tries = if self.struck.len() == 1 { 200 } else { 3 };
        let mut letters = random_letters(300_000);
        for node in writers.into_iter().cycle().take(tries) {
            letters.rotate_left(1);
            let text = String::from_utf8(letters.clone()).unwrap();
            let change = format!("dn: {MUCH}\nchangetype: modify\nreplace: description\ndescription: {text}\n");
            self.nodes[node].ldapmodify(&change).unwrap();
            if self.etcd.has_ended(member) {
                return;
            }
        }
        if self.struck.len() == 1 {
            self.found("a member goes on with a full disk");
        }
    }

    fn kill_member(&mut self, member: usize) {
        self.is_down[member] = true;
        self.etcd.kill(member).unwrap();
    }

    fn launch_member(&mut self, member: usize) {
        self.is_down[member] = false;
        self.etcd.launch(member).unwrap();
    }

    fn replace_member(&mut self, member: usize) {
        let replaced = wait::until_deadline(RECOVERY, || {
            self.supervise();
            self.etcd.replace(member).unwrap().then_some(())
        });
        self.is_down[member] = false;
        if replaced.is_none() {
            self.found("no new member of etcd");
        }
    }

    /// Starts members again that have ended by themselves, as an init system does.
    pub(super) fn supervise(&mut self) {
        for member in 0..MEMBERS {
            if !self.is_down[member] && self.etcd.has_ended(member) {
                self.etcd.launch(member).unwrap();
            }
        }
    }
}
