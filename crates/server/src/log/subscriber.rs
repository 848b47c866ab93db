//! The layer that turns the target of an event into bits of the log level.

use std::{cell::RefCell, fmt::Write as _};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    subscriber::Interest,
};
use tracing_subscriber::layer::{Context, Layer};

use super::{Log, level};

/// Writes events to a [`Log`].
pub(super) struct LevelLayer {
    log: Log,
}

impl LevelLayer {
    pub(super) fn new(log: Log) -> Self {
        Self { log }
    }
}

/// The bits of a target: the name of a level. Warnings and errors of our own crates under any other target are for everybody;
/// everything else (libraries) is for nobody.
pub(super) fn mask_of(metadata: &Metadata<'_>) -> level::LevelMask {
    let target = metadata.target();
    if let Some(mask) = level::named(target) {
        mask
    } else if target.starts_with("ironbark") && *metadata.level() <= tracing::Level::WARN {
        level::ANY
    } else {
        0
    }
}

/// The name of an event's level: `any` for what is for everybody.
fn name_of(metadata: &Metadata<'static>) -> &'static str {
    let target = metadata.target();
    if level::named(target).is_some() { target } else { "any" }
}

impl<S: Subscriber> Layer<S> for LevelLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if !metadata.is_span() && mask_of(metadata) & self.log.enabled() != 0 {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        !metadata.is_span() && mask_of(metadata) & self.log.enabled() != 0
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        TEXT.with(|text| {
            // Formatting a value may log; that inner line has a buffer of its own.
            let mut inner = RefCell::default();
            let text = if text.try_borrow_mut().is_ok() {
                text
            } else {
                &mut inner
            };
            let mut text = text.borrow_mut();
            text.clear();
            event.record(&mut Text(&mut text));
            self.log
                .write(mask_of(event.metadata()), name_of(event.metadata()), &text);
            text.shrink_to(MAX_KEPT_BYTES);
        });
    }
}

thread_local! {
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

const MAX_KEPT_BYTES: usize = 4096;

/// The message, then the other fields as ` name=value`. Line ends and control characters of what a client sent cannot forge lines.
struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let before = self.0.len();
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
        escape_controls(self.0, before);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let before = self.0.len();
        if field.name() == "message" {
            self.0.push_str(value);
        } else {
            let _ = write!(self.0, " {}={value}", field.name());
        }
        escape_controls(self.0, before);
    }
}

/// Each octet of a control character or line separator becomes `\XX`; tabulators stay.
fn escape_controls(text: &mut String, from: usize) {
    // Nearly all text is plain ASCII.
    let is_plain = |byte: &u8| matches!(*byte, b' '..=b'~' | b'\t');
    if text.as_bytes().iter().skip(from).all(is_plain) {
        return;
    }
    let breaks = |character: char| {
        character.is_control() && character != '\t' || matches!(character, LINE_SEPARATOR | PARAGRAPH_SEPARATOR)
    };
    let tail = text.split_off(from);
    for character in tail.trim_end_matches('\n').chars() {
        if breaks(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(text, "\\{byte:02X}");
            }
        } else {
            text.push(character);
        }
    }
}

const LINE_SEPARATOR: char = '\u{2028}';
const PARAGRAPH_SEPARATOR: char = '\u{2029}';
