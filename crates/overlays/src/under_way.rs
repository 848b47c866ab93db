//! What an overlay notes about a request before its checks, for the effect of the same request.

use std::sync::{Mutex, PoisonError};

use ironbark_directory::overlay::Execution;

/// A note about the write under way. A request that is refused leaves its note behind; no other request gets it.
#[derive(Debug)]
pub(crate) struct UnderWay<T>(Mutex<Option<(Request, T)>>);

/// Connection, operation and message ID.
type Request = (u64, u64, i32);

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> UnderWay<T> {
    /// Notes something, or that there is nothing to note, in the place of the last note.
    pub(crate) fn note(&self, execution: &Execution<'_, '_>, note: Option<T>) {
        *self.held() = note.map(|note| (request(execution), note));
    }

    /// Takes the note, if it is about this request.
    pub(crate) fn take(&self, execution: &Execution<'_, '_>) -> Option<T> {
        let (of, note) = self.held().take()?;
        (of == request(execution)).then_some(note)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<(Request, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(execution: &Execution<'_, '_>) -> Request {
    let origin = execution.origin;
    (origin.connection, origin.operation, origin.message_id)
}
