//! Tests of entry checks.
