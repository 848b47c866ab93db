//! Several rounds of the same runs: their median, and a table of medians and ratios in Markdown.

use std::fmt::Write as _;

use super::scale::precise;
use crate::result::{LoadShape, Point, RunResult, Unit};

/// One result for each label and workload. Among measurements with the same shape, the one with the median rate stands
/// for all rounds.
pub fn medians(results: &[RunResult]) -> Vec<RunResult> {
    let mut merged: Vec<RunResult> = Vec::new();
    for result in results {
        let is_known = |known: &RunResult| known.label == result.label && known.workload == result.workload;
        if merged.iter().any(is_known) {
            continue;
        }
        let rounds: Vec<&RunResult> = results.iter().filter(|other| is_known(other)).collect();
        let points = shapes(&rounds).into_iter().filter_map(|shape| {
            let mut points = of_shape(&rounds, shape);
            points.sort_by(|a, b| result.rate(a).total_cmp(&result.rate(b)));
            points
                .get(points.len().saturating_sub(1) / 2)
                .map(|point| (*point).clone())
        });
        merged.push(RunResult {
            points: points.collect(),
            ..result.clone()
        });
    }
    merged
}

/// A table with a row for each workload and shape: the rate and the server's processor time of each run, and the median
/// of the ratios to the first run, round by round. Results with the label `limit` have no such columns: the table says
/// which part of the limit the last run reaches.
pub fn markdown(results: &[RunResult], limit: Option<&str>) -> String {
    let mut labels = distinct(results.iter().map(|result| result.label.as_str()));
    let limit = limit.filter(|limit| labels.contains(limit));
    labels.retain(|label| Some(*label) != limit);
    let Some((base, others)) = labels.split_first() else {
        return String::new();
    };
    let mut table = format!("| workload, clients x in flight | {base}, per second |");
    let mut line = "|---|---|".to_owned();
    for label in others {
        let _ = write!(table, " {label}, per second | ratio |");
        line.push_str("---|---|");
    }
    let _ = write!(table, " {base}, CPU us each |");
    line.push_str("---|");
    for label in others {
        let _ = write!(table, " {label}, CPU us each | ratio |");
        line.push_str("---|---|");
    }
    table.push_str(" p99 ms |");
    line.push_str("---|");
    if let Some(limit) = limit {
        let _ = write!(table, " {limit}, per second | part of it |");
        line.push_str("---|---|");
    }
    let _ = writeln!(table, "\n{line}");
    for workload in distinct(results.iter().map(|result| result.workload.as_str())) {
        let rounds = |label: &str| -> Vec<&RunResult> {
            let of = results
                .iter()
                .filter(|result| result.label == label && result.workload == workload);
            of.collect()
        };
        let all: Vec<&RunResult> = results.iter().filter(|result| result.workload == workload).collect();
        for shape in shapes(&all) {
            let columns: Vec<(&str, Vec<&Point>)> = labels
                .iter()
                .map(|label| (*label, of_shape(&rounds(label), shape)))
                .collect();
            let unit = all.first().map_or(Unit::Operations, |result| result.unit);
            let limit = limit.map(|limit| of_shape(&rounds(limit), shape));
            let _ = writeln!(
                table,
                "| {workload}, {} x {} |{}",
                shape.clients,
                shape.in_flight,
                row(&columns, limit.as_deref(), unit)
            );
        }
    }
    table
}

/// The cells after the name of a workload.
fn row(columns: &[(&str, Vec<&Point>)], limit: Option<&[&Point]>, unit: Unit) -> String {
    let rate = |point: &Point| match unit {
        Unit::Operations => Some(point.rate),
        Unit::Entries => Some(point.entries_rate),
    };
    let cpu = |point: &Point| point.server.as_ref()?.cpu_us_per_operation;
    let latency = |point: &Point| Some(point.latency.p99 / 1e3);
    let mut cells = String::new();
    let mut push = |value: Option<f64>| {
        let _ = write!(cells, " {} |", value.map_or_else(|| "-".to_owned(), precise));
    };
    let Some(((_, base), others)) = columns.split_first() else {
        return cells;
    };
    push(median(base.iter().filter_map(|point| rate(point))));
    for (_, points) in others {
        push(median(points.iter().filter_map(|point| rate(point))));
        push(ratio(points, base, &rate));
    }
    push(median(base.iter().filter_map(|point| cpu(point))));
    for (_, points) in others {
        push(median(points.iter().filter_map(|point| cpu(point))));
        // Less is better, so the ratio is inverted.
        push(ratio(base, points, &cpu));
    }
    let p99: Vec<String> = columns
        .iter()
        .map(|(_, points)| {
            median(points.iter().filter_map(|point| latency(point))).map_or_else(|| "-".to_owned(), precise)
        })
        .collect();
    let _ = write!(cells, " {} |", p99.join(" / "));
    if let Some(limit) = limit {
        let last = others.last().map_or(base, |(_, points)| points);
        let rate_of_limit = median(limit.iter().filter_map(|point| rate(point)));
        let part = ratio(last, limit, &rate);
        let _ = write!(
            cells,
            " {} | {} |",
            rate_of_limit.map_or_else(|| "-".to_owned(), precise),
            part.map_or_else(|| "-".to_owned(), percent),
        );
    }
    cells
}

