//! Operations on databases whose entries are elsewhere, but for searches: what the server sees to before another
//! program is asked.
//!
//! As in slapd, access rules are asked about an entry of which only the name is known, or the entry that is added.

use std::{sync::Arc, time::Duration};

use ironbark_config::{access::Privileges, limits::SearchLimits};
use ironbark_ldap_proto::Operation;
use ironbark_model::{Dn, Entry};

use super::{change::Change, modify_dn};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Target, WriteCheck},
    backend::{
        external::{ExternalDatabase, ExternalOperation, refuse_controls},
        tree_change::TreeChange,
    },
    edit::new_entry,
    outcome::{completion::Begun, external::submit},
    refusal::ExternalRefusal,
    request::{
        context::RequestContext,
        identity::Identity,
        modification::{self, ModificationKind},
    },
    search,
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
        let asked = self.asked_bind(dn, password)?;
        let identity = Identity {
            dn: dn.clone(),
            ..Identity::default()
        };
        let time = self.time(dn);
        submit(
            directory,
            self.origin,
            database,
            Operation::Bind,
            Some(Arc::new(identity)),
            asked,
            time,
        )
    }

    pub(super) fn asked_bind(self, dn: &Dn, password: &[u8]) -> Result<ExternalOperation, OperationError> {
        self.require(&Entry::new(dn.clone()), Privileges::AUTH)?;
        Ok(ExternalOperation::Bind {
            dn: dn.clone(),
            password: password.to_vec(),
        })
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
        attribute: String,
        value: Vec<u8>,
    ) -> Result<Begun, OperationError> {
        refuse_controls(self.origin)?;
        let asked = self.asked_compare(dn, attribute, value)?;
        self.ask(directory, database, Operation::Compare, dn, asked)
    }

    pub(super) fn asked_compare(
        self,
        dn: &Dn,
        attribute: String,
        value: Vec<u8>,
    ) -> Result<ExternalOperation, OperationError> {
        self.require(&Entry::new(dn.clone()), Privileges::COMPARE)?;
        Ok(ExternalOperation::Compare {
            dn: dn.clone(),
            attribute,
            value,
        })
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
        oid: &str,
        value: Option<&[u8]>,
    ) -> Result<Begun, OperationError> {
        refuse_controls(self.origin)?;
        let asked = asked_extended(oid, value);
        self.ask(directory, database, Operation::Extended, dn, asked)
    }

    /// A write as it is asked for, and how long it may take.
    ///
    /// # Errors
    /// `insufficientAccessRights`, `unavailableCriticalExtension`, and what the schema forbids without any entry.
    pub(crate) fn write(self, change: &Change) -> Result<(ExternalOperation, Option<Duration>), OperationError> {
        refuse_controls(self.origin)?;
        if let Change::Modify(_, modifications) = change
            && modifications
                .iter()
                .any(|change| change.kind == ModificationKind::Increment)
        {
            return Err(ExternalRefusal::Increment.into());
        }
        let asked = self.tree_change(change, false)?;
        self.require_change(&asked)?;
        Ok((ExternalOperation::Write(asked), self.time(change.dn())))
    }

    /// A write as it is asked for; `is_relaxed`: with the relax rules control.
    ///
    /// # Errors
    /// What the schema forbids without any entry.
    pub(super) fn tree_change(self, change: &Change, is_relaxed: bool) -> Result<TreeChange, OperationError> {
        let schema = &*self.configuration.schema;
        Ok(match change {
            Change::Add(dn, modifications) => {
                let mut modifications = modifications.clone();
                modification::check_permitted(schema, &mut modifications, is_relaxed)?;
                new_entry::refuse_repetition(schema, &modifications)?;
                TreeChange::Add(new_entry::entry_of(dn.clone(), &modifications))
            }
            Change::Delete(dn) => TreeChange::Delete { dn: dn.clone() },
            Change::Modify(dn, modifications) => {
                let mut modifications = modifications.clone();
                modification::check_permitted(schema, &mut modifications, is_relaxed)?;
                TreeChange::Modify {
                    dn: dn.clone(),
                    modifications,
                }
            }
            Change::ModifyDn(rename) => {
                modify_dn::check_context(self.configuration, self.context, rename)?;
                rename.in_memory(rename.dn().clone())
            }
        })
    }

    pub(super) fn require_change(self, change: &TreeChange) -> Result<(), OperationError> {
        let (dn, needed) = match change {
            TreeChange::Add(entry) => return self.require(entry, Privileges::ADD),
            TreeChange::Delete { dn } => (dn, Privileges::DELETE),
            TreeChange::ModifyDn {
                dn,
                new_superior: Some(_),
                ..
            } => (dn, Privileges::DELETE),
            TreeChange::Modify { dn, .. } | TreeChange::ModifyDn { dn, .. } => {
                (dn, Privileges::ADD.with(Privileges::DELETE))
            }
        };
        self.require(&Entry::new(dn.clone()), needed)
    }

    fn require(self, entry: &Entry, privileges: Privileges) -> Result<(), OperationError> {
        let requester = Requester::of(self.configuration, self.context, self.origin);
        if WriteCheck::on_entry(requester, entry).permits(Target::Entry, privileges) {
            return Ok(());
        }
        Err(ExternalRefusal::NoAccess.into())
    }

    fn ask(
        self,
        directory: &Arc<Directory>,
        database: &dyn ExternalDatabase,
        operation: Operation,
        dn: &Dn,
        asked: ExternalOperation,
    ) -> Result<Begun, OperationError> {
        submit(directory, self.origin, database, operation, None, asked, self.time(dn))
    }

    /// As long as a search may take: no operation waits for ever.
    pub(super) fn time(self, dn: &Dn) -> Option<Duration> {
        let limits = self.limits(dn);
        search::time_limit(limits, 0).map(|seconds| Duration::from_secs(u64::from(seconds)))
    }

    pub(super) fn limits(&self, dn: &Dn) -> Option<&SearchLimits> {
        let governing = self.configuration.governing(self.context);
        search::limits_of(self.configuration, governing, &self.origin.identity, dn)
    }
}

pub(super) fn asked_extended(oid: &str, value: Option<&[u8]>) -> ExternalOperation {
    ExternalOperation::Extended {
        oid: oid.to_owned(),
        value: value.map(<[u8]>::to_vec),
    }
}
