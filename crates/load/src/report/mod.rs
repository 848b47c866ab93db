//! Reports: one self-contained HTML page about one run or several compared runs.
//!
//! Results of the same workload share a section: the best rate of each run, plots of rate, latency, processor time and
//! rate over time, and a table with every figure and its ratio to the first run.

mod plot;
mod rounds;
mod scale;
mod section;
mod table;

use std::fmt::Write as _;

use self::plot::escape;
pub use self::{
    rounds::{markdown, medians},
    scale::precise,
};
use crate::result::{HostMachine, RunResult};

/// The page. Each label keeps its colour. The first run of a workload is the base of comparison. Results with the label
/// `limit` show the limit: the page says which part of it the other runs reach.
pub fn page(title: &str, results: &[RunResult], limit: Option<&str>) -> String {
    let mut labels: Vec<&str> = Vec::new();
    let mut workloads: Vec<&str> = Vec::new();
    for result in results {
        if !labels.contains(&result.label.as_str()) {
            labels.push(&result.label);
        }
        if !workloads.contains(&result.workload.as_str()) {
            workloads.push(&result.workload);
        }
    }
    let mut html = String::new();
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{0}</h1>\n",
        escape(title),
    );
    heading(&mut html, results, &labels);
    if workloads.len() > 1 {
        html.push_str("<nav>");
        for (number, workload) in workloads.iter().enumerate() {
            let _ = write!(html, "<a href=\"#w{number}\">{}</a>", escape(workload));
        }
        html.push_str("</nav>\n");
    }
    for (number, workload) in workloads.iter().enumerate() {
        let runs: Vec<(usize, &RunResult)> = results
            .iter()
            .filter(|result| result.workload == *workload)
            .map(|result| {
                (
                    labels.iter().position(|label| *label == result.label).unwrap_or(0),
                    result,
                )
            })
            .collect();
        let _ = writeln!(html, "<section id=\"w{number}\">\n<h2>{}</h2>", escape(workload));
        section::write(&mut html, &runs, limit);
        html.push_str("</section>\n");
    }
    html.push_str("</body>\n</html>\n");
    html
}

/// Date, place and runs.
fn heading(html: &mut String, results: &[RunResult], labels: &[&str]) {
    let Some(first) = results.first() else {
        html.push_str("<p>No results.</p>\n");
        return;
    };
    let HostMachine {
        processor,
        processors,
        system,
        memory_bytes,
    } = &first.machine;
    let _ = writeln!(
        html,
        "<p class=\"dim\">{}; {} &times; {}, {} GB of memory; {}</p>",
        escape(&first.started),
        processors,
        escape(processor),
        memory_bytes >> 30,
        escape(system),
    );
    if labels.len() > 1 {
        let list: Vec<String> = labels.iter().map(|label| escape(label)).collect();
        let _ = writeln!(
            html,
            "<p>Compared: {}. Ratios are to the first run of each workload.</p>",
            list.join(", ")
        );
    }
}

const STYLE: &str = include_str!("style.css");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::sample;

    #[test]
    fn a_page_holds_each_workload_and_each_run() {
        let results = [
            sample("slapd", "search", &[(1, 1_000.0), (16, 20_000.0)]),
            sample("ironbark <x>", "search", &[(1, 3_000.0), (16, 90_000.0)]),
            sample("slapd", "ycsb a", &[(8, 500.0)]),
        ];
        let html = page("Side by side", &results, None);
        for part in [
            "<title>Side by side</title>",
            "<h2>search</h2>",
            "<h2>ycsb a</h2>",
            "ironbark &lt;x&gt;",
            "20,000",
            "90,000",
            // The ratio to the first run.
            "4.50",
            "Latency by clients",
            "Latency percentiles",
            "Rate over time",
            "Processor time",
        ] {
            assert!(html.contains(part), "{part}");
        }
        // The page loads nothing from outside.
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"));
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
        assert_eq!(html.matches("<section").count(), 2);
    }

    #[test]
    fn the_part_of_the_limit_is_said() {
        let results = [
            sample("slapd", "search", &[(1, 1_000.0)]),
            sample("ironbark", "search", &[(1, 3_000.0)]),
            sample("bare", "search", &[(1, 4_000.0)]),
        ];
        let html = page("x", &results, Some("bare"));
        assert!(
            html.contains("<th>part of bare</th>") && html.contains("<td>25 %</td>") && html.contains("<td>75 %</td>")
        );
        assert!(!page("x", &results[..2], Some("bare")).contains("part of bare"));
    }

    #[test]
    fn measurements_with_other_numbers_in_flight_are_not_joined() {
        let mut result = sample("slapd", "search", &[(64, 1_000.0), (16, 20_000.0)]);
        result.points[1].in_flight = 16;
        let html = page("x", &[result], None);
        assert!(html.contains("slapd, 1 in flight") && html.contains("slapd, 16 in flight"));
        // Two bars for the rate, two for the processor time.
        assert_eq!(html.matches("<rect").count(), 4);
    }

    #[test]
    fn errors_are_shown() {
        let mut result = sample("slapd", "search", &[(1, 1_000.0)]);
        result.points[0].operations[0].codes.insert(50, 12);
        assert!(page("x", &[result], None).contains("result code 50"));
    }

    #[test]
    fn no_results_are_a_page_too() {
        assert!(page("x", &[], None).contains("No results"));
    }
}
