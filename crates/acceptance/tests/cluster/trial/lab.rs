//! A network of its own: parties in namespaces, joined by a router that can cut each link in each direction; and disks
//! of a size that changes. No party sees the network of the machine.
//!
//! Clients reach servers by sockets in the file system, which namespaces of networks do not divide.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use ironbark_testkit::MemberHost;

/// A way from one party to another.
pub(crate) type Way = (usize, usize);

/// Namespaces, each held by a process that ends with this value or with the test.
pub(crate) struct Lab {
    router: Child,
    parties: Vec<Child>,
    /// Ways that are cut, and by how many faults.
    cut: BTreeMap<Way, usize>,
}

impl Lab {
    /// A lab of so many parties, all joined.
    ///
    /// # Errors
    /// Why this machine, or this user, cannot have one.
    pub(crate) fn begin(parties: usize) -> Result<Self, String> {
        let up = "ip link set lo up && echo 1 >/proc/sys/net/ipv4/ip_forward";
        let mut lab = Self {
            router: keeper(&["unshare", "--map-root-user", "--net", "--mount"], up)?,
            parties: Vec::new(),
            cut: BTreeMap::new(),
        };
        for number in 0..parties {
            let mut holder = entering(&lab.router, &["--mount"]);
            holder.extend(["unshare", "--net"].map(str::to_owned));
            let holder: Vec<_> = holder.iter().map(String::as_str).collect();
            let party = keeper(&holder, "ip link set lo up")?;
            let pid = party.id();
            lab.parties.push(party);
            lab.run(&format!(
                "ip link add p{number} type veth peer name eth0 netns {pid} && \
                 ip address add 10.77.{number}.1/24 dev p{number} && ip link set p{number} up"
            ))?;
            run(
                &lab.place(number).entering,
                &format!(
                    "ip address add {}/24 dev eth0 && ip link set eth0 up && \
                     ip route add default via 10.77.{number}.1",
                    address(number)
                ),
            )?;
        }
        Ok(lab)
    }

    /// Where a party runs.
    pub(crate) fn place(&self, party: usize) -> MemberHost {
        MemberHost {
            host: address(party),
            entering: entering(&self.parties[party], &["--net", "--mount"]),
        }
    }

    /// A place that reaches all parties, whatever is cut between them.
    pub(crate) fn middle(&self) -> MemberHost {
        MemberHost {
            host: "127.0.0.1".to_owned(),
            entering: entering(&self.router, &["--net", "--mount"]),
        }
    }

    /// Runs a shell command in the middle.
    ///
    /// # Errors
    /// What it has said.
    pub(crate) fn run(&self, command: &str) -> Result<String, String> {
        run(&self.middle().entering, command)
    }

    /// Drops all packets on these ways, without a word to the senders.
    pub(crate) fn cut(&mut self, ways: &[Way]) {
        for way in ways {
            let count = self.cut.entry(*way).or_default();
            *count += 1;
            if *count == 1 {
                self.rule("add", *way);
            }
        }
    }

    /// Takes a cut back. Ways that another fault has cut stay so.
    pub(crate) fn join(&mut self, ways: &[Way]) {
        for way in ways {
            let count = self.cut.get_mut(way).unwrap();
            *count -= 1;
            if *count == 0 {
                self.rule("del", *way);
            }
        }
    }

    fn rule(&self, verb: &str, (from, to): Way) {
        let (from, to) = (address(from), address(to));
        self.run(&format!("ip rule {verb} from {from} to {to} blackhole"))
            .unwrap();
    }

    /// A file system of its own at a path, of so many MiB.
    pub(crate) fn disk(&self, path: &Path, mebibytes: usize) {
        let path = path.display();
        self.run(&format!("mount -t tmpfs -o size={mebibytes}m,mode=755 tmpfs {path}"))
            .unwrap();
    }

    /// Makes a disk so small that nothing more has room. It may have grown meanwhile: then it is tried again.
    pub(crate) fn fill(&self, path: &Path) {
        let path = path.display();
        let command = format!(
            "mount -o remount,size=$(($(stat --file-system --format='(%b-%f)*%S' {path}))) {path} && \
             test $(stat --file-system --format=%a {path}) -lt 8"
        );
        let full = ironbark_testkit::wait::until(|| self.run(&command).ok());
        assert!(full.is_some(), "{:?}", self.run(&command));
    }

    /// Makes a disk so large again.
    pub(crate) fn make_room(&self, path: &Path, mebibytes: usize) {
        let path = path.display();
        self.run(&format!("mount -o remount,size={mebibytes}m {path}")).unwrap();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for keeper in self.parties.iter_mut().chain([&mut self.router]) {
            // It may have ended by itself.
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

/// Its network is a small one: the router is the first address of it, the party the second.
fn address(party: usize) -> String {
    format!("10.77.{party}.2")
}

/// A process that keeps namespaces until its input ends, with the test.
fn keeper(command: &[&str], first: &str) -> Result<Child, String> {
    let script = format!("{first} && echo ready && exec cat");
    let mut keeper = Command::new(command[0])
        .args(&command[1..])
        .args(["sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", command[0]))?;
    let mut said = String::new();
    let output = keeper.stdout.take().unwrap();
    let read = BufReader::new(output).read_line(&mut said);
    if read.is_ok() && said == "ready\n" {
        return Ok(keeper);
    }
    let _ = keeper.kill();
    let output = keeper.wait_with_output().map_err(|error| error.to_string())?;
    Err(format!(
        "{}: {}",
        command.join(" "),
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn entering(keeper: &Child, kinds: &[&str]) -> Vec<String> {
    let pid = keeper.id().to_string();
    let mut words = vec!["nsenter", "--target", &pid, "--user"];
    words.extend(kinds);
    words.push("--preserve-credentials");
    words.into_iter().map(str::to_owned).collect()
}

fn run(entering: &[String], command: &str) -> Result<String, String> {
    let output = Command::new(&entering[0])
        .args(&entering[1..])
        .args(["sh", "-c", command])
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr)))
}