/// A ratio as a percentage.
pub(super) fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

/// The median of the ratios, round by round.
fn ratio(own: &[&Point], base: &[&Point], value: &dyn Fn(&Point) -> Option<f64>) -> Option<f64> {
    median(own.iter().zip(base).filter_map(|(own, base)| {
        let base = value(base).filter(|base| *base > 0.0)?;
        Some(value(own)? / base)
    }))
}

/// The median. For an even number of values, the lower middle one.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

fn shapes(results: &[&RunResult]) -> Vec<LoadShape> {
    let points = results.iter().flat_map(|result| &result.points);
    distinct(points.map(Point::shape))
}

fn of_shape<'r>(results: &[&'r RunResult], shape: LoadShape) -> Vec<&'r Point> {
    let points = results.iter().flat_map(|result| &result.points);
    points.filter(|point| point.shape() == shape).collect()
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::sample;

    fn rounds() -> Vec<RunResult> {
        let mut results = Vec::new();
        for (slapd, ours) in [(100.0, 200.0), (50.0, 250.0), (110.0, 330.0)] {
            results.push(sample("slapd", "search", &[(1, slapd), (16, 10.0)]));
            results.push(sample("ironbark", "search", &[(1, ours), (16, 40.0)]));
        }
        results
    }

    #[test]
    fn the_median_of_the_rounds_stands_for_all() {
        let merged = medians(&rounds());
        let rates: Vec<(&str, Vec<f64>)> = merged
            .iter()
            .map(|result| {
                (
                    result.label.as_str(),
                    result.points.iter().map(|point| point.rate).collect(),
                )
            })
            .collect();
        assert_eq!(rates, [("slapd", vec![100.0, 10.0]), ("ironbark", vec![250.0, 40.0])]);
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let table = markdown(&rounds(), None);
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(
            rows[0],
            "| workload, clients x in flight | slapd, per second | ironbark, per second | ratio | slapd, CPU us each \
             | ironbark, CPU us each | ratio | p99 ms |"
        );
        // Ratios of the rounds are 2, 5 and 3.
        assert!(
            rows[2].starts_with("| search, 1 x 1 | 100 | 250 | 3.00 | 8,000 | 3,200 | 3.00 | 0.40 / 0.40 |"),
            "{}",
            rows[2]
        );
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1].matches('|').count(), rows[2].matches('|').count());
    }

    #[test]
    fn a_limit_has_columns_of_its_own() {
        let mut results = rounds();
        // The parts in the rounds are a half, a quarter and a third.
        for rate in [400.0, 1_000.0, 990.0] {
            results.push(sample("bare", "search", &[(1, rate)]));
        }
        let table = markdown(&results, Some("bare"));
        let rows: Vec<&str> = table.lines().collect();
        assert!(
            rows[0].ends_with("| p99 ms | bare, per second | part of it |"),
            "{}",
            rows[0]
        );
        assert!(rows[2].ends_with(" 3.00 | 0.40 / 0.40 | 990 | 33 % |"), "{}", rows[2]);
        assert!(rows[3].ends_with(" | 0.40 / 0.40 | - | - |"), "{}", rows[3]);
        assert_eq!(rows[1].matches('|').count(), rows[2].matches('|').count());
        // A limit that was not measured is not mentioned.
        assert_eq!(markdown(&rounds(), Some("bare")), markdown(&rounds(), None));
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(medians(&[]).is_empty() && markdown(&[], None).is_empty());
    }
}
