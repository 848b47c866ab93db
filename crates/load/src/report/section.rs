//! The section of one workload: figures, plots, tables.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    plot::{Bars, COLORS, Line, Lines, escape},
    scale::{Kind, precise},
    table,
};
use crate::result::{Point, RunResult, Unit};

/// A run with the number of its colour.
pub(super) type Run<'a> = (usize, &'a RunResult);

/// Writes the section. `runs` are the runs of one workload, perhaps with one that has the label `limit`.
pub(super) fn write(html: &mut String, runs: &[Run<'_>], limit: Option<&str>) {
    best(html, runs);
    html.push_str("<div class=\"plots\">\n");
    html.push_str(&rate(runs));
    html.push_str(&percentiles(runs));
    html.push_str(&latency(runs));
    html.push_str(&processor(runs));
    html.push_str(&over_time(runs));
    html.push_str(&lag_over_time(runs));
    html.push_str("</div>\n");
    let limit = runs.iter().find(|(_, run)| Some(run.label.as_str()) == limit);
    table::write(html, runs, limit.map(|(_, run)| *run));
    how(html, runs);
}

/// The unit of a workload's rate.
pub(super) fn unit(runs: &[Run<'_>]) -> &'static str {
    match runs.first().map(|(_, run)| run.unit) {
        Some(Unit::Entries) => "entries/s",
        _ => "operations/s",
    }
}

/// The best rate of each run.
fn best(html: &mut String, runs: &[Run<'_>]) {
    let base = runs
        .first()
        .and_then(|(_, run)| run.best().map(|point| run.rate(point)));
    html.push_str("<div class=\"best\">\n");
    for (number, (color, run)) in runs.iter().enumerate() {
        let Some(point) = run.best() else { continue };
        let rate = run.rate(point);
        let ratio = base.filter(|base| number > 0 && *base > 0.0);
        let ratio = ratio.map_or(String::new(), |base| {
            format!(", {} times {}", precise(rate / base), first_label(runs))
        });
        let _ = writeln!(
            html,
            "<div class=\"c{}\"><span>{}</span><b>{} {}</b><span>{} clients, {} in flight{}</span></div>",
            color % COLORS,
            escape(&run.label),
            precise(rate),
            unit(runs),
            point.clients,
            point.in_flight,
            ratio,
        );
    }
    html.push_str("</div>\n");
}

fn first_label(runs: &[Run<'_>]) -> String {
    runs.first().map(|(_, run)| escape(&run.label)).unwrap_or_default()
}

/// Plotted against the number of clients when there are several, otherwise as bars.
fn rate(runs: &[Run<'_>]) -> String {
    by_clients(runs, "Rate", unit(runs), Kind::Linear, &|run, point| {
        Some(run.rate(point))
    })
}

fn processor(runs: &[Run<'_>]) -> String {
    let value = |_: &RunResult, point: &Point| point.server.as_ref()?.cpu_us_per_operation;
    let what = if unit(runs) == "entries/s" {
        "entry"
    } else {
        "operation"
    };
    let title = format!("Processor time of the server for one {what}");
    by_clients(runs, &title, "microseconds", Kind::Linear, &value)
}

/// The measurements of a run with the same number of requests in flight on each client.
struct Shape<'a> {
    run: &'a RunResult,
    color: usize,
    /// None when all measurements of the workload have the same number.
    in_flight: Option<u16>,
    /// By number of clients.
    points: Vec<&'a Point>,
}

impl Shape<'_> {
    fn name(&self) -> String {
        match self.in_flight {
            None => self.run.label.clone(),
            Some(in_flight) => format!("{}, {in_flight} in flight", self.run.label),
        }
    }
}

/// The measurements ordered by shape, and by run within each shape.
fn shapes<'a>(runs: &[Run<'a>]) -> Vec<Shape<'a>> {
    let all: BTreeSet<u16> = runs
        .iter()
        .flat_map(|(_, run)| run.points.iter().map(|point| point.in_flight))
        .collect();
    let shape = |in_flight: u16, (color, run): Run<'a>| {
        let mut points: Vec<&Point> = run.points.iter().filter(|point| point.in_flight == in_flight).collect();
        points.sort_by_key(|point| point.clients);
        Shape {
            run,
            color,
            in_flight: (all.len() > 1).then_some(in_flight),
            points,
        }
    };
    all.iter()
        .flat_map(|in_flight| runs.iter().map(|run| shape(*in_flight, *run)))
        .filter(|shape| !shape.points.is_empty())
        .collect()
}

fn by_clients(
    runs: &[Run<'_>],
    title: &str,
    y_title: &str,
    y_kind: Kind,
    value: &dyn Fn(&RunResult, &Point) -> Option<f64>,
) -> String {
    let lines: Vec<Line> = shapes(runs)
        .into_iter()
        .map(|shape| Line {
            name: shape.name(),
            color: shape.color,
            is_dashed: false,
            points: shape
                .points
                .iter()
                .filter_map(|point| Some((f64::from(point.clients), value(shape.run, point)?)))
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    if lines.iter().all(|line| line.points.len() == 1) {
        let bar = |line: &Line| Some((line.name.clone(), line.color, line.points.first()?.1));
        let bars = Bars {
            title,
            unit: y_title,
            values: lines.iter().filter_map(bar).collect(),
        };
        return bars.svg();
    }
    let plot = Lines {
        title,
        x_title: "clients",
        y_title,
        x_kind: clients_kind(runs),
        y_kind,
        drawn: lines,
    };
    plot.svg()
}

/// Numbers of clients that grow by factors get a logarithmic axis.
fn clients_kind(runs: &[Run<'_>]) -> Kind {
    let clients = || {
        runs.iter()
            .flat_map(|(_, run)| run.points.iter().map(|point| point.clients))
    };
    match (clients().min(), clients().max()) {
        (Some(low), Some(high)) if low > 0 && high / low >= 8 => Kind::Logarithmic,
        _ => Kind::Linear,
    }
}

/// The whole latency distribution at the best rate of each run.
fn percentiles(runs: &[Run<'_>]) -> String {
    let lines = runs.iter().filter_map(|(color, run)| {
        let point = run.best()?;
        Some(Line {
            name: format!("{}, {} clients", run.label, point.clients),
            color: *color,
            is_dashed: false,
            points: point
                .latency
                .curve
                .iter()
                .map(|(percentile, us)| (*percentile, us / 1e3))
                .collect(),
        })
    });
    let plot = Lines {
        title: "Latency percentiles at the best rate",
        x_title: "percentile",
        y_title: "milliseconds",
        x_kind: Kind::Percentiles,
        y_kind: Kind::Logarithmic,
        drawn: lines.collect(),
    };
    plot.svg()
}

/// Median and 99th percentile against clients. Nothing when there is only one number of clients.
fn latency(runs: &[Run<'_>]) -> String {
    let shapes = shapes(runs);
    if shapes.iter().all(|shape| shape.points.len() < 2) {
        return String::new();
    }
    let lines = shapes.iter().flat_map(|shape| {
        let line = |name: &str, is_dashed, value: fn(&Point) -> f64| Line {
            name: format!("{} {name}", shape.name()),
            color: shape.color,
            is_dashed,
            points: shape
                .points
                .iter()
                .map(|point| (f64::from(point.clients), value(point) / 1e3))
                .collect(),
        };
        [
            line("p50", false, |point| point.latency.p50),
            line("p99", true, |point| point.latency.p99),
        ]
    });
    let plot = Lines {
        title: "Latency by clients",
        x_title: "clients",
        y_title: "milliseconds",
        x_kind: clients_kind(runs),
        y_kind: Kind::Logarithmic,
        drawn: lines.collect(),
    };
    plot.svg()
}

fn over_time(runs: &[Run<'_>]) -> String {
    let lines: Vec<Line> = runs
        .iter()
        .filter_map(|(color, run)| {
            let point = run.best()?;
            let interval = point.series.interval;
            let points = (1..=u32::MAX).zip(&point.series.rates);
            Some(Line {
                name: format!("{}, {} clients", run.label, point.clients),
                color: *color,
                is_dashed: false,
                points: points
                    .map(|(number, rate)| (f64::from(number) * interval, *rate))
                    .collect(),
            })
        })
        .filter(|line| line.points.len() > 1)
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let plot = Lines {
        title: "Rate over time",
        x_title: "seconds",
        y_title: unit(runs),
        x_kind: Kind::Linear,
        y_kind: Kind::Linear,
        drawn: lines,
    };
    plot.svg()
}

/// How far consumers were behind at the best rate of each run. Nothing if none was watched.
fn lag_over_time(runs: &[Run<'_>]) -> String {
    let mut lines = Vec::new();
    for (color, run) in runs {
        let lags = run.best().map(|point| &point.lags);
        for (number, series) in lags.into_iter().flatten().enumerate() {
            lines.push(Line {
                name: format!("{}, {}", run.label, series.consumer),
                // Several consumers of one run need colours of their own.
                color: color + number * runs.len(),
                is_dashed: number > 0,
                points: series.samples.clone(),
            });
        }
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return String::new();
    }
    let plot = Lines {
        title: "Lag of consumers over time",
        x_title: "seconds",
        y_title: "seconds",
        x_kind: Kind::Linear,
        y_kind: Kind::Linear,
        drawn: lines,
    };
    plot.svg()
}

/// Settings and command lines.
fn how(html: &mut String, runs: &[Run<'_>]) {
    html.push_str("<details><summary>Settings and commands</summary>\n<pre>");
    for (_, run) in runs {
        let settings: Vec<String> = run
            .settings
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let _ = writeln!(
            html,
            "{} ({}): {}\n  {}",
            escape(&run.label),
            escape(&run.server),
            escape(&settings.join(", ")),
            escape(&run.command.join(" ")),
        );
    }
    html.push_str("</pre></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{LagSeries, tests::sample};

    #[test]
    fn the_lag_of_each_consumer_is_drawn() {
        let mut run = sample("ours", "modify", &[(1, 100.0)]);
        assert_eq!(lag_over_time(&[(0, &run)]), "");
        let series = |consumer: &str| LagSeries {
            consumer: consumer.to_owned(),
            samples: vec![(0.1, 0.0), (0.2, 0.5)],
        };
        run.points[0].lags = vec![series("ldap://a/"), series("ldap://b/")];
        let svg = lag_over_time(&[(0, &run)]);
        for part in [
            "Lag of consumers over time",
            "ours, ldap://a/: 0.5",
            "ours, ldap://b/: 0.5",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }
}
