//! The stored result of a run, as JSON. Rates are per second, latencies in microseconds.

use std::{collections::BTreeMap, io};

use serde::{Deserialize, Serialize};

/// One workload, measured with one or several numbers of clients.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of this format: 1.
    pub format: u32,
    /// The name of the run in a report, such as the server's name.
    pub label: String,
    /// The workload and its variant.
    pub workload: String,
    /// What the rate counts.
    pub unit: Unit,
    /// URL of the server.
    pub server: String,
    /// When it began, UTC.
    pub started: String,
    /// The command line that made it.
    pub command: Vec<String>,
    /// The relevant options, by name.
    pub settings: BTreeMap<String, String>,
    /// The machine of the load generator.
    pub machine: HostMachine,
    /// One for each number of clients, in the order measured.
    pub points: Vec<Point>,
}

/// What the rate of a workload counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Operations.
    Operations,
    /// Entries received.
    Entries,
}

/// Why a file is not taken for a stored result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResultFileError {
    /// It is not JSON, or not that of a result.
    #[error("this is no result of `ironbark load`, as -o writes it")]
    NoResult,
    /// Another version of the program wrote it.
    #[error("format {0} of results is not known")]
    UnknownFormat(u32),
}

/// The machine of the server or of the load generator.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HostMachine {
    /// Processor.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
    /// Operating system and its version.
    pub system: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// One measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Connections.
    pub clients: u32,
    /// Requests under way on each at most.
    pub in_flight: u16,
    /// Rate of an open loop; none for a closed loop.
    pub offered_rate: Option<f64>,
    /// Length of the measurement.
    pub seconds: f64,
    /// Operations a second.
    pub rate: f64,
    /// Entries received a second.
    pub entries_rate: f64,
    /// Megabytes (10^6) received a second.
    pub megabytes_rate: f64,
    /// Latency of all operations together.
    pub latency: Latency,
    /// By kind of operation.
    pub operations: Vec<OperationSummary>,
    /// Operations over time.
    pub series: Series,
    /// How far consumers of the server were behind, if they were watched.
    #[serde(default)]
    pub lags: Vec<LagSeries>,
    /// Why connections were lost, and how many for each reason.
    pub lost_connections: BTreeMap<String, u64>,
    /// Requests that were still unanswered at the end.
    pub unanswered: u64,
    /// Requests of an open loop that could not be sent before the end.
    pub unsent: u64,
    /// The use of the server's process, if its number was given.
    pub server: Option<ServerUse>,
    /// Processor time of the load generator.
    pub load_cpu_seconds: f64,
}

/// The operations of one kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OperationSummary {
    /// Kind, such as `search`.
    pub kind: String,
    /// Answers within the measurement.
    pub count: u64,
    /// Answers a second.
    pub rate: f64,
    /// Entries received with them.
    pub entries: u64,
    /// Latency.
    pub latency: Latency,
    /// Result codes that the workload expects.
    pub expected_codes: Vec<u32>,
    /// All answers by result code, those of the warm-up included.
    pub codes: BTreeMap<u32, u64>,
    /// Answers with an expected code and fewer entries than expected.
    pub too_few_entries: u64,
}

/// A distribution of latencies, in microseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
    /// Percentile and latency, for a curve.
    pub curve: Vec<(f64, f64)>,
}

/// A rate over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Distance of its values in seconds.
    pub interval: f64,
    /// The rate of each interval, in the unit of the workload.
    pub rates: Vec<f64>,
}

/// How far a consumer was behind the server, by the times of CSNs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LagSeries {
    /// URL of the consumer.
    pub consumer: String,
    /// Seconds since the measurement began, and seconds that the consumer was behind.
    pub samples: Vec<(f64, f64)>,
}

impl LagSeries {
    /// Median and maximum in seconds. `None`: there is no sample.
    pub fn median_and_most(&self) -> Option<(f64, f64)> {
        let mut lags: Vec<f64> = self.samples.iter().map(|(_, lag)| *lag).collect();
        lags.sort_by(f64::total_cmp);
        let median = lags.get(lags.len().saturating_sub(1) / 2)?;
        Some((*median, *lags.last()?))
    }
}

