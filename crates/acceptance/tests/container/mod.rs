//! `ironbark container` as the entry point of an image: the variables of bitnami/openldap and osixia/openldap, first
//! and later starts, what is interrupted, what is refused, and where secrets go.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod bitnami;
mod cluster;
mod import;
mod interrupted;
mod ldif;
mod osixia;
mod refused;
mod replicas;
mod restart;
mod running;
mod secrets;
mod tls;
