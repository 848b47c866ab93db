//! Compares counts with their figures.

use std::fmt;

use super::figures::Figures;

/// The result of the comparison.
#[derive(Debug)]
pub(super) struct Verdict {
    rows: Vec<Row>,
    /// The tools of the figures and the tools of the counts, if they differ.
    other_tools: Option<(String, String)>,
    tolerance_percent: u64,
}

/// One operation.
#[derive(Debug)]
struct Row {
    name: String,
    figure: Option<u64>,
    count: Option<u64>,
    finding: Finding,
}

/// Whether an operation keeps to its figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Kept,
    Rise,
    Gain,
    /// It is counted, and the file has no figure for it.
    NoFigure,
    /// The file has a figure for it, and it is not counted.
    NotCounted,
}

impl Verdict {
    /// Compares counts with figures.
    pub(super) fn new(figures: &Figures, counted: &Figures) -> Self {
        let same = figures.tools == counted.tools;
        let tolerance_percent = if same {
            TOLERANCE_PERCENT
        } else {
            FOREIGN_TOLERANCE_PERCENT
        };
        let counts = counted.operations.iter().map(|(name, count)| {
            let figure = figures.of(name);
            let finding = figure.map_or(Finding::NoFigure, |figure| judge(figure, *count, tolerance_percent));
            (name, figure, Some(*count), finding)
        });
        let gone = figures.operations.iter().filter(|(name, _)| counted.of(name).is_none());
        let gone = gone.map(|(name, figure)| (name, Some(*figure), None, Finding::NotCounted));
        let rows = counts.chain(gone).map(|(name, figure, count, finding)| Row {
            name: name.clone(),
            figure,
            count,
            finding,
        });
        Self {
            rows: rows.collect(),
            other_tools: (!same).then(|| (figures.tools.clone(), counted.tools.clone())),
            tolerance_percent,
        }
    }

    /// Whether every operation keeps to its figure.
    pub(super) fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.finding == Finding::Kept)
    }
}

fn judge(figure: u64, count: u64, tolerance_percent: u64) -> Finding {
    let (figure, count, tolerance) = (u128::from(figure), u128::from(count), u128::from(tolerance_percent));
    if count * 100 > figure * (100 + tolerance) {
        Finding::Rise
    } else if count * 100 < figure * (100 - tolerance) {
        Finding::Gain
    } else {
        Finding::Kept
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<30} {:>10} {:>10}", "instructions of", "figure", "now")?;
        for row in &self.rows {
            let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
            write!(
                f,
                "{:<30} {:>10} {:>10}",
                row.name,
                number(row.figure),
                number(row.count)
            )?;
            if let (Some(figure @ 1..), Some(count)) = (row.figure, row.count) {
                let tenths = (i128::from(count) - i128::from(figure)) * 1_000 / i128::from(figure);
                let sign = if tenths < 0 { '-' } else { '+' };
                write!(
                    f,
                    " {:>8} %",
                    format!("{sign}{}.{}", tenths.abs() / 10, tenths.abs() % 10)
                )?;
            }
            writeln!(f, "{}", row.finding.remark(self.tolerance_percent))?;
        }
        if let Some((figures, now)) = &self.other_tools {
            writeln!(
                f,
                "The figures are of other tools, so {} % are allowed:",
                self.tolerance_percent
            )?;
            writeln!(f, "  figures: {figures}\n  now:     {now}")?;
        }
        Ok(())
    }
}

impl Finding {
    fn remark(self, tolerance_percent: u64) -> String {
        match self {
            Self::Kept => String::new(),
            Self::Rise => format!("  more than {tolerance_percent} % above its figure"),
            Self::Gain => {
                format!("  more than {tolerance_percent} % below its figure, which is to be tightened")
            }
            Self::NoFigure => "  it has no figure yet".to_owned(),
            Self::NotCounted => "  it is not counted any more".to_owned(),
        }
    }
}

/// Percent by which repeated counts may differ, with the same code and the same tools, or with small changes elsewhere
/// in a crate.
const TOLERANCE_PERCENT: u64 = 3;
/// The same with another compiler, valgrind or C library.
const FOREIGN_TOLERANCE_PERCENT: u64 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(tools: &str, operations: &[(&str, u64)]) -> Figures {
        Figures {
            tools: tools.to_owned(),
            operations: operations
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
        }
    }

    fn findings(verdict: &Verdict) -> Vec<Finding> {
        verdict.rows.iter().map(|row| row.finding).collect()
    }

    fn counted(count: u64) -> Verdict {
        Verdict::new(&figures("t", &[("decode", 1_000)]), &figures("t", &[("decode", count)]))
    }

    #[test]
    fn a_count_may_differ_by_three_percent() {
        for count in [970, 1_000, 1_030] {
            assert!(counted(count).is_good(), "{count}");
        }
    }

    #[test]
    fn a_rise_fails_and_names_the_operation_and_both_numbers() {
        let verdict = counted(1_031);
        assert!(!verdict.is_good());
        assert_eq!(findings(&verdict), [Finding::Rise]);
        let text = verdict.to_string();
        let row = text.lines().find(|line| line.starts_with("decode")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[..5], ["decode", "1000", "1031", "+3.1", "%"]);
        assert!(row.ends_with("more than 3 % above its figure"), "{row}");
    }

    #[test]
    fn a_gain_fails_until_the_figure_is_tightened() {
        let verdict = counted(969);
        assert!(!verdict.is_good());
        assert!(verdict.to_string().contains("-3.1 %"));
        assert_eq!(findings(&verdict), [Finding::Gain]);
    }

    #[test]
    fn operations_and_figures_need_each_other() {
        let verdict = Verdict::new(&figures("t", &[("old", 1)]), &figures("t", &[("new", 1)]));
        assert!(!verdict.is_good());
        assert_eq!(findings(&verdict), [Finding::NoFigure, Finding::NotCounted]);
    }

    #[test]
    fn other_tools_are_named_and_allowed_more() {
        let with = |count| {
            let verdict = Verdict::new(
                &figures("old", &[("decode", 1_000)]),
                &figures("new", &[("decode", count)]),
            );
            assert!(verdict.to_string().contains("figures: old\n  now:     new"));
            verdict.is_good()
        };
        assert!(with(1_150) && with(850));
        assert!(!with(1_151) && !with(849));
    }
}
