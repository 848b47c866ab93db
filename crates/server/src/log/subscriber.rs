//! The layer that turns the target of an event into bits of the log level.

use std::{cell::RefCell, fmt::Write as _};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    subscriber::Interest,
};
use tracing_subscriber::layer::{Context, Layer};

use super::{Log, level, text::LineText};

/// Writes events to a [`Log`].
pub(super) struct LevelLayer {
    log: Log,
}

impl LevelLayer {
    pub(super) fn new(log: Log) -> Self {
        Self { log }
    }
}

/// The bits of a target, which is the name of a level, and that name. Warnings and errors of our own crates under any
/// other target are always written, as `any`; everything else (libraries) never is.
fn level_of(metadata: &Metadata<'static>) -> (level::LevelMask, &'static str) {
    let target = metadata.target();
    if target == "stats" {
        // By far the most lines.
        (level::STATS, target)
    } else if let Some(mask) = level::named(target) {
        (mask, target)
    } else {
        (mask_of_other(metadata), "any")
    }
}

/// The bits of a target that is not the name of a level.
fn mask_of_other(metadata: &Metadata<'_>) -> level::LevelMask {
    if metadata.target().starts_with("ironbark") && *metadata.level() <= tracing::Level::WARN {
        level::ANY
    } else {
        0
    }
}

fn mask_of(metadata: &Metadata<'_>) -> level::LevelMask {
    level::named(metadata.target()).unwrap_or_else(|| mask_of_other(metadata))
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
            // Formatting a value may log. That inner line then has its own buffer.
            let mut inner = RefCell::default();
            let text = if text.try_borrow_mut().is_ok() {
                text
            } else {
                &mut inner
            };
            let mut text = text.borrow_mut();
            let mut fields = Fields(LineText::new(&mut text));
            event.record(&mut fields);
            fields.0.end();
            let (mask, level) = level_of(event.metadata());
            self.log.write(mask, level, &text);
            text.shrink_to(MAX_KEPT_BYTES);
        });
    }
}

thread_local! {
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

const MAX_KEPT_BYTES: usize = 4096;

/// The message, then the other fields as ` name=value`.
struct Fields<'a>(LineText<'a>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a line cannot fail. A value that cannot be printed is left out.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
        self.0.end_field();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = if field.name() == "message" {
            self.0.write_str(value)
        } else {
            write!(self.0, " {}={value}", field.name())
        };
        self.0.end_field();
    }
}
