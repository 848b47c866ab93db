//! Naming contexts: what is served below one suffix, and by what.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use ironbark_config::{DatabaseConfig, Operations, Require};
use ironbark_ldap_proto::extended::{Descriptor, ExtendedOperation};
use ironbark_model::{Dn, ResultCode};
use ironbark_store::{Database, StoreError};

use crate::{
    OperationError,
    ldif::LdifFiles,
    operation::{Origin, bind_policy},
    overlay::Pipeline,
    security::{self, Purpose},
    tree::VirtualContext,
    writer::WriterHandle,
};

/// A database of the configuration and what serves it.
#[derive(Debug)]
pub struct Context {
    /// Number in the configuration, as in `olcDatabase={1}mdb`: -1 is the frontend, 0 cn=config, the others come from 1 on in the order of
    /// the configuration, disabled ones included.
    pub number: i32,
    /// What a reactor's caches of it are known by: another one for another database, and under another schema. 0: it has none.
    pub(crate) cache: u64,
    /// Settings.
    pub settings: DatabaseConfig,
    /// Overlays of this database.
    pub overlays: Pipeline,
    /// What serves it.
    pub backend: Backend,
    /// Sorted searches under way, as far as `sssvlv-max` counts them.
    pub(crate) sorts: Arc<AtomicU32>,
}

/// What serves a naming context.
pub enum Backend {
    /// Entries in the store, and the writer that alone changes them.
    Stored {
        /// The database.
        database: Arc<Database>,
        /// Its writer's queue.
        writer: WriterHandle,
        /// Whether there are referral entries.
        referrals: ReferralPresence,
        /// Of an ldif database, whose working copy `database` is: the files that are written before it.
        files: Option<Arc<LdifFiles>>,
    },
    /// Entries in memory, and the queue of the thread that alone changes them.
    Virtual {
        /// The entries.
        tree: Arc<dyn VirtualContext>,
        /// The queue of the thread `config`.
        writer: WriterHandle,
    },
    /// Nothing, and the queue of the thread that says so to writes, in their order.
    Null {
        /// The queue of the thread `config`.
        writer: WriterHandle,
    },
    /// The root DSE and the subschema subentry, which the configuration holds.
    Frontend,
}

/// Remembers whether a database holds referral entries, until its next commit.
#[derive(Debug, Default)]
pub struct ReferralPresence {
    /// Commit version times two, plus one if there are some; 0 for not known.
    known: AtomicU64,
}

impl ReferralPresence {
    /// Whether there are referral entries.
    pub(crate) fn exist(&self, database: &Database) -> Result<bool, StoreError> {
        let version = database.commit_version() + 1;
        let known = self.known.load(Ordering::Relaxed);
        if known / 2 == version {
            return Ok(known % 2 == 1);
        }
        let found = database.snapshot()?.view().referral_count()? > 0;
        self.known.store(version * 2 + u64::from(found), Ordering::Relaxed);
        Ok(found)
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stored { .. } => "stored",
            Self::Virtual { .. } => "virtual",
            Self::Null { .. } => "null",
            Self::Frontend => "frontend",
        })
    }
}

impl Context {
    /// The store, if there is one.
    pub fn database(&self) -> Option<&Arc<Database>> {
        match &self.backend {
            Backend::Stored { database, .. } => Some(database),
            Backend::Virtual { .. } | Backend::Null { .. } | Backend::Frontend => None,
        }
    }

    /// Naming contexts, in order.
    pub fn suffixes(&self) -> &[Dn] {
        &self.settings.suffixes
    }

    /// Whether `dn` is the rootdn of this database.
    pub fn is_root(&self, dn: &Dn) -> bool {
        self.settings
            .root_dn
            .as_ref()
            .is_some_and(|root| root == dn && root.depth() > 0)
    }

    /// The suffix that holds `dn`: the longest one.
    pub fn suffix_of(&self, dn: &Dn) -> Option<&Dn> {
        self.suffixes()
            .iter()
            .filter(|suffix| dn.is_within(suffix))
            .max_by_key(|suffix| suffix.depth())
    }

    /// Whether `dn` is one of the suffixes.
    pub fn is_suffix(&self, dn: &Dn) -> bool {
        self.suffixes().contains(dn)
    }

