//! cn=config: the configuration as a directory.
//!
//! Administrators see and change the [`Tree`]. [`render`] makes it from a slapd.conf file, [`load`] makes the typed
//! configuration from it; both use the rows of the settings table.

mod change;
mod common;
mod folder;
mod former;
mod index;
mod ldif;
mod load;
mod logged;
mod modules;
mod render;
mod replicated;
mod text;
mod tree;
mod unreadable;

pub use change::{AttributeChange, AttributeChangeKind, ChangeError, Stamps, modify::ModifySteps};
pub(crate) use folder::node_of_file;
pub use folder::{Folder, FolderComplain};
pub use ldif::TreeTextError;
pub use load::{load, load_change, survey};
pub use logged::{OlcLogEntry, OlcLogOperation};

pub use crate::entry_files::FolderError;
pub use render::render;
pub use replicated::{Replica, ReplicaEntry, ReplicaExtent};
pub use text::slapd_conf;
pub use tree::{OlcKind, OlcNode, Tree};

#[cfg(test)]
mod tests;
