//! The fuzz targets' entry points on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_model::fuzz;
use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("filter", b"()\\=,*&|!:", fuzz::filter).unwrap();
    smoke("dn", b"\\=,*+#\";", fuzz::dn).unwrap();
    smoke("ldap_url", b"/?%:,!=[]", fuzz::ldap_url).unwrap();
    smoke("schema", b"()$'{}: ", fuzz::schema).unwrap();
    smoke("posix_regex", b"()[]{}*+?|^$\\\n:-,1", fuzz::posix_regex).unwrap();
    smoke("value", b"\n{}:,$#\"", fuzz::value).unwrap();
}
