//! Forms of the values of cn=config: syntax, matching rules, number and order.

/// The form of an attribute's values in cn=config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Texts without order among them.
    Texts,
    /// One text.
    Text,
    /// Texts in an order that `{n}` shows.
    Ordered,
    /// Schema definitions, ordered.
    Definitions,
    /// Names of attributes.
    Attributes,
    /// Texts whose case matters.
    ExactTexts,
    /// Keywords and LDAP URLs.
    Uris,
    /// A single one, for example a file name.
    ExactText,
    /// TRUE or FALSE.
    Boolean,
    /// The same without a matching rule.
    PlainBoolean,
    /// A number.
    Integer,
    /// The same without a matching rule.
    PlainInteger,
    /// Names.
    Names,
    /// One name.
    Name,
    /// Octets: a password.
    Octets,
    /// The same without a matching rule.
    PlainOctets,
    /// A certificate.
    Certificate,
    /// A private key.
    PrivateKey,
    /// URLs.
    Urls,
    /// One URL.
    Url,
    /// URLs whose case does not matter.
    UrlsAnyCase,
    /// The same, ordered.
    OrderedUrls,
    /// One text without a matching rule.
    PlainText,
    /// Lines of a file, ordered.
    Lines,
    /// The RDN of a backend; siblings are ordered.
    Backend,
    /// The RDN of a database.
    Database,
    /// The RDN of an overlay.
    Overlay,
}

impl Form {
    /// The part of a definition behind the names (RFC 4512 §4.1.2).
    pub(crate) const fn definition(self) -> &'static str {
        match self {
            Self::Texts => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15",
            Self::Text => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Ordered => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORDERED 'VALUES'",
            Self::Definitions => {
                "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORDERED 'VALUES'"
            }
            Self::Attributes => {
                "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::ExactTexts => "EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15",
            Self::Uris => {
                "EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::ExactText => "EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Boolean => "EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE",
            Self::PlainBoolean => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE",
            Self::Integer => "EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE",
            Self::PlainInteger => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE",
            Self::Names => "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12",
            Self::Name => "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 SINGLE-VALUE",
            Self::Octets => "EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE",
            Self::PlainOctets => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE",
            Self::Certificate => "EQUALITY certificateExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.8 SINGLE-VALUE",
            Self::PrivateKey => "EQUALITY privateKeyMatch SYNTAX 1.2.840.113549.1.8.1.1 SINGLE-VALUE",
            Self::Urls => "SUP labeledURI",
            Self::Url => "SUP labeledURI SINGLE-VALUE",
            Self::UrlsAnyCase => "SUP labeledURI EQUALITY caseIgnoreMatch",
            Self::OrderedUrls => "SUP labeledURI EQUALITY caseIgnoreMatch X-ORDERED 'VALUES'",
            Self::PlainText => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Lines => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 X-ORDERED 'VALUES'",
            Self::Backend => {
                "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE X-ORDERED 'SIBLINGS'"
            }
            Self::Database => "SUP olcBackend SINGLE-VALUE X-ORDERED 'SIBLINGS'",
            Self::Overlay => "SUP olcDatabase SINGLE-VALUE X-ORDERED 'SIBLINGS'",
        }
    }

    /// Whether values are not text: they are sent with `;binary`, and a settings row writes them in base64.
    pub(crate) const fn is_binary(self) -> bool {
        matches!(self, Self::Certificate | Self::PrivateKey)
    }

    /// Whether values carry `{n}`.
    pub(crate) const fn is_ordered(self) -> bool {
        matches!(
            self,
            Self::Ordered | Self::Definitions | Self::OrderedUrls | Self::Lines
        )
    }
}
