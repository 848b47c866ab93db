//! How far consumers are behind the server while a workload runs (`--follow`): `contextCSN` of both, again and again.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use ironbark_client::{Client, ConnectSettings};
use ironbark_load::result::LagSeries;
use ironbark_runtime::{Clock, MonotonicTime, spawn_named};
use ironbark_store::{ContextVector, Csn};

use crate::shared::replicas::{connect, contexts, read_one};

/// Distance of samples.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sample: when, and how many seconds each consumer was behind. `None`: it did not answer, or has no CSN of a server
/// that the provider has one of.
type Sample = (MonotonicTime, Vec<Option<f64>>);

/// A thread that looks at server and consumers until it is told to end.
pub(super) struct Followed {
    consumers: Vec<String>,
    samples: Arc<Mutex<Vec<Sample>>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The servers that are looked at.
struct Watch {
    settings: ConnectSettings,
    base: String,
    /// The provider, then the consumers; each with its connection, if there is one.
    servers: Vec<(String, Option<Client>)>,
    clock: Clock,
}

impl Followed {
    /// Begins. `settings` are those of the server, and of the consumers but for the URL. `base`: the entry whose
    /// `contextCSN` counts; `None`: the first naming context that has one.
    ///
    /// # Errors
    /// A server cannot be reached, or shows no `contextCSN`.
    pub(super) fn begin(settings: &ConnectSettings, consumers: &[String], base: Option<&str>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error: io::Error| error.to_string())?;
        let server = settings.urls.iter().map(ToString::to_string).next().unwrap_or_default();
        let names = std::iter::once(server).chain(consumers.iter().cloned());
        let mut watch = Watch {
            settings: patient(settings),
            base: base.unwrap_or_default().to_owned(),
            servers: names.map(|url| (url, None)).collect(),
            clock: Clock::system(),
        };
        runtime.block_on(watch.begin(base.is_none()))?;
        let samples = Arc::<Mutex<Vec<Sample>>>::default();
        let ends = Arc::<AtomicBool>::default();
        let (kept, told) = (Arc::clone(&samples), Arc::clone(&ends));
        let thread = spawn_named("follow", move || runtime.block_on(watch.run(&kept, &told)));
        let thread = thread.map_err(|error| error.to_string())?;
        Ok(Self {
            consumers: consumers.to_vec(),
            samples,
            ends,
            thread: Some(thread),
        })
    }

    /// What was seen from `begin` to `end`, by consumer.
    pub(super) fn between(&self, begin: MonotonicTime, end: MonotonicTime) -> Vec<LagSeries> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let within = || samples.iter().filter(|(time, _)| (begin..=end).contains(time));
        let series = |(number, consumer): (usize, &String)| LagSeries {
            consumer: consumer.clone(),
            samples: within()
                .filter_map(|(time, lags)| {
                    let lag = lags.get(number).copied().flatten()?;
                    Some((time.saturating_since(begin).as_secs_f64(), lag))
                })
                .collect(),
        };
        self.consumers.iter().enumerate().map(series).collect()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was printed before; the samples so far are kept.
            let _ = thread.join();
        }
    }
}

impl Watch {
    /// Looks at each server once.
    async fn begin(&mut self, finds_base: bool) -> Result<(), String> {
        if finds_base {
            let url = self.servers.first().map(|(url, _)| url.clone()).unwrap_or_default();
            let (_, client) = connect(&url, &self.settings).await?;
            self.base = first_with_vector(&client)
                .await
                .map_err(|error| format!("{url}: {error}"))?;
        }
        for number in 0..self.servers.len() {
            let vector = self.vector(number).await?;
            if number == 0 && vector.is_empty() {
                return Err(format!("\"{}\" has no contextCSN that may be read", self.base));
            }
        }
        Ok(())
    }

    async fn run(mut self, samples: &Mutex<Vec<Sample>>, ends: &AtomicBool) {
        while !ends.load(Relaxed) {
            let mut lags = Vec::new();
            // The consumers are asked later, so none looks further behind than it is.
            let newest = self.vector(0).await.ok();
            for number in 1..self.servers.len() {
                let vector = self.vector(number).await.ok();
                lags.push(
                    newest
                        .as_ref()
                        .zip(vector)
                        .and_then(|(newest, vector)| behind(&vector, newest)),
                );
            }
            let now = self.clock.monotonic();
            samples.lock().unwrap_or_else(PoisonError::into_inner).push((now, lags));
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// `contextCSN` of a server. A connection that was lost is made anew.
    async fn vector(&mut self, number: usize) -> Result<ContextVector, String> {
        let Some((url, held)) = self.servers.get_mut(number) else {
            return Err(String::new());
        };
        let client = match held.take() {
            Some(client) => client,
            None => connect(url, &self.settings).await?.1,
        };
        let entry = read_one(&client, &self.base, &["contextCSN"]).await;
        let entry = entry.map_err(|error| format!("{url}: {error}"))?;
        *held = Some(client);
        Ok(entry
            .values("contextCSN")
            .iter()
            .filter_map(|text| Csn::parse(text))
            .collect())
    }
}

async fn first_with_vector(client: &Client) -> Result<String, String> {
    for base in contexts(client).await? {
        let Ok(entry) = read_one(client, &base, &["contextCSN"]).await else {
            continue;
        };
        if !entry.values("contextCSN").is_empty() {
            return Ok(base);
        }
    }
    Err("no naming context has a contextCSN that may be read".to_owned())
}

/// Seconds that a vector is behind another one, by the times of their CSNs, at the server of whom it lacks most.
/// `None`: it has no CSN of one of the servers.
fn behind(vector: &ContextVector, newest: &ContextVector) -> Option<f64> {
    let mut micros = 0;
    for csn in newest.iter() {
        let held = vector.of_server(csn.server_id())?;
        micros = micros.max(csn.unix_micros().saturating_sub(held.unix_micros()));
    }
    Some(Duration::from_micros(micros.unsigned_abs()).as_secs_f64())
}

/// The same connections, which wait no longer than a sample should.
fn patient(settings: &ConnectSettings) -> ConnectSettings {
    let shorter = |wait: Option<Duration>| Some(wait.unwrap_or(PATIENCE).min(PATIENCE));
    ConnectSettings {
        connect_timeout: shorter(settings.connect_timeout),
        operation_timeout: shorter(settings.operation_timeout),
        ..settings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(times: &[&str]) -> ContextVector {
        let csn = |time: &&str| Csn::parse(format!("202601010000{time}#000000").as_bytes()).unwrap();
        times.iter().map(csn).collect()
    }

    #[test]
    fn the_lag_is_that_at_the_server_of_whom_most_is_missing() {
        let newest = vector(&["05.000000Z#000000#001", "09.500000Z#000000#002"]);
        assert_eq!(behind(&newest, &newest), Some(0.0));
        let other = vector(&["04.000000Z#000000#001", "01.000000Z#000000#002"]);
        assert_eq!(behind(&other, &newest), Some(8.5));
        let ahead = vector(&["06.000000Z#000000#001", "09.500000Z#000000#002"]);
        assert_eq!(behind(&ahead, &newest), Some(0.0));
        assert_eq!(behind(&vector(&["05.000000Z#000000#001"]), &newest), None);
    }
}
