//! Axes: from values to positions, ticks at round numbers, and numbers as text.

/// The kind of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Evenly, from 0.
    Linear,
    /// Each decade takes the same room.
    Logarithmic,
    /// Percentiles: each further nine takes the same room.
    Percentiles,
}

/// An axis with its range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    kind: Kind,
    /// First and last value, as [`Kind::place`] sees them.
    from: f64,
    to: f64,
    /// Where ticks are.
    ticks: Vec<f64>,
}

impl Scale {
    /// A scale for all these values. It skips values that are not finite, and values that have no logarithm on a
    /// logarithmic scale.
    pub(super) fn new(kind: Kind, values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| value.is_finite() && (kind != Kind::Logarithmic || *value > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        let ticks = match kind {
            Kind::Linear => linear_ticks(high),
            Kind::Logarithmic => logarithmic_ticks(low, high),
            Kind::Percentiles => PERCENTILES.iter().copied().take_while(|tick| *tick <= high).collect(),
        };
        let (from, to) = match kind {
            Kind::Percentiles => (kind.place(0.0), kind.place(high.max(90.0))),
            _ => (
                kind.place(ticks.first().copied().unwrap_or(0.0)),
                kind.place(ticks.last().copied().unwrap_or(1.0)),
            ),
        };
        Self { kind, from, to, ticks }
    }

    /// The position of a value: 0 at the start, 1 at the end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let width = self.to - self.from;
        if width > 0.0 {
            ((self.kind.place(value) - self.from) / width).clamp(0.0, 1.0)
        } else {
            0.5
        }
    }

    /// The ticks, with their labels.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let kind = self.kind;
        self.ticks.iter().map(move |tick| {
            let label = match kind {
                Kind::Percentiles if *tick >= 100.0 => "max".to_owned(),
                Kind::Percentiles => plain(*tick),
                Kind::Linear | Kind::Logarithmic => short(*tick),
            };
            (*tick, label)
        })
    }
}

impl Kind {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(f64::MIN_POSITIVE).log10(),
            // The maximum stands one nine after the last percentile shown.
            Self::Percentiles => -(1.0 - value / 100.0).max(1e-6).log10(),
        }
    }
}

/// Four to nine ticks, from 0 to the first one that is at least `high`, at distances of 1, 2 or 5 times a power of ten.
fn linear_ticks(high: f64) -> Vec<f64> {
    let high = if high > 0.0 { high } else { 1.0 };
    let magnitude = 10_f64.powf((high / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .find(|step| high / step <= 6.0)
        .unwrap_or(10.0 * magnitude);
    (0..=20_u32)
        .map(|number| f64::from(number) * step)
        .scan(false, |is_past, tick| {
            if *is_past {
                return None;
            }
            *is_past = tick >= high;
            Some(tick)
        })
        .collect()
}

/// Ticks from the power of ten (or twice or five times one) below `low` to the one above `high`. Beyond four decades,
/// only powers of ten.
fn logarithmic_ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high / low > 1e4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all: Vec<f64> = (-9..=15)
        .flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powi(exponent)))
        .collect();
    // A tolerance for rounding: 1000 computed as ten to the third must fit a value of 1000.
    let below = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
    let above = all
        .iter()
        .position(|tick| *tick >= high * (1.0 - 1e-9))
        .unwrap_or(all.len().saturating_sub(1));
    let last = above.max(below + 1);
    all.into_iter().skip(below).take(last + 1 - below).collect()
}

/// A number for an axis: `0.5`, `20`, `1.5k`, `2M`.
pub(super) fn short(value: f64) -> String {
    for (limit, unit) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value.abs() >= limit * (1.0 - 1e-9) {
            return format!("{}{unit}", plain(value / limit));
        }
    }
    plain(value)
}

/// A number with at least two significant digits and separated thousands: `0.012`, `1.25`, `12.3`, `123`, `12,345`.
pub fn precise(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        let digits = format!("{value:.0}");
        let (sign, digits) = digits
            .strip_prefix('-')
            .map_or(("", digits.as_str()), |digits| ("-", digits));
        let mut text = sign.to_owned();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        return text;
    }
    if size >= 9.995 {
        format!("{value:.1}")
    } else if size >= 0.1 || value == 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// At most three decimals, without zeros at the end.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const PERCENTILES: [f64; 8] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(kind: Kind, values: &[f64]) -> Vec<String> {
        Scale::new(kind, values.iter().copied())
            .ticks()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn linear_axes_begin_at_zero_and_have_round_ticks() {
        assert_eq!(
            labels(Kind::Linear, &[87_000.0, 30_000.0]),
            ["0", "20k", "40k", "60k", "80k", "100k"]
        );
        assert_eq!(labels(Kind::Linear, &[0.9]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Kind::Linear, &[6.0]), ["0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(labels(Kind::Linear, &[]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Kind::Linear, &[0.0, f64::NAN]).len(), 6);
    }

    #[test]
    fn logarithmic_axes_have_the_values_between_their_ends() {
        assert_eq!(
            labels(Kind::Logarithmic, &[1.0, 100.0]),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(labels(Kind::Logarithmic, &[30.0, 40.0]), ["20", "50"]);
        assert_eq!(
            labels(Kind::Logarithmic, &[3.0, 1e6]),
            ["1", "10", "100", "1k", "10k", "100k", "1M"]
        );
        assert_eq!(labels(Kind::Logarithmic, &[64.0]), ["50", "100"]);
    }

    #[test]
    fn positions_go_from_start_to_end() {
        let linear = Scale::new(Kind::Linear, [100.0].into_iter());
        assert!((linear.position(50.0) - 0.5).abs() < 1e-9);
        let logarithmic = Scale::new(Kind::Logarithmic, [1.0, 100.0].into_iter());
        assert!((logarithmic.position(10.0) - 0.5).abs() < 1e-9);
        let percentiles = Scale::new(Kind::Percentiles, [0.0, 99.99].into_iter());
        for (percentile, position) in [
            (0.0, 0.0),
            (90.0, 0.25),
            (99.0, 0.5),
            (99.9, 0.75),
            (99.99, 1.0),
            (100.0, 1.0),
        ] {
            let found = percentiles.position(percentile);
            assert!((found - position).abs() < 1e-6, "{percentile}: {found}");
        }
        assert!(linear.position(f64::INFINITY) <= 1.0);
    }

    #[test]
    fn numbers_are_written_for_people() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.0123, "0.012"),
            (1.253, "1.25"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1_234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-5_000.0, "-5,000"),
        ] {
            assert_eq!(precise(value), text);
        }
        assert_eq!(short(1_500.0), "1.5k");
    }
}
