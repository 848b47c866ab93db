//! A cluster as etcd shows it, for people.

use std::sync::Arc;

use ironbark_config::cluster::ClusterConfig;
use ironbark_store::ClusterLogPlace;
use tokio::task::LocalSet;

use crate::{
    ClusterError,
    announce::Announced,
    etcd::{Etcd, Failure, json::RangeRequest},
    keys::Keys,
    place,
};

/// A log, the members of etcd, and the servers.
#[derive(Debug)]
pub struct Overview {
    /// The place behind the last batch. `None`: there is no log yet.
    pub end: Option<ClusterLogPlace>,
    /// Number of the first change that the log has.
    pub first: Option<u64>,
    /// Whether the newest state is there instead of changes (cn=config).
    pub is_tree: bool,
    /// Servers that wait for their turn.
    pub waiting: usize,
    /// What each member of etcd says, in the order of the configuration.
    pub members: Vec<(String, Result<Member, ClusterError>)>,
    /// The servers, by name. One that is gone stays for a day.
    pub servers: Vec<ClusterNode>,
}

/// A member of etcd.
#[derive(Debug)]
pub struct Member {
    /// Its version.
    pub version: String,
    /// Whether it is the leader.
    pub is_leader: bool,
    /// Octets of its file that are in use.
    pub in_use: u64,
}

/// A server, as it has told the others last.
#[derive(Debug)]
pub struct ClusterNode {
    /// Its host, and the number of its process.
    pub name: String,
    /// Number of the last change that it had.
    pub position: u64,
    /// A digest of all changes up to there ([`crate::chain_text`]). Empty: a version before this one does not tell it.
    pub chain: String,
    /// Whether it had what the cluster had, and followed the log.
    pub is_ready: bool,
    /// Whether it had changes of a log, of this one or of one that is gone.
    pub is_of_log: bool,
    /// Octets of a copy that had come, and about how many there are.
    pub copied: Option<(u64, u64)>,
    /// Whether that was its last word: it has ended, in good order.
    pub has_ended: bool,
    /// When that was, in seconds since 1970.
    pub at: i64,
}

impl Overview {
    /// Asks etcd about the database with this normalized suffix. It blocks.
    ///
    /// # Errors
    /// No member answers: why the last one did not.
    pub fn of(config: &ClusterConfig, suffix: &str) -> Result<Self, ClusterError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, Self::ask(config, suffix))
    }

    /// The place behind the last batch of the database with this normalized suffix, as a majority of etcd has it.
    /// `None`: there is no log. It blocks.
    ///
    /// # Errors
    /// No member answers, or not with a place: why the last one did not.
    pub fn end(config: &ClusterConfig, suffix: &str) -> Result<Option<ClusterLogPlace>, ClusterError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let tail = Keys::of(&config.prefix, suffix).tail;
            let mut etcd = Etcd::new(Arc::new(config.clone()));
            let mut last = String::new();
            for _ in &config.endpoints {
                let member = etcd.member();
                match etcd.range(&RangeRequest::one(&tail)).await {
                    Ok(found) => {
                        let read =
                            |octets: &[u8]| place::read(octets).ok_or_else(|| ClusterError::Malformed(tail.clone()));
                        return found.kvs.first().map(|pair| read(&pair.value.0)).transpose();
                    }
                    Err(failure) => last = format!("{member}: {failure}"),
                }
            }
            Err(ClusterError::NoAnswer(last))
        })
    }

    async fn ask(config: &ClusterConfig, suffix: &str) -> Result<Self, ClusterError> {
        let mut members = Vec::new();
        for endpoint in &config.endpoints {
            let mut alone = config.clone();
            alone.endpoints = vec![endpoint.clone()];
            let status = Etcd::new(Arc::new(alone)).status().await;
            let member = status.map(|status| Member {
                version: status.version.clone(),
                is_leader: status.leader == status.header.member_id && status.leader.0 != 0,
                in_use: u64::try_from(status.in_use.0).unwrap_or(0),
            });
            members.push((endpoint.to_string(), member.map_err(ClusterError::from)));
        }
        let mut etcd = Etcd::new(Arc::new(config.clone()));
        let mut last = String::new();
        for _ in &config.endpoints {
            match Self::read(&mut etcd, &Keys::of(&config.prefix, suffix)).await {
                Ok(read) => return Ok(Self { members, ..read }),
                Err(failure) => last = failure.to_string(),
            }
        }
        Err(ClusterError::NoAnswer(last))
    }

    async fn read(etcd: &mut Etcd, keys: &Keys) -> Result<Self, Failure> {
        let tail = etcd.range(&RangeRequest::one(&keys.tail)).await?;
        let first = etcd.range(&RangeRequest::from(&keys.log, &keys.log, 1)).await?;
        let tree = etcd.range(&RangeRequest::one(&keys.tree)).await?;
        let waiting = etcd.range(&RangeRequest::from(&keys.want, &keys.want, 0)).await?;
        let nodes = etcd.range(&RangeRequest::from(&keys.node, &keys.node, 0)).await?;
        let told = nodes
            .kvs
            .iter()
            .filter_map(|pair| serde_json::from_slice(&pair.value.0).ok());
        let mut servers: Vec<ClusterNode> = told
            .map(|told: Announced| ClusterNode {
                is_of_log: told.has_changes(),
                name: told.name,
                position: told.position,
                chain: told.chain,
                is_ready: told.is_ready,
                copied: told.copied,
                has_ended: told.has_ended,
                at: told.at,
            })
            .collect();
        servers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self {
            end: tail.kvs.first().and_then(|pair| place::read(&pair.value.0)),
            first: first.kvs.first().and_then(|pair| keys.number(&pair.key.0)),
            is_tree: !tree.kvs.is_empty(),
            waiting: waiting.kvs.len(),
            members: Vec::new(),
            servers,
        })
    }
}
