//! Processor time, as the kernel counts it.

use std::fs;
use std::hint::black_box;

use anyhow::{Context, Result};

/// Seconds that all children took which have ended, and theirs.
pub(super) fn of_children() -> Result<f64> {
    seconds("self", [15, 16])
}

/// Seconds that a process has taken; 0 if it has ended.
pub(super) fn of(process: u32) -> f64 {
    seconds(&process.to_string(), [13, 14]).unwrap_or(0.0)
}

/// Seconds that this machine takes for a fixed calculation.
pub(super) fn speed() -> Result<f64> {
    let before = seconds("self", [13, 14])?;
    let mut value = 0x9e37_79b9_7f4a_7c15_u64;
    let mut table = vec![0_u64; 1 << 16];
    for round in 0..ROUNDS {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        let at = usize::try_from(value >> 48)?;
        if let Some(place) = table.get_mut(at) {
            *place = place.wrapping_add(round);
            value = value.wrapping_add(*place & 1);
        }
    }
    black_box((value, table));
    Ok((seconds("self", [13, 14])? - before).max(TICK_S))
}

/// Two fields of /proc/PID/stat, counted from zero, in ticks of which the kernel promises 100 a second.
fn seconds(process: &str, fields: [usize; 2]) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program is in brackets, and may have blanks.
    let (_, rest) = text.rsplit_once(')').context("/proc/PID/stat has another form")?;
    let ticks = fields.map(|field| {
        let ticks = rest.split_whitespace().nth(field - 2);
        ticks
            .and_then(|ticks| ticks.parse::<u32>().ok())
            .context("/proc/PID/stat has another form")
    });
    let [user, system] = ticks;
    Ok((f64::from(user?) + f64::from(system?)) * TICK_S)
}

const TICK_S: f64 = 0.01;
const ROUNDS: u64 = 100_000_000;
