//! The channel bindings that a mechanism can name, with the data of each.

/// A type of channel binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindingType {
    /// RFC 5929 §4: the hash of the server's certificate.
    ServerEndPoint,
    /// RFC 9266: exported keying material of the TLS connection.
    Exporter,
    /// libldap's name for all its channel bindings. Their data begin with the name of the kind, and the kind is
    /// `tls-server-end-point`.
    OpenLdap,
}

impl BindingType {
    /// The type with this name, whose case matters.
    pub fn find(name: &str) -> Option<Self> {
        [Self::ServerEndPoint, Self::Exporter, Self::OpenLdap]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// The name in the messages of a mechanism.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerEndPoint => SERVER_END_POINT,
            Self::Exporter => "tls-exporter",
            Self::OpenLdap => "ldap",
        }
    }

    /// The data, from the two values that a TLS connection may have. `None`: this connection lacks the value.
    pub fn data(self, endpoint: Option<&[u8]>, exporter: Option<&[u8]>) -> Option<Vec<u8>> {
        match self {
            Self::ServerEndPoint => endpoint.map(<[u8]>::to_vec),
            Self::Exporter => exporter.map(<[u8]>::to_vec),
            Self::OpenLdap => endpoint.map(prefixed_endpoint),
        }
    }
}

/// The hash of a certificate behind the name of its type, as libldap and the application data of GSSAPI have it.
pub fn prefixed_endpoint(hash: &[u8]) -> Vec<u8> {
    [SERVER_END_POINT.as_bytes(), b":", hash].concat()
}

const SERVER_END_POINT: &str = "tls-server-end-point";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_takes_its_own_value() {
        let of = |name, endpoint, exporter| BindingType::find(name).and_then(|kind| kind.data(endpoint, exporter));
        let (hash, key) = (Some(&b"hash"[..]), Some(&b"key"[..]));
        assert_eq!(of("tls-server-end-point", hash, key).unwrap(), b"hash");
        assert_eq!(of("tls-exporter", hash, key).unwrap(), b"key");
        assert_eq!(of("ldap", hash, key).unwrap(), b"tls-server-end-point:hash");
        assert_eq!(of("tls-exporter", hash, None), None);
        assert_eq!(of("ldap", None, key), None);
        assert_eq!(of("tls-unique", hash, key), None);
        assert_eq!(of("LDAP", hash, key), None);
    }
}
