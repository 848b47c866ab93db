//! The tables of a workload: every measurement of every run, with ratios; and the kinds of operation.

use std::fmt::Write as _;

use super::{
    plot::{COLORS, escape},
    rounds::percent,
    scale::precise,
    section::{Run, unit},
};
use crate::result::{Latency, LoadShape, Point, RunResult};

/// Writes the tables; `limit` is the run that shows the limit.
pub(super) fn write(html: &mut String, runs: &[Run<'_>], limit: Option<&RunResult>) {
    measurements(html, runs, limit);
    kinds(html, runs);
    problems(html, runs);
}

/// The measured shapes of load.
fn shapes(runs: &[Run<'_>]) -> Vec<LoadShape> {
    let mut shapes: Vec<LoadShape> = Vec::new();
    for point in runs.iter().flat_map(|(_, run)| &run.points) {
        if !shapes.contains(&point.shape()) {
            shapes.push(point.shape());
        }
    }
    shapes
}

fn of_shape(run: &RunResult, shape: LoadShape) -> Option<&Point> {
    run.points.iter().find(|point| point.shape() == shape)
}

fn measurements(html: &mut String, runs: &[Run<'_>], limit: Option<&RunResult>) {
    let part = limit.map_or(String::new(), |limit| {
        format!("<th>part of {}</th>", escape(&limit.label))
    });
    let _ = write!(
        html,
        "<div class=\"wide\"><table>\n<tr><th>clients &times; in flight</th><th class=\"left\">run</th><th>{}</th><th>ratio</th>\
         {part}<th>p50 ms</th><th>p95 ms</th><th>p99 ms</th><th>p99.9 ms</th><th>max ms</th><th>server CPU &micro;s each</th>\
         <th>per CPU second</th><th>ratio</th><th>memory MB (anonymous)</th><th>answers</th></tr>\n",
        unit(runs),
    );
    for shape in shapes(runs) {
        let base = runs.first().and_then(|(_, run)| Some((*run, of_shape(run, shape)?)));
        let mut class = " class=\"first\"";
        for (number, (color, run)) in runs.iter().enumerate() {
            let Some(point) = of_shape(run, shape) else { continue };
            let base = base.filter(|_| number > 0);
            let _ = write!(
                html,
                "<tr{class}><td>{} &times; {}</td><td class=\"left name\" style=\"--dot: var(--c{})\">{}</td>",
                shape.clients,
                shape.in_flight,
                color % COLORS,
                escape(&run.label),
            );
            class = "";
            let limit = limit.map(|limit| of_shape(limit, shape).map_or(0.0, |point| limit.rate(point)));
            row(html, run, point, base, limit);
            html.push_str("</tr>\n");
        }
    }
    html.push_str("</table></div>\n");
}

/// `limit`: the limit's rate, or 0 if it was not measured. `None`: there is no column for the part of the limit.
fn row(html: &mut String, run: &RunResult, point: &Point, base: Option<(&RunResult, &Point)>, limit: Option<f64>) {
    let rate = run.rate(point);
    let cell = |text: String| format!("<td>{text}</td>");
    let ratio = |own: Option<f64>, base: Option<f64>| {
        let ratio = own
            .zip(base)
            .filter(|(_, base)| *base > 0.0)
            .map(|(own, base)| precise(own / base));
        format!("<td class=\"ratio\">{}</td>", ratio.unwrap_or_default())
    };
    let _ = write!(html, "<td>{}</td>", precise(rate));
    html.push_str(&ratio(Some(rate), base.map(|(run, point)| run.rate(point))));
    if let Some(limit) = limit {
        let part = (limit > 0.0).then(|| percent(rate / limit));
        html.push_str(&cell(part.unwrap_or_default()));
    }
    html.push_str(&latencies(&point.latency));
    let per_second = |point: &Point| point.server.as_ref().and_then(|server| server.rate_per_cpu_second);
    let (cpu, memory) = match &point.server {
        Some(server) => (
            server.cpu_us_per_operation.map(precise).unwrap_or_default(),
            format!(
                "{} ({})",
                megabytes(server.resident_bytes),
                megabytes(server.anonymous_bytes)
            ),
        ),
        None => Default::default(),
    };
    html.push_str(&cell(cpu));
    html.push_str(&cell(per_second(point).map(precise).unwrap_or_default()));
    html.push_str(&ratio(per_second(point), base.and_then(|(_, point)| per_second(point))));
    html.push_str(&cell(memory));
    let is_bad = !point.problems(&[]).is_empty();
    let answers = if is_bad {
        "<span class=\"bad\">see below</span>"
    } else {
        "as expected"
    };
    html.push_str(&cell(answers.to_owned()));
}

fn latencies(latency: &Latency) -> String {
    let Latency {
        p50,
        p95,
        p99,
        p999,
        max,
        ..
    } = latency;
    [p50, p95, p99, p999, max]
        .map(|us| format!("<td>{}</td>", precise(us / 1e3)))
        .concat()
}

fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let megabytes = bytes as f64 / 1e6;
    precise(megabytes)
}

/// Kinds of operation at the best rate, when there are several.
fn kinds(html: &mut String, runs: &[Run<'_>]) {
    let several = |run: &RunResult| run.best().is_some_and(|point| used(point).count() > 1);
    if !runs.iter().any(|(_, run)| several(run)) {
        return;
    }
    html.push_str(
        "<details open><summary>By kind of operation, at the best rate</summary>\n<div class=\"wide\"><table>\n\
         <tr><th>operation</th><th class=\"left\">run</th><th>per second</th><th>p50 ms</th><th>p95 ms</th><th>p99 ms</th>\
         <th>p99.9 ms</th><th>max ms</th><th>entries each</th></tr>\n",
    );
    let mut names: Vec<&str> = Vec::new();
    for operation in runs.iter().filter_map(|(_, run)| run.best()).flat_map(used) {
        if !names.contains(&operation.kind.as_str()) {
            names.push(&operation.kind);
        }
    }
    for name in names {
        let mut class = " class=\"first\"";
        for (color, run) in runs {
            let found = run
                .best()
                .and_then(|point| used(point).find(|operation| operation.kind == name));
            let Some(operation) = found else { continue };
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            let each = operation.entries as f64 / operation.count.max(1) as f64;
            let _ = writeln!(
                html,
                "<tr{class}><td>{}</td><td class=\"left name\" style=\"--dot: var(--c{})\">{}</td><td>{}</td>{}<td>{}</td></tr>",
                escape(name),
                color % COLORS,
                escape(&run.label),
                precise(operation.rate),
                latencies(&operation.latency),
                precise(each),
            );
            class = "";
        }
    }
    html.push_str("</table></div></details>\n");
}

fn used(point: &Point) -> impl Iterator<Item = &crate::result::OperationSummary> {
    point.operations.iter().filter(|operation| operation.count > 0)
}

fn problems(html: &mut String, runs: &[Run<'_>]) {
    for (_, run) in runs {
        for point in &run.points {
            let mut texts = point.problems(&[]);
            if point.unsent > 0 {
                texts.push(format!(
                    "{} requests of the schedule could not be sent in time",
                    point.unsent
                ));
            }
            for text in texts {
                let (label, clients) = (escape(&run.label), point.clients);
                let _ = writeln!(
                    html,
                    "<p class=\"bad\">{label}, {clients} clients: {}</p>",
                    escape(&text)
                );
            }
        }
    }
}
