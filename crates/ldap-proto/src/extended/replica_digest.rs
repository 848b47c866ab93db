//! Replica digest, an operation of this project: sums over the entries of a database, by which replicas are compared.

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::Fault;

/// OID of the request. (What ended in 1 had sums without places.)
pub const OID: &str = "2.25.1246756151.3.2";

/// `SEQUENCE { base OCTET STRING }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaDigestRequest<'a> {
    /// A naming context.
    pub base: &'a [u8],
}

impl<'a> ReplicaDigestRequest<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, Fault> {
        let value = value.ok_or_else(|| Fault::protocol("no request data field"))?;
        Self::read(value).map_err(|_| Fault::protocol("data decoding error"))
    }

    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let base = content.octet_string()?;
        content.finish()?;
        Ok(Self { base })
    }

    /// Appends the value of a request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| writer.octet_string(self.base));
    }
}

/// `SEQUENCE { sequence OCTET STRING (SIZE(8)), entries OCTET STRING (SIZE(8)), csns OCTET STRING, sums OCTET STRING }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaDigest<'a> {
    /// Number of the last change, in the server's own counting.
    pub sequence: u64,
    /// Number of entries.
    pub entries: u64,
    /// The context vector: 16 octets for each CSN.
    pub csns: &'a [u8],
    /// 16 octets for each of 4,096 buckets.
    pub sums: &'a [u8],
}

impl<'a> ReplicaDigest<'a> {
    /// Decodes the value of a response.
    ///
    /// # Errors
    /// `protocolError`: malformed, or with sums of another number.
    pub fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let digest = Self::read(value).map_err(|_| Fault::protocol("data decoding error"))?;
        let is_whole = digest.sums.len() == SUMS && digest.csns.len().is_multiple_of(16);
        if is_whole {
            Ok(digest)
        } else {
            Err(Fault::protocol("a digest of another length"))
        }
    }

    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let mut number = || -> Result<u64, BerError> {
            let octets = content.octet_string()?;
            Ok(octets
                .iter()
                .take(8)
                .fold(0, |number, octet| number << 8 | u64::from(*octet)))
        };
        let (sequence, entries) = (number()?, number()?);
        let digest = Self {
            sequence,
            entries,
            csns: content.octet_string()?,
            sums: content.octet_string()?,
        };
        content.finish()?;
        Ok(digest)
    }

    /// Appends the value of a response.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(&self.sequence.to_be_bytes());
            writer.octet_string(&self.entries.to_be_bytes());
            writer.octet_string(self.csns);
            writer.octet_string(self.sums);
        });
    }
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::ReplicaDigest,
    oid: OID,
    name: "Replica digest",
    // The root DSE lists the same as slapd's.
    advertised: false,
    writes: false,
};

/// Octets of all sums.
const SUMS: usize = 4_096 * 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_responses_come_back_and_what_is_malformed_is_refused() {
        let mut value = Vec::new();
        let request = ReplicaDigestRequest { base: b"dc=example" };
        request.encode(&mut value);
        assert_eq!(ReplicaDigestRequest::decode(Some(&value)), Ok(request));
        assert!(ReplicaDigestRequest::decode(None).is_err());
        for length in 0..value.len() {
            assert!(ReplicaDigestRequest::decode(value.get(..length)).is_err(), "{length}");
        }
        let sums = vec![7; SUMS];
        let digest = ReplicaDigest {
            sequence: 1 << 40,
            entries: 3,
            csns: &[1; 32],
            sums: &sums,
        };
        let mut value = Vec::new();
        digest.encode(&mut value);
        assert_eq!(ReplicaDigest::decode(&value), Ok(digest));
        for length in [0, 1, 20, value.len() - 1] {
            assert!(ReplicaDigest::decode(value.get(..length).unwrap()).is_err(), "{length}");
        }
        let mut value = Vec::new();
        ReplicaDigest {
            sums: &sums[..SUMS - 16],
            ..digest
        }
        .encode(&mut value);
        assert!(ReplicaDigest::decode(&value).is_err());
    }
}
