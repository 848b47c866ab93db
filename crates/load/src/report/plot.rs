//! Plots as SVG: lines and bars, with title, axes, units and tooltips. Colours come from the page's style.

use std::fmt::Write as _;

use super::scale::{Kind, Scale, precise};

/// A plot of lines.
pub(super) struct Lines<'a> {
    pub(super) title: &'a str,
    pub(super) x_title: &'a str,
    pub(super) y_title: &'a str,
    pub(super) x_kind: Kind,
    pub(super) y_kind: Kind,
    pub(super) drawn: Vec<Line>,
}

/// One line.
pub(super) struct Line {
    pub(super) name: String,
    /// Number of its colour. A run has the same colour on the whole page.
    pub(super) color: usize,
    /// Whether it is dashed, to tell it from another line of the same colour.
    pub(super) is_dashed: bool,
    pub(super) points: Vec<(f64, f64)>,
}

/// A plot of bars, one for each run.
pub(super) struct Bars<'a> {
    pub(super) title: &'a str,
    pub(super) unit: &'a str,
    /// Name, colour, value.
    pub(super) values: Vec<(String, usize, f64)>,
}

impl Lines<'_> {
    /// The SVG element.
    pub(super) fn svg(&self) -> String {
        let points = || self.drawn.iter().flat_map(|line| line.points.iter());
        let x = Scale::new(self.x_kind, points().map(|(x, _)| *x));
        let y = Scale::new(self.y_kind, points().map(|(_, y)| *y));
        let mut svg = begin(self.title);
        grid(&mut svg, &y, self.y_title);
        for (tick, label) in x.ticks() {
            let at = LEFT + x.position(tick) * WIDTH;
            let _ = write!(
                svg,
                r#"<line class="tick" x1="{at:.1}" y1="{0:.1}" x2="{at:.1}" y2="{1:.1}"/><text class="label" x="{at:.1}" y="{2:.1}" text-anchor="middle">{label}</text>"#,
                TOP + HEIGHT,
                TOP + HEIGHT + 5.0,
                TOP + HEIGHT + 19.0,
            );
        }
        let _ = write!(
            svg,
            r#"<text class="axis" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            LEFT + WIDTH / 2.0,
            TOP + HEIGHT + 38.0,
            escape(self.x_title),
        );
        self.legend(&mut svg);
        for line in &self.drawn {
            self.draw(&mut svg, line, &x, &y);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw(&self, svg: &mut String, line: &Line, x: &Scale, y: &Scale) {
        let is_shown = |value: f64, kind: Kind| value.is_finite() && (kind != Kind::Logarithmic || value > 0.0);
        let shown = line
            .points
            .iter()
            .filter(|(px, py)| is_shown(*px, self.x_kind) && is_shown(*py, self.y_kind));
        let placed: Vec<(f64, f64, f64, f64)> = shown
            .map(|(px, py)| {
                (
                    LEFT + x.position(*px) * WIDTH,
                    TOP + (1.0 - y.position(*py)) * HEIGHT,
                    *px,
                    *py,
                )
            })
            .collect();
        let path: Vec<String> = placed.iter().map(|(px, py, ..)| format!("{px:.1},{py:.1}")).collect();
        let dashes = if line.is_dashed { " dashed" } else { "" };
        let _ = write!(
            svg,
            r#"<polyline class="line c{}{dashes}" points="{}"/>"#,
            line.color % COLORS,
            path.join(" "),
        );
        // Marks on hundreds of points would hide the line.
        if placed.len() <= MOST_MARKS {
            for (at_x, at_y, px, py) in placed {
                let _ = write!(
                    svg,
                    r#"<circle class="mark c{}" cx="{at_x:.1}" cy="{at_y:.1}" r="3.5"><title>{}: {} at {}</title></circle>"#,
                    line.color % COLORS,
                    escape(&line.name),
                    precise(py),
                    super::scale::short(px),
                );
            }
        }
    }

    /// Names under the title, from the left.
    fn legend(&self, svg: &mut String) {
        let mut at = LEFT;
        for line in &self.drawn {
            let dashes = if line.is_dashed { " dashed" } else { "" };
            let _ = write!(
                svg,
                r#"<line class="line c{}{dashes}" x1="{at:.1}" y1="38" x2="{:.1}" y2="38"/><text class="label" x="{:.1}" y="42">{}</text>"#,
                line.color % COLORS,
                at + 18.0,
                at + 23.0,
                escape(&line.name),
            );
            at += 38.0 + LETTER * float(line.name.chars().count());
        }
    }
}

impl Bars<'_> {
    /// The SVG element.
    pub(super) fn svg(&self) -> String {
        let y = Scale::new(Kind::Linear, self.values.iter().map(|(_, _, value)| *value));
        let mut svg = begin(self.title);
        grid(&mut svg, &y, self.unit);
        let room = WIDTH / float(self.values.len().max(1));
        let width = (room * 0.6).min(110.0);
        for (index, (name, color, value)) in self.values.iter().enumerate() {
            let middle = LEFT + room * (float(index) + 0.5);
            let height = y.position(*value) * HEIGHT;
            let _ = write!(
                svg,
                r#"<rect class="bar c{}" x="{:.1}" y="{:.1}" width="{width:.1}" height="{height:.1}" rx="2"><title>{}: {}</title></rect>"#,
                color % COLORS,
                middle - width / 2.0,
                TOP + HEIGHT - height,
                escape(name),
                precise(*value),
            );
            let _ = write!(
                svg,
                r#"<text class="value" x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                TOP + HEIGHT - height - 6.0,
                precise(*value),
            );
            for (row, text) in wrapped(name, room).iter().enumerate() {
                let _ = write!(
                    svg,
                    r#"<text class="label" x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                    TOP + HEIGHT + 15.0 + 13.0 * float(row),
                    escape(text),
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The element and its title.
fn begin(title: &str) -> String {
    let title = escape(title);
    format!(
        r#"<svg viewBox="0 0 {:.0} {:.0}" role="img" aria-label="{title}"><text class="title" x="{LEFT}" y="18">{title}</text>"#,
        LEFT + WIDTH + RIGHT,
        TOP + HEIGHT + BOTTOM,
    )
}

/// Horizontal lines, their labels, and the axis title.
fn grid(svg: &mut String, y: &Scale, title: &str) {
    for (tick, label) in y.ticks() {
        let at = TOP + (1.0 - y.position(tick)) * HEIGHT;
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{LEFT}" y1="{at:.1}" x2="{:.1}" y2="{at:.1}"/><text class="label" x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
            LEFT + WIDTH,
            LEFT - 7.0,
            at + 4.0,
        );
    }
    let middle = TOP + HEIGHT / 2.0;
    let _ = write!(
        svg,
        r#"<text class="axis" x="14" y="{middle:.1}" text-anchor="middle" transform="rotate(-90 14 {middle:.1})">{}</text>"#,
        escape(title),
    );
}

/// A name in rows that fit below its bar. An ellipsis marks omitted text; the tooltip has the whole name.
fn wrapped(name: &str, room: f64) -> Vec<String> {
    let fits = |text: &str| float(text.chars().count()) * LETTER <= room;
    let mut rows: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        let joined = rows.last().map(|row| format!("{row} {word}"));
        match (joined.filter(|joined| fits(joined)), rows.last_mut()) {
            (Some(joined), Some(row)) => *row = joined,
            _ => rows.push(word.to_owned()),
        }
    }
    let has_more = rows.len() > MOST_ROWS;
    rows.truncate(MOST_ROWS);
    let last = rows.len();
    for (row, at) in rows.iter_mut().zip(1..) {
        let is_cut = has_more && at == last;
        if is_cut || !fits(row) {
            while !row.is_empty() && !fits(&format!("{row}…")) {
                row.pop();
            }
            row.push('…');
        }
    }
    rows
}

/// Text for HTML and SVG, attributes included.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[expect(clippy::cast_precision_loss, reason = "numbers of bars and letters")]
fn float(number: usize) -> f64 {
    number as f64
}

/// The number of colours in the style.
pub(super) const COLORS: usize = 8;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 48.0;
const WIDTH: f64 = 516.0;
const HEIGHT: f64 = 234.0;
const MOST_MARKS: usize = 32;
/// Approximate width of a letter of a label.
const LETTER: f64 = 6.4;
/// Rows of a label below a bar.
const MOST_ROWS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(points: Vec<(f64, f64)>) -> Lines<'static> {
        let line = Line {
            name: "a < b".to_owned(),
            color: 1,
            is_dashed: false,
            points,
        };
        Lines {
            title: "Rate",
            x_title: "clients",
            y_title: "operations/s",
            x_kind: Kind::Logarithmic,
            y_kind: Kind::Linear,
            drawn: vec![line],
        }
    }

    #[test]
    fn points_lie_where_their_values_are() {
        let svg = lines(vec![(1.0, 0.0), (10.0, 50.0), (100.0, 100.0)]).svg();
        // The corners of the plot, and its middle.
        assert!(svg.contains(r#"points="66.0,292.0 324.0,175.0 582.0,58.0""#), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3);
        for part in ["<svg", "Rate", "clients", "operations/s", "a &lt; b", "</svg>"] {
            assert!(svg.contains(part), "{part}");
        }
    }

    #[test]
    fn values_without_a_place_are_left_out() {
        let svg = lines(vec![(0.0, 1.0), (1.0, f64::NAN), (1.0, 5.0)]).svg();
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn many_points_have_no_marks() {
        let svg = lines((1..=100).map(|x| (f64::from(x), 1.0)).collect()).svg();
        assert_eq!(svg.matches("<circle").count(), 0);
    }

    #[test]
    fn bars_are_as_high_as_their_values() {
        let bars = Bars {
            title: "CPU",
            unit: "us",
            values: vec![("ours".to_owned(), 0, 50.0), ("theirs".to_owned(), 1, 100.0)],
        };
        let svg = bars.svg();
        assert!(
            svg.contains(r#"height="117.0""#) && svg.contains(r#"height="234.0""#),
            "{svg}"
        );
    }

    #[test]
    fn names_of_bars_keep_to_their_room() {
        let room = WIDTH / 6.0;
        for name in [
            "Ironbark, 16 in flight",
            "slapd 2.5.13 with very many words in its name",
            "averyveryverylongname",
        ] {
            let rows = wrapped(name, room);
            assert!(rows.len() <= MOST_ROWS, "{rows:?}");
            for row in &rows {
                assert!(float(row.chars().count()) * LETTER <= room, "{rows:?}");
            }
        }
        assert_eq!(wrapped("Ironbark, 16 in flight", room), ["Ironbark, 16", "in flight"]);
        assert_eq!(wrapped("one two", WIDTH), ["one two"]);
    }
}
