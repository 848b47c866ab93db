//! The counts of a thread: answers, entries, codes, latencies, and the rate over time.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::plan::{Arrival, EngineError, Measurement};
use crate::{
    result::{Latency, OperationSummary, Point, Series},
    workload::RequestClass,
};

/// The counts of one thread, or of several together.
pub(super) struct Measures {
    operations: Vec<Operation>,
    /// Start and end of the window in which rates are counted; open at first.
    window: Option<Window>,
    entries: u64,
    octets: u64,
    /// Answers of each interval of the window.
    series: Vec<u64>,
    entry_series: Vec<u64>,
    interval_ns: u64,
    lost: BTreeMap<String, u64>,
    unanswered: u64,
    unsent: u64,
}

#[derive(Clone, Copy)]
struct Window {
    begin: u64,
    end: Option<u64>,
}

struct Operation {
    histogram: Histogram<u64>,
    /// Answers within the window.
    count: u64,
    entries: u64,
    codes: BTreeMap<u32, u64>,
    too_few_entries: u64,
}

/// A request that has been answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) kind: u8,
    pub(super) start_ns: u64,
    pub(super) code: u32,
    pub(super) entries: u32,
}

impl Measures {
    pub(super) fn new(plan: &Measurement, kinds: &[RequestClass]) -> Result<Self, EngineError> {
        let operation = |_: &RequestClass| {
            let histogram = Histogram::new_with_bounds(1_000, LONGEST_NS, 3);
            let histogram = histogram.map_err(|error| EngineError::Plan(error.to_string()))?;
            Ok(Operation {
                histogram,
                count: 0,
                entries: 0,
                codes: BTreeMap::new(),
                too_few_entries: 0,
            })
        };
        let interval_ms = if plan.duration.as_secs() > 60 { 1_000 } else { 250 };
        Ok(Self {
            operations: kinds.iter().map(operation).collect::<Result<_, EngineError>>()?,
            window: None,
            entries: 0,
            octets: 0,
            series: Vec::new(),
            entry_series: Vec::new(),
            interval_ns: interval_ms * 1_000_000,
            lost: BTreeMap::new(),
            unanswered: 0,
            unsent: 0,
        })
    }

