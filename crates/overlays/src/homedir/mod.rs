//! slapo-homedir(5): home directories follow the entries of accounts.
//!
//! The overlay follows the log of changes on a thread of its own: a file system that hangs holds up no write, and after
//! a crash a change that was not finished is made again.
//!
//! Invariants: nothing outside of the fixed directory of a rule is touched, no link is followed below it, and only what
//! belongs to the account's user is moved, given away, archived or deleted ([`files`], [`walk`]).

mod account;
mod archive;
mod change;
mod create;
mod files;
mod path;
mod remove;
mod rows;
mod settings;
mod walk;

use std::{
    io,
    sync::{Arc, OnceLock},
};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    OperationError,
    overlay::{AppliedEffect, Changes, EffectHooks, Execution, Follower, Overlay},
};
use ironbark_model::{AttributeDescription, Dn, Schema};
use ironbark_store::{ChangeRecord, Effect, Location, change::TextAttribute};

use self::{
    account::{Names, Task, are_touched, tasks},
    files::Trouble,
    path::OWN,
    remove::Times,
    settings::HomedirConfig,
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "homedir",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcHomedirConfig"],
            oid: "4.8.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<HomedirConfig>,
        schema: "",
        introduction: "Home directories follow entries with homeDirectory, uidNumber and gidNumber (the schema nis \
            has them): a new account gets a directory, another homeDirectory moves it, another uidNumber or gidNumber \
            gives the account's files away, and homedir-delete-style says what happens at the end. Entries that are \
            there before the overlay, or that slapadd adds, change nothing. Replicas and all servers of a cluster may \
            have the overlay too: it acts on what they receive. If they share a file system, the first one does the \
            work; an archive may be there twice. The work is done after the answer, in the order of the changes, on \
            a thread of its own; what is not done when the server ends or crashes is done at the next start. While a \
            file system \
            hangs, changes are kept up to `changelog-size` (4 MiB by default); a full disk or a failing device is \
            tried again every 5 seconds; any other failure is logged, and the change passed over.\n\nClients choose \
            the values, and the server may be root, so the overlay is stricter than slapd. All work happens below a \
            fixed directory, which homedir-regexp tells. Paths with `.` or `..` are passed over, and so are those \
            with a directory, from the fixed one on, that belongs neither to root nor to the server's user, or that \
            everybody may write to. No link is followed. A directory is moved, given away or deleted only if it \
            belongs to the account's user, and so is everything in it; what belongs to others, or is mounted there, \
            stays where it is, and so do directories that are nested more than 128 deep. An existing directory is \
            never replaced. Devices and sockets are neither copied nor archived; a file's holes are written to the \
            archive as zeros, and an archive for which there is no room leaves the directory as it is. A directory is \
            not moved to another file system. gidNumber is needed. Whoever may write uidNumber and homeDirectory \
            decides about directories: give these rights to administrators alone. Linux 5.6 or later is needed \
            (openat2).",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Homedir {
    config: HomedirConfig,
    attributes: [AttributeDescription; 3],
    names: Names,
    /// The name of this machine, as a part of file names: several servers may share a file system.
    host: String,
    /// When it began, in microseconds since 1970.
    begin: OnceLock<i64>,
}

fn make(config: &HomedirConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| SettingError::from(format!("homedir needs the schema nis: {name}: {error}")))
    };
    let attributes = [
        described("homeDirectory")?,
        described("uidNumber")?,
        described("gidNumber")?,
    ];
    let names = attributes
        .each_ref()
        .map(|attribute| schema.description_text(attribute).into());
    let homedir = Arc::new(Homedir {
        config: config.clone(),
        attributes,
        names,
        host: host(),
        begin: OnceLock::new(),
    });
    Ok(Overlay {
        effects: Some(Arc::clone(&homedir) as _),
        follower: Some(homedir),
        ..Overlay::new("homedir")
    })
}

/// The name of this machine, without what a file name cannot have.
fn host() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    name.chars().filter(is_plain).take(LONGEST_HOST).collect()
}

/// Octets of the name of a machine; Linux has no longer ones.
const LONGEST_HOST: usize = 64;

impl EffectHooks for Homedir {
    /// A change of one attribute needs the others as well, as they are now.
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        let (dn, changes) = match applied.effect {
            Effect::Modify { dn, changes } => (dn, changes),
            Effect::Rename { new_dn, changes, .. } => (new_dn, changes),
            Effect::Add { .. } | Effect::Delete { .. } => return Ok(()),
        };
        if !are_touched(changes, &self.names) {
            return Ok(());
        }
        let Ok(dn) = Dn::parse(execution.schema(), dn.as_bytes()) else {
            return Ok(());
        };
        let mut kept: Vec<TextAttribute> = Vec::new();
        let view = execution.view();
        if let Location::Entry(id) = view.locate(&dn)?
            && let Some(record) = view.record(id)?
        {
            for (attribute, name) in self.attributes.iter().zip(&self.names) {
                if let Some(held) = record.values(attribute) {
                    kept.push((name.clone(), held.to_attribute()?.values));
                }
            }
        }
        execution.keep_for_follower(applied.effect, kept);
        Ok(())
    }
}

impl Homedir {
    fn begin(&self, changes: Changes<'_>) -> i64 {
        *self.begin.get_or_init(|| changes.directory.clock().now().unix_micros())
    }

    fn perform(&self, task: &Task, own: &str, times: Times) -> Result<(), Trouble> {
        match task {
            Task::Create(account) => create::create(account, &self.config.skeleton, own),
            Task::Change { from, to } => change::change(from, to),
            Task::Remove(account) => remove::remove(account, &self.config, own, times),
        }
    }

    fn follow(&self, record: &ChangeRecord, begin: i64, now: i64) -> io::Result<()> {
        let times = Times {
            change: record.unix_micros,
            begin,
            now,
        };
        for (number, task) in tasks(record, &self.names, &self.config).iter().enumerate() {
            let own = format!("{OWN}{}-{number}-{}", record.csn.text(), self.host);
            match self.perform(task, &own, times) {
                Ok(()) => {}
                Err(Trouble::Lasting(text)) => tracing::error!(target: "any", "homedir: {text}"),
                Err(Trouble::Passing(text)) => return Err(io::Error::other(text)),
            }
        }
        Ok(())
    }
}

impl Follower for Homedir {
    fn name(&self) -> String {
        "homedir".to_owned()
    }

    fn works_apart(&self) -> bool {
        true
    }

    fn resume(&self, _: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        self.begin(changes);
        Ok(0)
    }

    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>> {
        let begin = self.begin(changes);
        for record in changes.records {
            self.follow(record, begin, changes.directory.clock().now().unix_micros())?;
        }
        Ok(Vec::new())
    }

    fn missed(&self, changes: Changes<'_>) -> io::Result<()> {
        let suffix = changes.suffix;
        tracing::info!(target: "any", "homedir: {suffix} had changes that are not in its log; home directories are as before");
        Ok(())
    }
}