    /// Refuses what `security`, `require`, `restrict` and `readonly` forbid, but for binds.
    ///
    /// # Errors
    /// `unwillingToPerform`; `confidentialityRequired`, `operationsError` or `strongerAuthRequired` for what the connection lacks.
    pub(crate) fn check_restrictions(&self, operation: Operations, origin: &Origin) -> Result<(), OperationError> {
        let is_update = Operations::WRITE.contains(operation);
        security::check(
            &self.settings.security,
            Purpose::Operation { is_update },
            origin.strength,
        )?;
        self.check_requirements(origin)?;
        self.check_operation(operation)?;
        // Of modifications the overlay sees which are of the password.
        if origin.is_restricted() && operation != Operations::MODIFY && self.overlays.judges_binds() {
            return Err(bind_policy::restricted(origin));
        }
        Ok(())
    }

    /// The same for a bind, which need not meet `require`.
    ///
    /// # Errors
    /// `confidentialityRequired`, `unwillingToPerform`.
    pub(crate) fn check_bind(&self, is_simple: bool, origin: &Origin) -> Result<(), OperationError> {
        let purpose = if is_simple {
            Purpose::SimpleBind
        } else {
            Purpose::SaslBind
        };
        security::check(&self.settings.security, purpose, origin.strength)?;
        self.check_operation(Operations::BIND)
    }

    fn check_operation(&self, operation: Operations) -> Result<(), OperationError> {
        let read_only = self.settings.read_only && Operations::WRITE.contains(operation);
        let restricted = self.settings.restrict.operations;
        if restricted.contains(operation) || read_only {
            // slapd names reading operations when they are what is refused.
            let text = if restricted == Operations::READ {
                "read operations restricted"
            } else {
                "operation restricted"
            };
            return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text));
        }
        Ok(())
    }

    /// The same for an extended operation; `readonly` is about those that change something.
    ///
    /// # Errors
    /// As of [`Context::check_restrictions`].
    pub(crate) fn check_extended(&self, row: &Descriptor, origin: &Origin) -> Result<(), OperationError> {
        let is_update = row.writes;
        // StartTLS is how a connection becomes stronger, and comes before everything else.
        if row.operation != ExtendedOperation::StartTls {
            security::check(
                &self.settings.security,
                Purpose::Operation { is_update },
                origin.strength,
            )?;
            self.check_requirements(origin)?;
        }
        self.check_operation(Operations::EXTENDED)?;
        let text = if self.settings.restrict.extended.iter().any(|oid| oid == row.oid) {
            "extended operation restricted"
        } else if self.settings.read_only && row.writes {
            "operation restricted"
        } else {
            return Ok(());
        };
        Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text))
    }
}

/// What `require` asks, in slapd's order, and how its lack is answered.
const REQUIREMENTS: [(Require, ResultCode, &str); 5] = [
    (
        Require::STRONG,
        ResultCode::STRONGER_AUTH_REQUIRED,
        "strong(er) authentication required",
    ),
    (
        Require::SASL,
        ResultCode::STRONGER_AUTH_REQUIRED,
        "SASL authentication required",
    ),
    (
        Require::AUTHENTICATION,
        ResultCode::UNWILLING_TO_PERFORM,
        "authentication required",
    ),
    (Require::BIND, ResultCode::OPERATIONS_ERROR, "BIND required"),
    (
        Require::LDAP_V3,
        ResultCode::OPERATIONS_ERROR,
        "operation restricted to LDAPv3 clients",
    ),
];

impl Context {
    /// Refuses what does not meet the conditions of `require`; binds and StartTLS need not.
    pub(crate) fn check_requirements(&self, origin: &Origin) -> Result<(), OperationError> {
        for (requirement, code, text) in REQUIREMENTS {
            let is_met = match requirement {
                // As in slapd, whoever has authenticated in any way has done so strongly as long as `security` asks for no more.
                Require::STRONG | Require::AUTHENTICATION => !origin.identity.is_anonymous(),
                Require::SASL => !origin.identity.is_anonymous() && origin.identity.mechanism.is_some(),
                Require::BIND => origin.bound_version.is_some(),
                Require::LDAP_V3 => origin.bound_version.is_none_or(|version| version >= 3),
                _ => false,
            };
            if self.settings.require.contains(requirement) && !is_met {
                return Err(OperationError::new(code, text));
            }
        }
        Ok(())
    }
}
