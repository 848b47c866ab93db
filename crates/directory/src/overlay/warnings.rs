//! Warnings of one operation. The first ones go to the log and the others are counted, so that a request cannot fill
//! the log.

use std::{cell::Cell, fmt::Arguments};

/// The warnings of one execution of an operation. At its end, a line says how many were left out.
#[derive(Debug)]
pub(super) struct Warnings {
    connection: u64,
    operation: u64,
    count: Cell<usize>,
}

impl Warnings {
    /// The numbers appear in the log.
    pub(super) fn new(connection: u64, operation: u64) -> Self {
        Self {
            connection,
            operation,
            count: Cell::new(0),
        }
    }

    /// Writes a line, or counts it.
    pub(super) fn warn(&self, text: Arguments<'_>) {
        let count = self.count.get();
        self.count.set(count + 1);
        if count < MOST {
            tracing::warn!(target: "any", "{text}");
        }
    }
}

impl Drop for Warnings {
    fn drop(&mut self) {
        if let more @ 1.. = self.count.get().saturating_sub(MOST) {
            let (connection, operation) = (self.connection, self.operation);
            tracing::warn!(target: "any", "conn={connection} op={operation}: {more} more warnings of this operation are left out");
        }
    }
}

/// Lines of one operation.
const MOST: usize = 10;
