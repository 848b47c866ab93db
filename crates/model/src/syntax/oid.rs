//! OIDs of the syntaxes that rules and code refer to.

macro_rules! rfc4517 {
    ($($name:ident = $arc:literal, $what:literal;)*) => {
        $(#[doc = $what]
        pub const $name: &str = concat!("1.3.6.1.4.1.1466.115.121.1.", $arc);)*
    };
}
rfc4517! {
    ATTRIBUTE_TYPE_DESCRIPTION = "3", "Attribute Type Description.";
    BIT_STRING = "6", "Bit String.";
    BOOLEAN = "7", "Boolean.";
    CERTIFICATE = "8", "Certificate.";
    CERTIFICATE_LIST = "9", "Certificate List.";
    COUNTRY_STRING = "11", "Country String.";
    DN = "12", "Distinguished Name.";
    DIRECTORY_STRING = "15", "Directory String.";
    DIT_CONTENT_RULE_DESCRIPTION = "16", "DIT Content Rule Description.";
    DIT_STRUCTURE_RULE_DESCRIPTION = "17", "DIT Structure Rule Description.";
    GENERALIZED_TIME = "24", "Generalized Time.";
    IA5_STRING = "26", "IA5 String.";
    INTEGER = "27", "Integer.";
    MATCHING_RULE_DESCRIPTION = "30", "Matching Rule Description.";
    MATCHING_RULE_USE_DESCRIPTION = "31", "Matching Rule Use Description.";
    NAME_AND_OPTIONAL_UID = "34", "Name And Optional UID.";
    NAME_FORM_DESCRIPTION = "35", "Name Form Description.";
    NUMERIC_STRING = "36", "Numeric String.";
    OBJECT_CLASS_DESCRIPTION = "37", "Object Class Description.";
    OID = "38", "OID.";
    OCTET_STRING = "40", "Octet String.";
    POSTAL_ADDRESS = "41", "Postal Address.";
    PROTOCOL_INFORMATION = "42", "Protocol Information.";
    PRESENTATION_ADDRESS = "43", "Presentation Address.";
    PRINTABLE_STRING = "44", "Printable String.";
    TELEPHONE_NUMBER = "50", "Telephone Number.";
    LDAP_SYNTAX_DESCRIPTION = "54", "LDAP Syntax Description.";
    SUBSTRING_ASSERTION = "58", "Substring Assertion.";
}
/// RDN.
pub const RDN: &str = "1.2.36.79672281.1.5.0";
/// UUID (RFC 4530).
pub const UUID: &str = "1.3.6.1.1.16.1";
/// Change sequence number.
pub const CSN: &str = "1.3.6.1.4.1.4203.666.11.2.1";
/// A control in slapd's access log.
pub const LOGGED_CONTROL: &str = "1.3.6.1.4.1.4203.666.11.5.3.1";
/// Server identifier of a CSN.
pub const CSN_SID: &str = "1.3.6.1.4.1.4203.666.11.2.4";
/// Authorization rule.
pub const AUTHZ: &str = "1.3.6.1.4.1.4203.666.2.7";
/// PKCS#8 private key.
pub const PRIVATE_KEY: &str = "1.2.840.113549.1.8.1.1";
/// X.509 attribute certificate.
pub const ATTRIBUTE_CERTIFICATE: &str = "1.3.6.1.4.1.4203.666.11.10.2.1";
/// Assertion about an attribute certificate.
pub const ATTRIBUTE_CERTIFICATE_EXACT_ASSERTION: &str = "1.3.6.1.4.1.4203.666.11.10.2.2";
/// Certificate Exact Assertion (RFC 4523).
pub const CERTIFICATE_EXACT_ASSERTION: &str = "1.3.6.1.1.15.1";
/// Certificate List Exact Assertion (RFC 4523).
pub const CERTIFICATE_LIST_EXACT_ASSERTION: &str = "1.3.6.1.1.15.5";
