//! Tests of syntaxes.
