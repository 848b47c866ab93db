//! More connections and requests than a server wants, and clients that do not read their answers. Memory stays within
//! bounds, others are served meanwhile, and each case ends with the right result code or with disconnection.

#![expect(clippy::indexing_slicing, reason = "a panic fails the test")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod connections;
mod descriptors;
pub(crate) mod entries;
mod followers;
mod pipelines;
mod process;
mod slow_readers;
mod together;
pub(crate) mod wire;

use std::fs;
use std::process::{Child, Command};

use entries::large_tree;
use ironbark_testkit::{Flavor, Server};
use wire::BASE;

/// A server with the suffix entry; `settings` are global.
fn small_server(settings: &str) -> Server {
    let mut server = loaded(settings);
    server.launch().unwrap();
    server
}

/// The same, not started.
fn loaded(settings: &str) -> Server {
    let server = prepared(settings);
    let suffix = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n");
    server.slapadd(&suffix).unwrap();
    server
}

/// Starts a server with a limit of open files, or with the highest that the machine allows.
fn launch_with_limit(server: &Server, limit: &str) -> Process {
    let script = "ulimit -n \"$1\" 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; shift; exec \"$@\"";
    let log = fs::File::create(server.layout().join("slapd.log")).unwrap();
    let child = Command::new("sh")
        .args(["-c", script, "sh", limit])
        .arg(Flavor::Ironbark.program().unwrap())
        .args(["serve", "-f", server.config_path().to_str().unwrap()])
        .args(["-H", &format!("ldap://127.0.0.1:{}/", server.port())])
        .stderr(log)
        .spawn()
        .unwrap();
    server.wait_for_log("slapd starting").unwrap();
    Process(child)
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with the [`large_tree`].
fn big_server(settings: &str) -> Server {
    let mut server = prepared(settings);
    server.slapadd(large_tree()).unwrap();
    server.launch().unwrap();
    server
}

/// A prepared server with cn=Monitor, which shows the server's internal figures.
fn prepared(settings: &str) -> Server {
    let template = format!(
        "{settings}{}limits * size=unlimited\ndatabase monitor\n",
        Server::PEOPLE_CONFIG
    );
    Server::prepare(Flavor::Ironbark, &template).unwrap()
}

/// Lines of the log with `text`.
fn logged(server: &Server, text: &str) -> usize {
    server.log().lines().filter(|line| line.contains(text)).count()
}
