//! What a program behind `database sock` answers.
#![no_main]

use std::sync::{Arc, LazyLock};

use ironbark_model::Schema;
use libfuzzer_sys::fuzz_target;

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(Schema::system);

fuzz_target!(|data: &[u8]| {
    ironbark_backends::fuzz::answer(data, &SCHEMA);
});
