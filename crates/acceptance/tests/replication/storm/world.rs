//! The servers of a storm, and what happens to them.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use ironbark_testkit::{
    Flavor::{Ironbark, OpenLdap},
    Server, wait,
};
use nix::sys::signal::Signal;

use super::{
    Mode,
    held::{Image, images},
};
use crate::replication::mesh::{all_others, first_content, lines_of, start_with};

/// Consumers follow the access logs.
const BY_LOG: &str = "type=refreshAndPersist syncdata=accesslog logbase=cn=accesslog \
                      logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\"";
const SERVERS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Running,
    /// By SIGSTOP.
    Frozen,
    Away,
}

/// What happens to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    KillAndStart,
    StopAndStart,
    Kill,
    Stop,
    Freeze,
    Thaw,
    Start,
}

impl Event {
    pub(super) const fn ends_process(self) -> bool {
        !matches!(self, Self::Freeze | Self::Thaw | Self::Start)
    }

    /// The state after it.
    pub(super) const fn leads_to(self) -> State {
        match self {
            Self::KillAndStart | Self::StopAndStart | Self::Thaw | Self::Start => State::Running,
            Self::Kill | Self::Stop => State::Away,
            Self::Freeze => State::Frozen,
        }
    }

    fn happen(self, server: &mut Server) {
        match self {
            Self::KillAndStart => {
                server.kill().unwrap();
                launch(server);
            }
            Self::StopAndStart => {
                server.stop().unwrap();
                launch(server);
            }
            Self::Kill => server.kill().unwrap(),
            Self::Stop => server.stop().unwrap(),
            Self::Freeze => server.signal(Signal::SIGSTOP).unwrap(),
            Self::Thaw => server.signal(Signal::SIGCONT).unwrap(),
            Self::Start => launch(server),
        }
    }
}

/// Three servers that follow each other.
pub(super) struct World {
    servers: Vec<Arc<Mutex<Server>>>,
    pub(super) addresses: Vec<String>,
}

impl World {
    /// They have the first content.
    pub(super) fn start(mode: Mode, has_short_log: bool) -> Self {
        let mut servers: Vec<Server> = (1..=SERVERS).map(|id| prepare(mode, id)).collect();
        for number in 0..SERVERS {
            let words = if mode == Mode::Delta {
                BY_LOG
            } else {
                "type=refreshAndPersist"
            };
            let log = match (mode.flavor(number), has_short_log) {
                (Ironbark, true) => "changelog-size 20000\n",
                (Ironbark, false) => "",
                (OpenLdap, true) => "syncprov-checkpoint 1 1\nsyncprov-sessionlog 20\n",
                (OpenLdap, false) => "syncprov-checkpoint 1 1\nsyncprov-sessionlog 10000\n",
            };
            let lines = lines_of(&servers, all_others(SERVERS)(number), words);
            start_with(&mut servers[number], &format!("{log}{lines}multiprovider on\n"));
        }
        servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
        let addresses = servers
            .iter()
            .map(|server| format!("127.0.0.1:{}", server.port()))
            .collect();
        let servers = servers.into_iter().map(|server| Arc::new(Mutex::new(server))).collect();
        Self { servers, addresses }
    }

    /// Lets this happen, while clients go on.
    pub(super) async fn happen(&self, server: usize, event: Event) {
        let server = Arc::clone(&self.servers[server]);
        let task = tokio::task::spawn_blocking(move || event.happen(&mut server.lock().unwrap()));
        task.await.unwrap();
    }

    /// Waits until each server has completed a refresh from each other one.
    pub(super) async fn connected(&self) {
        let servers = self.servers.clone();
        let task = tokio::task::spawn_blocking(move || {
            for (number, server) in servers.iter().enumerate() {
                // slapd does not log it.
                if server.lock().unwrap().flavor() == OpenLdap {
                    continue;
                }
                for provider in all_others(SERVERS)(number) {
                    let line = format!("rid={provider:03} refresh completed");
                    server.lock().unwrap().wait_for_log(&line).unwrap();
                }
            }
        });
        task.await.unwrap();
    }

    /// Waits until slapd has completed a refresh from each of these servers, which were away, or from all others, if it
    /// was away itself. `before` says how long the logs were before they came back.
    pub(super) async fn refreshed_at_slapd(&self, away: Vec<usize>, before: Vec<usize>) {
        let servers = self.servers.clone();
        let task = tokio::task::spawn_blocking(move || {
            for (number, server) in servers.iter().enumerate() {
                let server = server.lock().unwrap();
                let is_awaited = |other: &usize| away.contains(other) || away.contains(&number);
                let providers = all_others(SERVERS)(number).into_iter().filter(is_awaited);
                for provider in providers.filter(|_| server.flavor() == OpenLdap) {
                    let line = format!("rid={provider:03} LDAP_RES_INTERMEDIATE - REFRESH_");
                    let done = wait::until(|| server.log()[before[number]..].contains(&line).then_some(()));
                    assert!(done.is_some(), "slapd does not follow server {provider} again");
                }
            }
        });
        task.await.unwrap();
    }

    /// What the servers hold when all hold the same, or at the end of the usual deadline. `shown` is what counts of it.
    pub(super) async fn settled(&self, shown: fn(&Image) -> Image) -> (bool, Vec<Image>) {
        let addresses = self.addresses.clone();
        let handle = tokio::runtime::Handle::current();
        let task = tokio::task::spawn_blocking(move || {
            let mut last = Vec::new();
            let same = wait::until(|| {
                let now = handle.block_on(images(&addresses)).unwrap();
                // Twice the same: nothing is on its way.
                let is_equal = now.iter().all(|image| shown(image) == shown(&now[0]));
                let is_settled = is_equal && now == last;
                last = now;
                is_settled.then_some(())
            });
            (same.is_some(), last)
        });
        task.await.unwrap()
    }

    /// The URLs of all.
    pub(super) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.lock().unwrap().url()).collect()
    }

    pub(super) fn logs(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.lock().unwrap().log()).collect()
    }
}

/// Starts it, or says what its log ends with.
fn launch(server: &mut Server) {
    if server.launch().is_err() {
        let log = server.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(10)..];
        panic!("a server does not start again:\n{}", last.join("\n"));
    }
}

fn prepare(mode: Mode, id: usize) -> Server {
    let index = "index entryUUID,entryCSN eq\noverlay syncprov\n";
    let (module, lines) = match mode {
        Mode::Plain | Mode::BesideSlapd(_) => ("", format!("{index}#consumers")),
        Mode::Delta => (
            "moduleload accesslog\n",
            format!(
                "{index}overlay accesslog\nlogdb cn=accesslog\nlogops writes\nlogsuccess TRUE\n#consumers\n\n\
                 database mdb\nsuffix cn=accesslog\ndirectory {{dir}}\nrootdn cn=Manager,dc=example,dc=com\n\
                 index entryCSN,objectClass,reqResult,reqStart,reqDN eq\n\
                 overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n\
                 access to * by dn.exact=cn=replicator,dc=example,dc=com read by * none\n\
                 limits dn.exact=cn=replicator,dc=example,dc=com size=unlimited time=unlimited"
            ),
        ),
    };
    let config = Server::people_config(&format!("serverID {id}\nmoduleload syncprov\n{module}"), &lines);
    Server::prepare(mode.flavor(id - 1), &config)
        .unwrap()
        .debug_level("sync")
}

/// Where what is known of a failed storm is kept.
pub(super) fn folder(mode: Mode, seed: u64) -> PathBuf {
    std::env::temp_dir().join(format!("storm-{}-{seed}", mode.name()))
}
