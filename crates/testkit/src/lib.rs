//! Support for tests: running servers (ours or Debian's slapd), real clients, comparison of LDIF, fuzz targets on their
//! corpus.
//!
//! A test states its configuration once and runs against either [`Flavor`]. [`assert_same`] runs it against both and
//! compares the results. This proves that the expectation itself is right:
//!
//! ```no_run
//! use ironbark_testkit::{Flavor, Server, assert_same};
//!
//! assert_same(|flavor| {
//!     let server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
//!     server.ldapadd("dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n")?.success()?;
//!     Ok(server.search(&["-b", "dc=example,dc=com", "(dc=example)"])?.stdout)
//! });
//! ```
//!
//! Nothing here sleeps for a fixed time: [`wait::until`] polls for a condition and has a deadline. Servers listen on
//! loopback or on a socket in the test's own directory. A dropped value ends its own server and no other process.

mod binary;
mod certificates;
mod clients;
mod command;
mod ds389;
mod error;
mod etcd;
mod kdc;
mod layout;
mod ldif;
mod oracle;
mod pdu;
mod samba_dc;
mod scenario;
mod script;
mod server;
mod strangers;
mod tool;
mod transcript;
mod way_back;

pub mod fuzz;
pub mod outage;
pub mod wait;

pub use binary::{Flavor, repository_root};
pub use certificates::{CertificateAuthority, TestCertificate};
pub use clients::Credentials;
pub use command::ProgramOutput;
pub use ds389::Ds389;
pub use error::TestkitError;
pub use etcd::{Etcd, MemberHost};
pub use kdc::Kdc;
pub use layout::Layout;
pub use ldif::{NormalizedLdif, assert_ldif_eq, difference};
pub use oracle::Oracle;
pub use samba_dc::SambaDc;
pub use scenario::{assert_same, assert_same_answers, assert_same_now};
pub use script::{Script, ScriptStep, ScriptText};
pub use server::{Listen, Server, free_port};
pub use strangers::{Stranger, Strangers};
pub use tool::Tool;
pub use transcript::Transcript;
