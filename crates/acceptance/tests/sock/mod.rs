//! `database sock` and `overlay sock`: a program answers requests, and reads of either server the same octets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod configuration;
mod failures;
mod overlay;
mod overlay_failures;
mod program;
mod same;

use ironbark_testkit::{Credentials, Server};

/// A database that a program serves, with these settings, before one of the store.
fn config(settings: &str) -> String {
    let sock = format!(
        "modulepath /usr/lib/ldap\nmoduleload back_sock\ndatabase sock\nsuffix \"o=Sock, c=DE\"\nsuffix o=second\n\
         socketpath {{dir}}/program.sock\nextensions binddn ssf\nrootdn cn=root,o=Sock,c=DE\n{settings}\n"
    );
    Server::PEOPLE_CONFIG.replace("database mdb", &format!("{sock}database mdb"))
}

/// The rootdn of the sock database, whose password the program knows.
const ROOT: Credentials<'static> = Credentials::Simple {
    dn: "cn=root,o=sock,c=DE",
    password: "known",
};
