//! `retry`: how long a consumer waits after an error, and `interval`.

use std::time::Duration;

/// Waits of the same length, as `60 10` in `retry="60 10 300 +"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryStep {
    /// The length of each, in seconds.
    pub seconds: u32,
    /// How many; `None`: without end.
    pub count: Option<u32>,
}

/// Why a list of retries has no meaning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum RetryError {
    #[error("incomplete syncrepl retry list")]
    Incomplete,
    #[error("invalid retry interval \"{0}\"")]
    Interval(String),
    #[error("invalid initial retry number \"{0}\"")]
    Count(String),
}

/// Why an interval has no meaning. `reason` is empty, or follows the text as `, it is dd:hh:mm:ss`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid interval \"{text}\"{reason}")]
pub(super) struct IntervalError {
    text: String,
    reason: String,
}

/// Reads pairs of seconds and how often. What stands behind a `+` is never used; slapd accepts it, too.
///
/// # Errors
/// [`RetryError`].
pub(super) fn steps(text: &str) -> Result<Vec<RetryStep>, RetryError> {
    let words: Vec<&str> = text.split([' ', ',', '\t']).filter(|word| !word.is_empty()).collect();
    let pairs = words.chunks(2).map(|pair| {
        let [seconds, count] = pair else {
            return Err(RetryError::Incomplete);
        };
        let number = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0);
        let seconds = number(seconds).ok_or_else(|| RetryError::Interval((*seconds).to_owned()))?;
        let count = match *count {
            "+" => None,
            digits => Some(number(digits).ok_or_else(|| RetryError::Count(digits.to_owned()))?),
        };
        Ok(RetryStep { seconds, count })
    });
    let steps: Vec<RetryStep> = pairs.collect::<Result<_, _>>()?;
    if steps.is_empty() {
        return Err(RetryError::Incomplete);
    }
    Ok(steps)
}

/// Reads `dd:hh:mm:ss`, or a time such as `1d2h30m` or `600`.
///
/// # Errors
/// [`IntervalError`].
pub(super) fn interval(text: &str) -> Result<Duration, IntervalError> {
    let invalid = |reason: &str| IntervalError {
        text: text.to_owned(),
        reason: reason.to_owned(),
    };
    if !text.contains(':') {
        let seconds = crate::value::parse_span(text).ok_or_else(|| invalid(""))?;
        return Ok(Duration::from_secs(seconds));
    }
    let parts: Vec<&str> = text.split(':').collect();
    let &[days, hours, minutes, seconds] = &parts[..] else {
        return Err(invalid(", it is dd:hh:mm:ss"));
    };
    let part = |digits: &str, most: u64, name: &str| {
        let number = digits.parse().ok().filter(|number: &u64| *number <= most);
        number.ok_or_else(|| invalid(&format!(", unable to parse {name}")))
    };
    let days = part(days, 100_000, "days")?;
    let hours = part(hours, 24, "hours")?;
    let minutes = part(minutes, 60, "minutes")?;
    let seconds = part(seconds, 60, "seconds")?;
    Ok(Duration::from_secs(((days * 24 + hours) * 60 + minutes) * 60 + seconds))
}