    /// From now on rates and latencies count.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.window = Some(Window {
            begin: now_ns,
            end: None,
        });
    }

    /// From now on rates do not count. Latencies still count: the slowest answers of the window arrive after it.
    pub(super) fn end(&mut self, now_ns: u64) {
        if let Some(window) = &mut self.window {
            window.end.get_or_insert(now_ns.max(window.begin + 1));
        }
    }

    fn is_open(&self) -> bool {
        self.window.is_some_and(|window| window.end.is_none())
    }

    /// Counts the entries and octets of one read.
    pub(super) fn received(&mut self, now_ns: u64, entries: u64, octets: u64) {
        if self.is_open() {
            self.entries += entries;
            self.octets += octets;
            if entries > 0 {
                let interval = self.interval(now_ns);
                add_at(&mut self.entry_series, interval, entries);
            }
        }
    }

    /// Entries received in the window.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Counts an answer.
    #[inline]
    pub(super) fn answered(&mut self, now_ns: u64, answered: Answered, kinds: &[RequestClass]) {
        let kind = usize::from(answered.kind);
        let (is_open, interval) = (self.is_open(), self.interval(now_ns));
        let has_begun = self.window.is_some();
        let (Some(operation), Some(expected)) = (self.operations.get_mut(kind), kinds.get(kind)) else {
            return;
        };
        *operation.codes.entry(answered.code).or_default() += 1;
        if answered.entries < expected.least_entries && expected.expected_codes.contains(&answered.code) {
            operation.too_few_entries += 1;
        }
        if has_begun {
            operation
                .histogram
                .saturating_record(now_ns.saturating_sub(answered.start_ns));
        }
        if is_open {
            operation.count += 1;
            operation.entries += u64::from(answered.entries);
            add_at(&mut self.series, interval, 1);
        }
    }

    /// Counts a connection that has ended with requests under way.
    pub(super) fn lost(&mut self, reason: String, under_way: u64) {
        *self.lost.entry(reason).or_default() += 1;
        self.unanswered += under_way;
    }

    pub(super) fn unanswered(&mut self, count: u64) {
        self.unanswered += count;
    }

    pub(super) fn unsent(&mut self, count: u64) {
        self.unsent += count;
    }

    /// Adds the counts of another thread. The window covers the windows of all threads.
    pub(super) fn add(&mut self, other: &Self) {
        for (to, from) in self.operations.iter_mut().zip(&other.operations) {
            // Both histograms have the same bounds.
            let _ = to.histogram.add(&from.histogram);
            to.count += from.count;
            to.entries += from.entries;
            to.too_few_entries += from.too_few_entries;
            for (code, count) in &from.codes {
                *to.codes.entry(*code).or_default() += count;
            }
        }
        for (to, from) in [
            (&mut self.series, &other.series),
            (&mut self.entry_series, &other.entry_series),
        ] {
            for (index, count) in from.iter().enumerate() {
                add_at(to, index, *count);
            }
        }
        for (reason, count) in &other.lost {
            *self.lost.entry(reason.clone()).or_default() += count;
        }
        if let (Some(own), Some(their)) = (&mut self.window, other.window) {
            own.begin = own.begin.min(their.begin);
            own.end = own.end.max(their.end);
        }
        self.entries += other.entries;
        self.octets += other.octets;
        self.unanswered += other.unanswered;
        self.unsent += other.unsent;
    }

    /// The measurement.
    pub(super) fn point(&self, plan: &Measurement, kinds: &[RequestClass]) -> Point {
        let length_ns = self
            .window
            .map_or(1, |window| window.end.unwrap_or(window.begin) - window.begin);
        let seconds = float(length_ns.max(1)) / 1e9;
        let operations: Vec<OperationSummary> = self
            .operations
            .iter()
            .zip(kinds)
            .map(|(operation, kind)| operation.result(kind, seconds))
            .collect();
        let count: u64 = operations.iter().map(|operation| operation.count).sum();
        let counts_entries = kinds.iter().any(|kind| kind.counts_entries);
        Point {
            clients: plan.connections,
            in_flight: plan.in_flight,
            offered_rate: match plan.arrival {
                Arrival::Closed => None,
                Arrival::Open { rate } => Some(rate),
            },
            seconds,
            rate: float(count) / seconds,
            entries_rate: float(self.entries) / seconds,
            megabytes_rate: float(self.octets) / 1e6 / seconds,
            latency: latency(self.total().as_ref()),
            operations,
            series: self.rates(
                if counts_entries {
                    &self.entry_series
                } else {
                    &self.series
                },
                length_ns,
            ),
            lags: Vec::new(),
            lost_connections: self.lost.clone(),
            unanswered: self.unanswered,
            unsent: self.unsent,
            server: None,
            load_cpu_seconds: 0.0,
        }
    }

    /// Only whole intervals: a part of one would look like a drop.
    fn rates(&self, counts: &[u64], length_ns: u64) -> Series {
        let interval = float(self.interval_ns) / 1e9;
        let intervals = usize::try_from(length_ns / self.interval_ns).unwrap_or(usize::MAX);
        let padded = counts
            .iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(intervals.min(MOST_INTERVALS));
        Series {
            interval,
            rates: padded.map(|count| float(count) / interval).collect(),
        }
    }

    fn total(&self) -> Option<Histogram<u64>> {
        let mut histograms = self.operations.iter().map(|operation| &operation.histogram);
        let mut total = histograms.next()?.clone();
        for histogram in histograms {
            // Both histograms have the same bounds.
            let _ = total.add(histogram);
        }
        Some(total)
    }

    #[inline]
    fn interval(&self, now_ns: u64) -> usize {
        let begin = self.window.map_or(now_ns, |window| window.begin);
        usize::try_from(now_ns.saturating_sub(begin) / self.interval_ns).unwrap_or(usize::MAX)
    }
}

impl Operation {
    fn result(&self, kind: &RequestClass, seconds: f64) -> OperationSummary {
        OperationSummary {
            kind: kind.name.clone(),
            count: self.count,
            rate: float(self.count) / seconds,
            entries: self.entries,
            latency: latency(Some(&self.histogram)),
            expected_codes: kind.expected_codes.to_vec(),
            codes: self.codes.clone(),
            too_few_entries: self.too_few_entries,
        }
    }
}

#[inline]
fn add_at(counts: &mut Vec<u64>, index: usize, count: u64) {
    if index >= MOST_INTERVALS {
        return;
    }
    if index >= counts.len() {
        counts.resize(index + 1, 0);
    }
    if let Some(slot) = counts.get_mut(index) {
        *slot += count;
    }
}