/// The use of the server's process during a measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ServerUse {
    /// User time.
    pub user_seconds: f64,
    /// System time.
    pub system_seconds: f64,
    /// Operations or entries (the workload's unit) for each second of processor time.
    pub rate_per_cpu_second: Option<f64>,
    /// Processor time for each operation or entry, in microseconds.
    pub cpu_us_per_operation: Option<f64>,
    /// Resident memory at the end, mapped files included.
    pub resident_bytes: u64,
    /// Memory at the end that no file backs.
    pub anonymous_bytes: u64,
}

impl RunResult {
    /// The measurement with the highest rate.
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().max_by(|a, b| self.rate(a).total_cmp(&self.rate(b)))
    }

    /// The rate in the workload's unit.
    pub fn rate(&self, point: &Point) -> f64 {
        match self.unit {
            Unit::Operations => point.rate,
            Unit::Entries => point.entries_rate,
        }
    }

    /// As JSON.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Reads the output of [`RunResult::write`].
    ///
    /// # Errors
    /// The text is not JSON, is not a result, or has another format.
    pub fn read(text: &[u8]) -> Result<Self, ResultFileError> {
        let result = serde_json::from_slice(text);
        let result: Self = result.map_err(|_| ResultFileError::NoResult)?;
        if result.format != FORMAT {
            return Err(ResultFileError::UnknownFormat(result.format));
        }
        Ok(result)
    }
}

/// The shape of a load: how many clients there are, and how many requests each has in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoadShape {
    pub(crate) clients: u32,
    pub(crate) in_flight: u16,
}

impl Point {
    pub(crate) fn shape(&self) -> LoadShape {
        LoadShape {
            clients: self.clients,
            in_flight: self.in_flight,
        }
    }

    /// The failures in words. Codes in `allowed` are treated as expected.
    pub fn problems(&self, allowed: &[u32]) -> Vec<String> {
        let mut problems = Vec::new();
        for operation in &self.operations {
            for (code, count) in operation.unexpected(allowed) {
                problems.push(format!("{count} {} answered with result code {code}", operation.kind));
            }
            if operation.too_few_entries > 0 {
                let (count, kind) = (operation.too_few_entries, &operation.kind);
                problems.push(format!("{count} {kind} answered with fewer entries than expected"));
            }
        }
        for (reason, count) in &self.lost_connections {
            problems.push(format!("{count} connections lost: {reason}"));
        }
        if self.unanswered > 0 {
            problems.push(format!("{} requests without an answer", self.unanswered));
        }
        if self.operations.iter().all(|operation| operation.codes.is_empty()) && self.entries_rate <= 0.0 {
            problems.push("nothing was answered".to_owned());
        }
        problems
    }

    /// Answers within the measurement.
    pub fn answered_in_window(&self) -> u64 {
        self.operations.iter().map(|operation| operation.count).sum()
    }
}

impl OperationSummary {
    /// Codes that are neither expected nor allowed, with their numbers.
    pub fn unexpected(&self, allowed: &[u32]) -> impl Iterator<Item = (u32, u64)> {
        let is_fine = |code: &u32| self.expected_codes.contains(code) || allowed.contains(code);
        let codes = self.codes.iter().filter(move |(code, _)| !is_fine(code));
        codes.map(|(code, count)| (*code, *count))
    }
}

