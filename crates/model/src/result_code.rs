//! Result codes of LDAP results (RFC 4511 §4.1.9, the registries of RFC 3909, RFC 4370, RFC 4528 and RFC 4533,
//! draft-ietf-ldapext-ldapv3-vlv).

/// The `resultCode` of an `LDAPResult`.
///
/// An open number: unknown codes of a peer survive decoding. The named constants are the codes in use here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResultCode(pub u32);

macro_rules! codes {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl ResultCode {
            $(#[doc = concat!("`", $name, "` (", stringify!($number), ").")]
            pub const $constant: Self = Self($number);)*

            /// The name in RFC 4511 and its companions, or `None` for an unregistered number.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    SUCCESS = 0, "success";
    OPERATIONS_ERROR = 1, "operationsError";
    PROTOCOL_ERROR = 2, "protocolError";
    TIME_LIMIT_EXCEEDED = 3, "timeLimitExceeded";
    SIZE_LIMIT_EXCEEDED = 4, "sizeLimitExceeded";
    COMPARE_FALSE = 5, "compareFalse";
    COMPARE_TRUE = 6, "compareTrue";
    AUTH_METHOD_NOT_SUPPORTED = 7, "authMethodNotSupported";
    STRONGER_AUTH_REQUIRED = 8, "strongerAuthRequired";
    REFERRAL = 10, "referral";
    ADMIN_LIMIT_EXCEEDED = 11, "adminLimitExceeded";
    UNAVAILABLE_CRITICAL_EXTENSION = 12, "unavailableCriticalExtension";
    CONFIDENTIALITY_REQUIRED = 13, "confidentialityRequired";
    SASL_BIND_IN_PROGRESS = 14, "saslBindInProgress";
    NO_SUCH_ATTRIBUTE = 16, "noSuchAttribute";
    UNDEFINED_ATTRIBUTE_TYPE = 17, "undefinedAttributeType";
    INAPPROPRIATE_MATCHING = 18, "inappropriateMatching";
    CONSTRAINT_VIOLATION = 19, "constraintViolation";
    ATTRIBUTE_OR_VALUE_EXISTS = 20, "attributeOrValueExists";
    INVALID_ATTRIBUTE_SYNTAX = 21, "invalidAttributeSyntax";
    NO_SUCH_OBJECT = 32, "noSuchObject";
    ALIAS_PROBLEM = 33, "aliasProblem";
    INVALID_DN_SYNTAX = 34, "invalidDNSyntax";
    ALIAS_DEREFERENCING_PROBLEM = 36, "aliasDereferencingProblem";
    INAPPROPRIATE_AUTHENTICATION = 48, "inappropriateAuthentication";
    INVALID_CREDENTIALS = 49, "invalidCredentials";
    INSUFFICIENT_ACCESS_RIGHTS = 50, "insufficientAccessRights";
    BUSY = 51, "busy";
    UNAVAILABLE = 52, "unavailable";
    UNWILLING_TO_PERFORM = 53, "unwillingToPerform";
    LOOP_DETECT = 54, "loopDetect";
    SORT_CONTROL_MISSING = 60, "sortControlMissing";
    OFFSET_RANGE_ERROR = 61, "offsetRangeError";
    NAMING_VIOLATION = 64, "namingViolation";
    OBJECT_CLASS_VIOLATION = 65, "objectClassViolation";
    NOT_ALLOWED_ON_NON_LEAF = 66, "notAllowedOnNonLeaf";
    NOT_ALLOWED_ON_RDN = 67, "notAllowedOnRDN";
    ENTRY_ALREADY_EXISTS = 68, "entryAlreadyExists";
    OBJECT_CLASS_MODS_PROHIBITED = 69, "objectClassModsProhibited";
    AFFECTS_MULTIPLE_DSAS = 71, "affectsMultipleDSAs";
    VIRTUAL_LIST_VIEW_ERROR = 76, "virtualListViewError";
    OTHER = 80, "other";
    CANCELED = 118, "canceled";
    NO_SUCH_OPERATION = 119, "noSuchOperation";
    TOO_LATE = 120, "tooLate";
    CANNOT_CANCEL = 121, "cannotCancel";
    ASSERTION_FAILED = 122, "assertionFailed";
    AUTHORIZATION_DENIED = 123, "authorizationDenied";
    SYNC_REFRESH_REQUIRED = 4096, "e-syncRefreshRequired";
    NO_OPERATION = 16654, "noOperation";
    TRANSACTION_IDENTIFIER_INVALID = 16673, "transactionIdentifierInvalid";
}

impl std::fmt::Debug for ResultCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.name().unwrap_or("unregistered"), self.0)
    }
}
