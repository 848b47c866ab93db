//! The fuzz target's entry point on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_backends::fuzz;
use ironbark_model::Schema;
use ironbark_testkit::fuzz::smoke_of;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke_of(5_000, "sock_answer", b"\n: #<=,RESULTcode", |data| {
        fuzz::answer(data, &Schema::system());
    })
    .unwrap();
}
