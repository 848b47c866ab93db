//! Extended operations.