fn latency(histogram: Option<&Histogram<u64>>) -> Latency {
    let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) else {
        return Latency::default();
    };
    let at = |percentile| float(histogram.value_at_percentile(percentile)) / 1e3;
    Latency {
        mean: histogram.mean() / 1e3,
        p50: at(50.0),
        p95: at(95.0),
        p99: at(99.0),
        p999: at(99.9),
        max: float(histogram.max()) / 1e3,
        curve: CURVE.iter().map(|percentile| (*percentile, at(*percentile))).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(number: u64) -> f64 {
    number as f64
}

/// An hour. No answer is awaited longer.
const LONGEST_NS: u64 = 3_600_000_000_000;
const MOST_INTERVALS: usize = 1_000_000;
const CURVE: [f64; 16] = [
    0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 100.0,
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    fn plan() -> Measurement {
        Measurement {
            connections: 1,
            in_flight: 1,
            arrival: Arrival::Closed,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
            requests: None,
            patience: Duration::from_mins(1),
            threads: 1,
            server: None,
        }
    }

    fn kinds() -> Vec<RequestClass> {
        vec![
            RequestClass::new("search").least_entries(1),
            RequestClass::new("compare").expecting(&[5, 6]),
        ]
    }

    fn answered(kind: u8, start_ns: u64, code: u32, entries: u32) -> Answered {
        Answered {
            kind,
            start_ns,
            code,
            entries,
        }
    }

    #[test]
    fn warm_up_and_what_comes_late_are_not_in_the_rate() {
        let (plan, kinds) = (plan(), kinds());
        let mut measures = Measures::new(&plan, &kinds).unwrap();
        measures.answered(5 * MS, answered(0, 0, 0, 1), &kinds);
        measures.begin(10 * MS);
        measures.answered(20 * MS, answered(0, 8 * MS, 0, 1), &kinds);
        measures.answered(300 * MS, answered(1, 298 * MS, 6, 0), &kinds);
        measures.received(300 * MS, 1, 500);
        measures.end(1_010 * MS);
        measures.answered(1_500 * MS, answered(0, 1_000 * MS, 0, 1), &kinds);
        measures.received(1_500 * MS, 1, 500);
        let point = measures.point(&plan, &kinds);
        assert!((point.seconds - 1.0).abs() < 1e-9 && (point.rate - 2.0).abs() < 1e-9);
        assert!((point.entries_rate - 1.0).abs() < 1e-9);
        assert_eq!(point.series.rates, [4.0, 4.0, 0.0, 0.0]);
        assert_eq!(point.operations[0].count, 1);
        assert_eq!(point.operations[0].codes, BTreeMap::from([(0, 3)]));
        // The late answer is among the latencies: 12 ms and 500 ms.
        let max = point.operations[0].latency.max;
        assert!((499_000.0..502_000.0).contains(&max), "{max}");
        assert!(point.problems(&[]).is_empty());
    }

    #[test]
    fn percentiles_of_an_even_distribution() {
        let (plan, kinds) = (plan(), kinds());
        let mut measures = Measures::new(&plan, &kinds).unwrap();
        measures.begin(0);
        for us in 1..=10_000 {
            measures.answered(us * 1_000, answered(0, 0, 0, 1), &kinds);
        }
        let latency = measures.point(&plan, &kinds).latency;
        for (found, expected) in [
            (latency.p50, 5_000.0),
            (latency.p95, 9_500.0),
            (latency.p99, 9_900.0),
            (latency.p999, 9_990.0),
            (latency.max, 10_000.0),
            (latency.mean, 5_000.5),
        ] {
            assert!((found - expected).abs() / expected < 2e-3, "{found} for {expected}");
        }
        assert_eq!(latency.curve.len(), CURVE.len());
    }

    #[test]
    fn threads_are_added_up() {
        let (plan, kinds) = (plan(), kinds());
        let one = |begin: u64, end: u64| {
            let mut measures = Measures::new(&plan, &kinds).unwrap();
            measures.begin(begin);
            measures.answered(begin + MS, answered(0, begin, 32, 0), &kinds);
            measures.lost("closed".to_owned(), 2);
            measures.end(end);
            measures
        };
        let mut sum = one(0, 900 * MS);
        sum.add(&one(MS, 1_000 * MS));
        let point = sum.point(&plan, &kinds);
        assert!((point.seconds - 1.0).abs() < 1e-9);
        assert_eq!(point.operations[0].codes, BTreeMap::from([(32, 2)]));
        // A refused search is reported once, by its code.
        assert_eq!(point.operations[0].too_few_entries, 0);
        assert_eq!((point.lost_connections["closed"], point.unanswered), (2, 4));
    }

    #[test]
    fn missing_entries_are_counted() {
        let (plan, kinds) = (plan(), kinds());
        let mut measures = Measures::new(&plan, &kinds).unwrap();
        measures.answered(1, answered(0, 0, 0, 0), &kinds);
        measures.answered(1, answered(1, 0, 6, 0), &kinds);
        let point = measures.point(&plan, &kinds);
        assert_eq!(point.operations[0].too_few_entries, 1);
        assert_eq!(point.operations[1].too_few_entries, 0);
    }
}
