//! A consumer at work: connects, searches, and tries again, until it is told to end.

mod changelog;
mod dir_sync;

use std::{sync::Arc, time::Duration};

use ironbark_client::{Client, Search, SearchStream};
use ironbark_directory::{Directory, SyncCookie, SyncPlaces};
use ironbark_ldap_proto::{
    DerefAliases, EncodeControl, Filter,
    controls::{Control, ManageDsaIt, ProxiedAuthorization, SyncRequest},
};
use ironbark_model::ResultCode;
use tokio::time::{sleep, timeout};

use crate::{
    Again, Begin, Consumer, ConsumerStop, Machine, Retries, SyncMessage, SyncreplLine, Violation,
    comparison::{Comparisons, Verdict},
    status::{Phase, SharedStatus},
    strict::{StrictRefresh, StrictRefreshes},
    told::{self, Told},
};

/// How often the index of entryUUID is looked for, while it is being built.
const INDEX_PERIOD: Duration = Duration::from_millis(100);
/// Refreshes at once, one after the other, before the list of retries counts.
const MOST_AT_ONCE: u32 = 3;
/// Depth of the filter.
const FILTER_DEPTH: usize = 250;
/// How long a provider may take to close a connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a search ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Client(#[from] ironbark_client::ClientError),
    #[error("{0}")]
    Stop(#[from] ConsumerStop),
    #[error("{0}")]
    Violation(#[from] Violation),
    #[error("bad filter {0}")]
    Filter(String),
    /// The provider's log or cookie lacks something, or has something that only a comparison of the content can find
    /// out.
    #[error("{0}")]
    Gap(String),
    /// What the provider does not do.
    #[error("{0}")]
    Provider(String),
}

/// A consumer at work.
pub(crate) struct Session {
    directory: Arc<Directory>,
    line: Arc<SyncreplLine>,
    consumer: Consumer,
    status: Arc<SharedStatus>,
    retries: Retries,
    /// Searches that ended with a demand for another one at once.
    at_once: u32,
    /// Whether the refresh of this search is completed.
    refreshed: bool,
    /// What this search has shown of what the provider tells.
    told: Told,
    /// The provider cannot tell the changes: the content is compared again (`syncdata=changelog`, `type=dirSync`).
    compares_anew: bool,
    strict: StrictRefreshes,
    /// `strictrefresh`: the refresh after a gap, until it is completed.
    under_way: Option<StrictRefresh>,
}

impl Session {
    /// A consumer that begins with `given`, or what the database has.
    pub(crate) fn new(
        directory: Arc<Directory>,
        line: Arc<SyncreplLine>,
        status: Arc<SharedStatus>,
        given: Option<SyncCookie>,
        strict: StrictRefreshes,
    ) -> Self {
        let mut machine = Machine::new(line.rid, line.sid, line.persists).with_cookie(given);
        if line.log.is_some() {
            machine = machine.with_log();
        }
        Self {
            consumer: Consumer::new(Arc::clone(&directory), Arc::clone(&line.mapping), machine),
            retries: Retries::new(line.retries.clone()),
            told: Told::of(&line),
            directory,
            line,
            status,
            at_once: 0,
            refreshed: false,
            compares_anew: false,
            strict,
            under_way: None,
        }
    }

    /// Follows the provider until the list of retries ends. Dropping the future ends the connection; what was queued
    /// is still executed.
    pub(crate) async fn run(mut self) {
        loop {
            let wait = match self.search().await {
                Ok(Again::AfterInterval) => {
                    self.at_once = 0;
                    Some(self.line.interval)
                }
                Ok(Again::InLog) => {
                    self.at_once = 0;
                    Some(Duration::ZERO)
                }
                Ok(Again::FallBack(reason)) => self.fall_back(&reason),
                Err(failure) if self.consumer.has_gap() || matches!(failure, Failure::Gap(_)) => {
                    self.compares_anew = true;
                    self.fall_back(&failure.to_string())
                }
                Err(Failure::Stop(ConsumerStop::NotLoaded(error))) => {
                    let reason = error.diagnostic_message;
                    tracing::info!(target: "sync", "entries are applied one by one from here on: {reason}");
                    Some(Duration::ZERO)
                }
                Ok(Again::AtOnce) if self.at_once < MOST_AT_ONCE => {
                    self.at_once += 1;
                    Some(Duration::ZERO)
                }
                Ok(Again::AtOnce) => self.failed("the provider asks for a refresh again and again"),
                Ok(Again::AfterRetry(code, text)) => self.failed(&ended_with(code, &text)),
                Err(failure) => self.failed(&failure.to_string()),
            };
            self.consumer.stop();
            let Some(wait) = wait else {
                return tracing::error!(target: "any", "syncrepl rid={:03}: giving up, as retry says", self.line.rid);
            };
            let next = self.directory.clock().now().saturating_add(wait);
            self.status.update(|status| {
                status.phase = Phase::Disconnected;
                status.connection = None;
                status.next_connect = Some(next);
            });
            sleep(wait).await;
        }
    }

    /// Tells that a refresh of the content must follow, and how long to wait before it.
    fn fall_back(&mut self, reason: &str) -> Option<Duration> {
        self.status.update(|status| status.fallbacks += 1);
        if self.line.strict_refresh && self.under_way.is_none() {
            let rid = self.line.rid;
            tracing::warn!(target: "any", "syncrepl rid={rid:03}: no clients until the content is refreshed (strictrefresh)");
            self.under_way = Some(self.strict.begin());
        }
        if self.at_once >= MOST_AT_ONCE {
            return self.failed(reason);
        }
        self.at_once += 1;
        let rid = self.line.rid;
        tracing::warn!(target: "any", "syncrepl rid={rid:03}: {reason}; a refresh of the content follows");
        Some(Duration::ZERO)
    }

    /// Tells of a failure, and how long to wait after it; `None`: there were too many.
    fn failed(&mut self, reason: &str) -> Option<Duration> {
        self.status.update(|status| {
            status.last_error = Some(reason.to_owned());
            status.failures += 1;
        });
        let wait = self.retries.next_wait_s();
        let rid = self.line.rid;
        let next = wait.map_or_else(String::new, |seconds| format!("; trying again in {seconds} s"));
        tracing::warn!(target: "any", "syncrepl rid={rid:03}: {reason}{next}");
        wait.map(|seconds| self.with_jitter(seconds))
    }

    /// Up to a tenth more or less, so that not all consumers of a provider that comes back connect at once.
    fn with_jitter(&self, seconds: u32) -> Duration {
        let whole = Duration::from_secs(seconds.into());
        let random = self.directory.randomness().bytes::<1>().map_or(128, |[octet]| octet);
        whole * 9 / 10 + whole / 5 * u32::from(random) / 255
    }

    /// One search, from the connection to its end.
    async fn search(&mut self) -> Result<Again, Failure> {
        while !self.consumer.is_ready()? {
            sleep(INDEX_PERIOD).await;
        }
        self.consumer.settle_vector().await?;
        let client = Client::connect(&self.line.connection).await?;
        let now = self.directory.clock().now();
        self.status.update(|status| {
            status.phase = Phase::Refresh;
            status.connection = client.local_address().map(str::to_owned);
            status.next_connect = None;
            status.last_connect = Some(now);
        });
        let line = Arc::clone(&self.line);
        let ended = match (&line.changelog, &line.dir_sync) {
            (Some(log), _) => self.follow_changelog(&client, log).await,
            (_, Some(dir_sync)) => self.follow_dir_sync(&client, dir_sync).await,
            (None, None) => self.follow(&client).await,
        };
        // The provider learns of it at once, and may take its time.
        let _ = timeout(FAREWELL, client.unbind()).await;
        ended
    }

    async fn follow(&mut self, client: &Client) -> Result<Again, Failure> {
        let begin = self.consumer.begin()?;
        self.refreshed = false;
        self.told = Told::of(&self.line);
        let (rid, cookie) = (self.line.rid, &begin.cookie);
        tracing::info!(target: "sync", "syncrepl rid={rid:03} starting refresh (sending cookie={cookie})");
        self.status.update(|status| status.cookie_sent.clone_from(cookie));
        let mut stream = self.begin(client, &begin)?;
        let mut comparisons = Comparisons::of(client, &self.directory, &self.line.mapping);
        loop {
            let compares = self.refreshed && self.consumer.follows();
            let message = tokio::select! {
                message = self.next(&mut stream) => message?,
                verdict = comparisons.next(), if compares => {
                    self.note(verdict);
                    continue;
                }
            };
            tracing::debug!(target: "sync", "syncrepl rid={rid:03} {message}");
            self.contact(&message);
            self.told.see(&message);
            let again = self.consumer.take(message).await?;
            self.note_progress();
            if let Some(again) = again {
                if matches!(again, Again::AfterInterval | Again::InLog) {
                    self.refresh_ended();
                }
                return Ok(again);
            }
            if self.consumer.follows() && !self.refreshed {
                self.refresh_ended();
                stream = stream.with_timeout(None);
            }
        }
    }

    /// The next message that means something. What was taken is settled meanwhile, so that a refusal is seen although
    /// the provider is silent.
    async fn next(&mut self, stream: &mut SearchStream) -> Result<SyncMessage, Failure> {
        loop {
            let item = if self.consumer.has_unsettled() {
                tokio::select! {
                    item = stream.next() => item?,
                    settled = self.consumer.settle() => {
                        settled?;
                        continue;
                    }
                }
            } else {
                stream.next().await?
            };
            let message = match (item, stream.result()) {
                (Some(item), _) => SyncMessage::of_item(item)?,
                (None, Some(result)) => Some(SyncMessage::of_result(result)?),
                (None, None) => None,
            };
            if let Some(message) = message {
                return Ok(message);
            }
        }
    }

    fn begin(&self, client: &Client, begin: &Begin) -> Result<SearchStream, Failure> {
        let request = self
            .line
            .log
            .as_ref()
            .filter(|_| begin.in_log)
            .unwrap_or(&self.line.request);
        let filter = Filter::parse(request.filter.as_bytes(), FILTER_DEPTH)
            .map_err(|_| Failure::Filter(request.filter.clone()))?;
        let attributes: Vec<&str> = request.attributes.iter().map(String::as_str).collect();
        let search = Search {
            deref_aliases: DerefAliases::Never,
            size_limit: request.size_limit,
            time_limit: request.time_limit,
            ..Search::new(&request.base, request.scope, filter).with_attributes(&attributes)
        };
        let sync = Control::critical(SyncRequest {
            persists: begin.persists,
            cookie: Some(begin.cookie.as_bytes()),
            // A log that does not reach back so far cannot be loaded anew.
            reload_hint: !begin.in_log,
        });
        let manage = Control::critical(ManageDsaIt);
        let mut controls: Vec<&dyn EncodeControl> = vec![&sync, &manage];
        let proxied = proxied(&self.line);
        controls.extend(proxied.iter().map(|control| control as &dyn EncodeControl));
        Ok(client.search(&search, &controls)?.with_timeout(self.line.patience))
    }

    fn contact(&self, message: &SyncMessage) {
        let now = self.directory.clock().coarse_now();
        self.status.update(|status| {
            status.last_contact = Some(now);
            if let Some(cookie) = message.cookie() {
                status.cookie_received = String::from_utf8_lossy(cookie).into_owned();
            }
        });
    }

    /// Tells of a comparison with the provider.
    fn note(&self, verdict: Verdict) {
        let rid = self.line.rid;
        let diverged = match verdict {
            Verdict::Equal => false,
            Verdict::Diverged(buckets) => {
                tracing::error!(
                    target: "any",
                    "syncrepl rid={rid:03}: the provider has the same contextCSN and other entries, in {buckets} of \
                     4096 parts: ironbark compare-replicas names them"
                );
                true
            }
            Verdict::Unknown | Verdict::Impossible => return,
        };
        tracing::info!(target: "sync", "syncrepl rid={rid:03} compared with the provider: equal={}", !diverged);
        self.status.update(|status| status.diverged = Some(diverged));
    }

    fn note_progress(&mut self) {
        let places = self.places();
        let counts = self.consumer.counts();
        self.status.update(|status| {
            status.entries = counts.entries;
            status.deletes = counts.deletes + counts.absent;
            status.places = places;
            status.content = told::content(&self.line, places);
        });
        if self.told.is_news_of_part(places) {
            let rid = self.line.rid;
            tracing::warn!(
                target: "any",
                "syncrepl rid={rid:03}: the provider may keep entries from this server, by its access rules or the \
                 filter: only what is named as deleted is deleted here, and the rest stays as it is"
            );
        }
    }

    fn places(&self) -> SyncPlaces {
        self.told.places(self.consumer.has_part(), self.refreshed)
    }

    fn refresh_ended(&mut self) {
        self.refreshed = true;
        if self.under_way.take().is_some() {
            let rid = self.line.rid;
            tracing::warn!(target: "any", "syncrepl rid={rid:03}: the content is refreshed, clients are served again");
        }
        self.retries.succeeded();
        let counts = self.consumer.counts();
        tracing::info!(
            target: "sync",
            "syncrepl rid={:03} refresh completed: {} entries, {} deletes, {} absent",
            self.line.rid, counts.entries, counts.deletes, counts.absent
        );
        let follows = self.consumer.follows();
        // Entries without places mean something now.
        let places = self.places();
        self.status.update(|status| {
            status.places = places;
            status.content = told::content(&self.line, places);
            status.refreshes += 1;
            status.last_error = None;
            if follows {
                status.phase = Phase::Persist;
            }
        });
    }
}

/// Who is meant by a search, if the bind does not say so. A SASL mechanism has assumed the identity before.
pub(crate) fn proxied(line: &SyncreplLine) -> Option<Control<ProxiedAuthorization<'_>>> {
    let bind = &line.connection.bind;
    let is_wanted = !bind.authorization_id.is_empty() && bind.method != ironbark_client::BindMethod::Sasl;
    is_wanted.then(|| Control::critical(ProxiedAuthorization(bind.authorization_id.as_bytes())))
}

pub(crate) fn ended_with(code: ResultCode, text: &str) -> String {
    let name = code.name().unwrap_or("unregistered code");
    let separator = if text.is_empty() { "" } else { ": " };
    format!("the search ended with {name} ({}){separator}{text}", code.0)
}
