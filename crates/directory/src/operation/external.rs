//! Operations on databases whose entries are elsewhere, but for searches: what the server sees to before another
//! program is asked.
//!
//! As in slapd, access rules are asked about an entry of which only the name is known, or the entry that is added.

use std::{sync::Arc, time::Duration};

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::Operation;
use ironbark_model::{Dn, Entry, ResultCode};

use super::{add, change::Change, modify_dn};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Target, WriteCheck},
    backend::{
        external::{ExternalDatabase, ExternalOperation, refuse_controls},
        tree_change::TreeChange,
    },
    outcome::{completion::Begun, external::submit},
    request::{
        context::RequestContext,
        identity::Identity,
        modification::{self, ModificationKind},
    },
    search::time_limit,
};

/// Who asks a database whose entries are elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct ExternalCall<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) context: &'a NamingContext,
    pub(crate) origin: &'a RequestContext,
}

impl ExternalCall<'_> {
    /// Asks whether a simple bind is right. The connection speaks for the name as the client has spelt it.
    ///
    /// # Errors
    /// `insufficientAccessRights`.
    pub(crate) fn bind(
        self,
        directory: &Arc<Directory>,
        database: &dyn ExternalDatabase,
        dn: &Dn,
        password: &[u8],
    ) -> Result<Begun, OperationError> {
        self.require(&Entry::new(dn.clone()), Privileges::AUTH)?;
        let identity = Identity {
            dn: dn.clone(),
            ..Identity::default()
        };
        let asked = ExternalOperation::Bind {
            dn: dn.clone(),
            password: password.to_vec(),
        };
        self.ask(
            directory,
            database,
            (Operation::Bind, Some(Arc::new(identity))),
            dn,
            asked,
        )
    }

    /// Asks whether an entry has a value, which is given in normal form.
    ///
    /// # Errors
    /// `insufficientAccessRights`, `unavailableCriticalExtension`.
    pub(crate) fn compare(
        self,
        directory: &Arc<Directory>,
        database: &dyn ExternalDatabase,
        dn: &Dn,
        (attribute, value): (String, Vec<u8>),
    ) -> Result<Begun, OperationError> {
        refuse_controls(self.origin)?;
        self.require(&Entry::new(dn.clone()), Privileges::COMPARE)?;
        let asked = ExternalOperation::Compare {
            dn: dn.clone(),
            attribute,
            value,
        };
        self.ask(directory, database, (Operation::Compare, None), dn, asked)
    }

    /// Hands an extended operation on, whose rights are the other program's matter, as in slapd.
    ///
    /// # Errors
    /// `unavailableCriticalExtension`.
    pub(crate) fn extended(
        self,
        directory: &Arc<Directory>,
        database: &dyn ExternalDatabase,
        dn: &Dn,
        (oid, value): (&str, Option<&[u8]>),
    ) -> Result<Begun, OperationError> {
        refuse_controls(self.origin)?;
        let asked = ExternalOperation::Extended {
            oid: oid.to_owned(),
            value: value.map(<[u8]>::to_vec),
        };
        self.ask(directory, database, (Operation::Extended, None), dn, asked)
    }

    /// A write as it is asked for, and how long it may take.
    ///
    /// # Errors
    /// `insufficientAccessRights`, `unavailableCriticalExtension`, and what the schema forbids without any entry.
    pub(crate) fn write(self, change: &Change) -> Result<(ExternalOperation, Option<Duration>), OperationError> {
        refuse_controls(self.origin)?;
        let schema = &*self.configuration.schema;
        let named = |dn: &Dn| Entry::new(dn.clone());
        let asked = match change {
            Change::Add(dn, modifications) => {
                let mut modifications = modifications.clone();
                modification::check_permitted(schema, &mut modifications, false)?;
                add::refuse_repetition(schema, &modifications)?;
                let entry = add::entry_of(dn.clone(), &modifications);
                self.require(&entry, Privileges::ADD)?;
                TreeChange::Add(entry)
            }
            Change::Delete(dn) => {
                self.require(&named(dn), Privileges::DELETE)?;
                TreeChange::Delete { dn: dn.clone() }
            }
            Change::Modify(dn, modifications) => {
                let mut modifications = modifications.clone();
                modification::check_permitted(schema, &mut modifications, false)?;
                if modifications
                    .iter()
                    .any(|change| change.kind == ModificationKind::Increment)
                {
                    let text = "modify/increment not supported in context";
                    return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text));
                }
                self.require(&named(dn), Privileges::WRITE)?;
                TreeChange::Modify {
                    dn: dn.clone(),
                    modifications,
                }
            }
            Change::ModifyDn(rename) => {
                modify_dn::check_context(self.configuration, self.context, rename)?;
                let moves = rename.new_superior().is_some();
                let needed = if moves { Privileges::DELETE } else { Privileges::WRITE };
                self.require(&named(rename.dn()), needed)?;
                rename.in_memory(rename.dn().clone())
            }
        };
        Ok((ExternalOperation::Write(asked), self.time(change.dn())))
    }

    fn require(&self, entry: &Entry, privileges: Privileges) -> Result<(), OperationError> {
        let requester = Requester::of(self.configuration, self.context, self.origin);
        if WriteCheck::on_entry(requester, entry).permits(Target::Entry, privileges) {
            return Ok(());
        }
        Err(OperationError::code(ResultCode::INSUFFICIENT_ACCESS_RIGHTS))
    }

    fn ask(
        &self,
        directory: &Arc<Directory>,
        database: &dyn ExternalDatabase,
        kind: (Operation, Option<Arc<Identity>>),
        dn: &Dn,
        asked: ExternalOperation,
    ) -> Result<Begun, OperationError> {
        submit((directory, self.origin), database, kind, (asked, self.time(dn)))
    }

    /// As long as a search may take: no operation waits for ever.
    fn time(&self, dn: &Dn) -> Option<Duration> {
        let seconds = time_limit(self.configuration, self.context, &self.origin.identity, dn);
        seconds.map(|seconds| Duration::from_secs(u64::from(seconds)))
    }
}
