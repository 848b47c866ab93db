//! The output of a run: progress on a terminal, and a line for each measurement.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ironbark_load::{
    engine::MeasurementProgress,
    report::precise,
    result::{Point, RunResult, Unit},
};
use ironbark_runtime::{Clock, MonotonicTime};

/// A line that changes during a measurement. Nothing is shown without a terminal.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    clock: Clock,
    last: Option<(MonotonicTime, u64)>,
}

impl ProgressLine {
    pub(super) fn new(clock: Clock) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Self { bar, clock, last: None }
    }

    /// Shows the progress of the measurement with this many clients.
    pub(super) fn show(&mut self, clients: u32, progress: MeasurementProgress, unit: Unit) {
        let (count, name) = match unit {
            Unit::Operations => (progress.answered, "answers"),
            Unit::Entries => (progress.entries, "entries"),
        };
        let now = self.clock.monotonic();
        let (then, before) = self.last.replace((now, count)).unwrap_or((now, 0));
        let seconds = now.saturating_since(then).as_secs_f64();
        // A new measurement counts from 0 again.
        let rate = if seconds > 0.0 {
            float(count.saturating_sub(before)) / seconds
        } else {
            0.0
        };
        self.bar.tick();
        self.bar
            .set_message(format!("{clients} clients: {rate:.0}/s, {count} {name}"));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints the workload, the server and the column heads.
pub(super) fn print_header(workload: &str, url: &str, unit: Unit) {
    let rate = match unit {
        Unit::Operations => "operations/s",
        Unit::Entries => "entries/s",
    };
    println!("{workload} on {url}");
    println!(
        "{:>8} {:>9} {rate:>13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11} {:>10}",
        "clients", "in flight", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms", "max ms", "CPU us each", "per CPU s"
    );
}

/// Prints a measurement.
pub(super) fn print_point(point: &Point, unit: Unit) {
    let rate = match unit {
        Unit::Operations => point.rate,
        Unit::Entries => point.entries_rate,
    };
    let latency = &point.latency;
    let ms = |us: f64| precise(us / 1e3);
    let server = |value: fn(&ironbark_load::result::ServerUse) -> Option<f64>| {
        let value = point.server.as_ref().and_then(value);
        value.map_or_else(|| "-".to_owned(), precise)
    };
    println!(
        "{:>8} {:>9} {:>13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11} {:>10}",
        point.clients,
        point.in_flight,
        precise(rate),
        ms(latency.p50),
        ms(latency.p95),
        ms(latency.p99),
        ms(latency.p999),
        ms(latency.max),
        server(|server| server.cpu_us_per_operation),
        server(|server| server.rate_per_cpu_second),
    );
    for lag in &point.lags {
        if let Some((median, most)) = lag.median_and_most() {
            println!(
                "  {} was {median:.3} s behind in the median, {most:.3} s at most",
                lag.consumer
            );
        }
    }
    if point.unsent > 0 {
        println!("  {} requests of the schedule could not be sent in time", point.unsent);
    }
}

/// Prints the kinds of operation at the best rate, and the server's use.
pub(super) fn print_operations(result: &RunResult) {
    let Some(best) = result.best() else { return };
    if result.points.len() > 1 {
        println!("best: {}/s with {} clients", precise(result.rate(best)), best.clients);
    }
    for operation in &best.operations {
        let codes: Vec<String> = operation
            .codes
            .iter()
            .map(|(code, count)| format!("{count} with code {code}"))
            .collect();
        if !codes.is_empty() {
            let latency = &operation.latency;
            println!(
                "  {:<28} {:>11}/s, p50 {} ms, p99 {} ms; answers: {}",
                operation.kind,
                precise(operation.rate),
                precise(latency.p50 / 1e3),
                precise(latency.p99 / 1e3),
                codes.join(", "),
            );
        }
    }
    if let Some(server) = &best.server {
        let length = Duration::from_secs_f64(best.seconds.clamp(0.0, 1e6));
        println!(
            "  server: {:.2} s user and {:.2} s system in {length:.2?}, {} MB resident, {} MB of it anonymous",
            server.user_seconds,
            server.system_seconds,
            precise(float(server.resident_bytes) / 1e6),
            precise(float(server.anonymous_bytes) / 1e6),
        );
    }
    println!(
        "  load generator: {:.2} s of processor time, {} MB/s received",
        best.load_cpu_seconds,
        precise(best.megabytes_rate)
    );
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(number: u64) -> f64 {
    number as f64
}
