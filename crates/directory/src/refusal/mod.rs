//! Refusals: one enum per operation or room. Each is mapped to result code and diagnostic message in one exhaustive
//! match, which `refusals!` makes.
//!
//! Texts are slapd's where slapd has one; they hold no secrets. Errors that may name an entry (`noSuchObject` with its
//! matched DN, referrals) come from access control, by the constructors of `OperationError`.

/// Makes an enum of refusals and its conversion to `OperationError`. A row is a variant, its result code, and its
/// diagnostic message, which may use the fields of the variant. A row without a message has an empty one. The
/// crate that uses it depends on `ironbark_model`.
#[macro_export]
macro_rules! refusals {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident {
            $(
                $(#[$meaning:meta])*
                $variant:ident $({ $($field:ident: $type:ty),+ $(,)? })? => $code:ident $(, $text:expr)?;
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        $visibility enum $name {
            $($(#[$meaning])* $variant $({ $($field: $type),+ })?,)+
        }

        impl From<$name> for $crate::OperationError {
            fn from(refusal: $name) -> Self {
                match refusal {
                    $($name::$variant $({ $($field),+ })? => {
                        Self::new(ironbark_model::ResultCode::$code, $crate::refusals!(@message $($text)?))
                    })+
                }
            }
        }
    };
    (@message) => { "" };
    (@message $text:expr) => { $text };
}

mod add;
mod admission;
mod attribute;
mod bind;
mod cluster;
mod compare;
mod control;
mod delete;
mod entry;
mod extended;
mod external;
mod failure;
mod identity;
mod modify;
mod modify_dn;
mod password_modify;
mod queue;
mod replica;
mod request;
mod sasl;
mod search;
mod sync;
mod transaction;
mod verification;
mod write;

pub(crate) use {
    add::AddRefusal,
    admission::AdmissionRefusal,
    attribute::AttributeRefusal,
    bind::BindRefusal,
    cluster::ClusterRefusal,
    compare::CompareRefusal,
    control::ControlRefusal,
    delete::DeleteRefusal,
    entry::EntryRefusal,
    extended::ExtendedRefusal,
    external::ExternalRefusal,
    failure::Failure,
    identity::IdentityRefusal,
    modify::ModifyRefusal,
    modify_dn::ModifyDnRefusal,
    password_modify::PasswordModifyRefusal,
    queue::QueueRefusal,
    replica::ReplicaRefusal,
    request::RequestRefusal,
    sasl::SaslRefusal,
    search::{DereferenceRefusal, ListViewRefusal, PageRefusal, SearchRefusal, SortRefusal},
    sync::SyncRefusal,
    transaction::TransactionRefusal,
    verification::VerificationRefusal,
    write::WriteRefusal,
};

#[cfg(test)]
mod tests {
    use ironbark_model::ResultCode;

    use crate::OperationError;

    refusals! {
        /// Refusals of a test.
        enum TestRefusal {
            Silent => CANCELED;
            Fixed => BUSY, "too much work";
            Filled { attribute: String, place: usize } => CONSTRAINT_VIOLATION, format!("{attribute}: value #{place}");
        }
    }

    fn result(refusal: TestRefusal) -> (ResultCode, String) {
        let error = OperationError::from(refusal);
        assert_eq!(
            (&*error.matched_dn, error.referrals.len(), error.controls.len()),
            ("", 0, 0)
        );
        (error.result_code, error.diagnostic_message.into_owned())
    }

    #[test]
    fn a_row_gives_result_code_and_message() {
        assert_eq!(result(TestRefusal::Silent), (ResultCode::CANCELED, String::new()));
        assert_eq!(
            result(TestRefusal::Fixed),
            (ResultCode::BUSY, "too much work".to_owned())
        );
        let (attribute, place) = ("cn".to_owned(), 2);
        assert_eq!(
            result(TestRefusal::Filled { attribute, place }),
            (ResultCode::CONSTRAINT_VIOLATION, "cn: value #2".to_owned())
        );
    }

    #[test]
    fn the_question_mark_converts_a_refusal() {
        let refused = || -> Result<(), OperationError> { Err(TestRefusal::Fixed)? };
        assert_eq!(refused(), Err(OperationError::new(ResultCode::BUSY, "too much work")));
    }
}