/// The version of the format.
pub const FORMAT: u32 = 1;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A result with points of these numbers of clients and rates.
    pub(crate) fn sample(label: &str, workload: &str, points: &[(u32, f64)]) -> RunResult {
        let latency = Latency {
            mean: 120.0,
            p50: 100.0,
            p95: 200.0,
            p99: 400.0,
            p999: 900.0,
            max: 1_500.0,
            curve: vec![(0.0, 50.0), (50.0, 100.0), (99.0, 400.0), (100.0, 1_500.0)],
        };
        let point = |(clients, rate): &(u32, f64)| Point {
            clients: *clients,
            in_flight: 1,
            offered_rate: None,
            seconds: 10.0,
            rate: *rate,
            entries_rate: rate / 2.0,
            megabytes_rate: 1.0,
            latency: latency.clone(),
            operations: vec![OperationSummary {
                kind: "search".to_owned(),
                count: 1_000,
                rate: *rate,
                entries: 1_000,
                latency: latency.clone(),
                expected_codes: vec![0],
                codes: BTreeMap::from([(0, 1_000)]),
                too_few_entries: 0,
            }],
            series: Series {
                interval: 0.25,
                rates: vec![*rate; 40],
            },
            lags: Vec::new(),
            lost_connections: BTreeMap::new(),
            unanswered: 0,
            unsent: 0,
            server: Some(ServerUse {
                user_seconds: 6.0,
                system_seconds: 2.0,
                rate_per_cpu_second: Some(rate * 1.25),
                cpu_us_per_operation: Some(8e5 / rate),
                resident_bytes: 100 << 20,
                anonymous_bytes: 3 << 20,
            }),
            load_cpu_seconds: 1.0,
        };
        RunResult {
            format: FORMAT,
            label: label.to_owned(),
            workload: workload.to_owned(),
            unit: Unit::Operations,
            server: "ldap://127.0.0.1:3890/".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            command: vec!["ironbark".to_owned(), "load".to_owned()],
            settings: BTreeMap::from([("entries".to_owned(), "1000".to_owned())]),
            machine: HostMachine::default(),
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn json_gives_the_result_back() {
        let result = sample("ours", "search", &[(1, 100.0), (16, 900.0)]);
        let mut text = Vec::new();
        result.write(&mut text).unwrap();
        assert_eq!(RunResult::read(&text), Ok(result));
    }

    #[test]
    fn results_without_lags_can_be_read() {
        let result = sample("ours", "search", &[(1, 100.0)]);
        let mut value = serde_json::to_value(&result).unwrap();
        let point = value["points"][0].as_object_mut().unwrap();
        assert!(point.remove("lags").is_some());
        assert_eq!(RunResult::read(value.to_string().as_bytes()), Ok(result));
    }

    #[test]
    fn a_lag_has_a_median_and_a_maximum() {
        let series = |lags: &[f64]| LagSeries {
            consumer: String::new(),
            samples: lags.iter().map(|lag| (0.0, *lag)).collect(),
        };
        assert_eq!(series(&[]).median_and_most(), None);
        assert_eq!(series(&[3.0, 1.0, 2.0]).median_and_most(), Some((2.0, 3.0)));
    }

    #[test]
    fn other_formats_are_refused() {
        let mut result = sample("ours", "search", &[]);
        result.format = 2;
        let mut text = Vec::new();
        result.write(&mut text).unwrap();
        assert!(RunResult::read(&text).unwrap_err().to_string().contains("format 2"));
        assert!(RunResult::read(b"{}").unwrap_err().to_string().contains("no result"));
    }

    #[test]
    fn the_best_point_is_that_of_what_the_workload_counts() {
        let mut result = sample("ours", "scan", &[(1, 100.0), (2, 300.0), (4, 200.0)]);
        assert_eq!(result.best().map(|point| point.clients), Some(2));
        result.unit = Unit::Entries;
        result.points[2].entries_rate = 1e6;
        assert_eq!(result.best().map(|point| point.clients), Some(4));
    }

    #[test]
    fn what_is_not_expected_is_complained_about() {
        let mut point = sample("ours", "search", &[(1, 100.0)]).points.remove(0);
        assert!(point.problems(&[]).is_empty());
        point.operations[0].codes.insert(32, 7);
        point.operations[0].too_few_entries = 2;
        point.lost_connections.insert("closed".to_owned(), 1);
        point.unanswered = 3;
        let problems = point.problems(&[]).join("\n");
        for part in [
            "7 search",
            "code 32",
            "2 search",
            "1 connections lost: closed",
            "3 requests",
        ] {
            assert!(problems.contains(part), "{problems}");
        }
        assert!(!point.problems(&[32]).join("\n").contains("code 32"));
    }
}
