//! Several servers that follow each other: chains and meshes of ours and Debian's slapd.

use std::fmt::Write as _;

use ironbark_testkit::{Flavor, Server, difference, wait};

use crate::content;

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// Servers with overlay syncprov. `follows` names the providers of each server. Servers that follow nobody, and those
/// of `multiprovider` lines, take writes. `lines` are further ones of the database.
pub(crate) fn servers(flavors: &[Flavor], follows: impl Fn(usize) -> Vec<usize>, lines: &str) -> Vec<Server> {
    let mut id = 0;
    let mut servers: Vec<Server> = flavors
        .iter()
        .map(|flavor| {
            id += 1;
            let global = format!("serverID {id}\nmoduleload syncprov");
            let config = Server::people_config(&global, "index entryUUID,entryCSN eq\noverlay syncprov\n#consumers");
            Server::prepare(*flavor, &config).unwrap()
        })
        .collect();
    for number in 0..servers.len() {
        let words = "type=refreshAndPersist";
        let lines = format!("{}{lines}", lines_of(&servers, follows(number), words));
        start_with(&mut servers[number], &lines);
    }
    servers
}

/// A line `syncrepl` for each of these providers.
pub(crate) fn lines_of(servers: &[Server], providers: Vec<usize>, words: &str) -> String {
    let mut lines = String::new();
    for provider in providers {
        writeln!(
            lines,
            "syncrepl rid={provider:03} provider={} bindmethod=simple binddn=cn=Manager,dc=example,dc=com \
             credentials=secret searchbase=dc=example,dc=com retry=\"1 +\" {words}",
            servers[provider].url()
        )
        .unwrap();
    }
    lines
}

/// Starts a server whose slapd.conf has `#consumers` where these lines belong.
pub(crate) fn start_with(server: &mut Server, lines: &str) {
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    std::fs::write(server.config_path(), config.replace("#consumers", lines)).unwrap();
    server.launch().unwrap();
}

/// Each server follows all others.
pub(crate) fn all_others(count: usize) -> impl Fn(usize) -> Vec<usize> {
    move |number| (0..count).filter(|other| *other != number).collect()
}

/// Waits until all servers hold the same.
#[track_caller]
pub(crate) fn assert_equal(servers: &[Server], what: &str) {
    let mut held = Vec::new();
    let same = wait::until(|| {
        held = servers.iter().map(content).collect();
        held.iter().all(|other| *other == held[0]).then_some(())
    });
    if same.is_none() {
        let (number, other) = held.iter().enumerate().find(|(_, other)| **other != held[0]).unwrap();
        panic!(
            "{what}: server {number} is not as the first one:\n{}\nlog of the first one:\n{}\nlog of this one:\n{}",
            difference("the first one", &held[0], "this one", other),
            servers[0].log(),
            servers[number].log()
        );
    }
}
