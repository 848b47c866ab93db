//! The registry of password storage schemes.

use ironbark_sasl::scram::Hash;

use super::{apr1, argon2, crypt, digest, error::HashError, netscape, nt, pbkdf2, scram, totp};

/// A password storage scheme that can be verified; [`Scheme::hash`] says which schemes also make new values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// `{CLEARTEXT}`.
    Cleartext,
    /// `{MD5}`, `{SMD5}`, `{SHA}`, `{SSHA}` and the SHA-2 family.
    Digest(digest::Algorithm, digest::Salting),
    /// `{PBKDF2}`, `{PBKDF2-SHA1}`, `{PBKDF2-SHA256}`, `{PBKDF2-SHA512}`.
    Pbkdf2(pbkdf2::Prf),
    /// `{ARGON2}`.
    Argon2,
    /// `{CRYPT}`: crypt(3) strings.
    Crypt,
    /// `{SCRAM-SHA-1}`, `{SCRAM-SHA-256}`, `{SCRAM-SHA-512}`.
    Scram(Hash),
    /// `{APR1}` and `{BSDMD5}`.
    Apr1(apr1::Variant),
    /// `{NS-MTA-MD5}`: of Netscape's mail server.
    Netscape,
    /// `{NT}`: the hash of Windows.
    Nt,
    /// `{TOTP1}`, `{TOTP256}`, `{TOTP512}`, and the same with `ANDPW`: keys of one-time passwords.
    Totp(totp::Function, totp::Parts),
}

/// How long a verification may take: decides where it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Microseconds: verified on the reactor.
    Cheap,
    /// Milliseconds or more: verified on the hashing pool.
    Slow,
}

/// Names as slapd and its password modules write them. The first row of a scheme is the one printed.
const NAMES: &[(&str, Scheme)] = {
    use digest::{Algorithm as A, Salting as S};
    &[
        ("SSHA", Scheme::Digest(A::Sha1, S::Salted)),
        ("SHA", Scheme::Digest(A::Sha1, S::Plain)),
        ("SMD5", Scheme::Digest(A::Md5, S::Salted)),
        ("MD5", Scheme::Digest(A::Md5, S::Plain)),
        ("SSHA256", Scheme::Digest(A::Sha256, S::Salted)),
        ("SHA256", Scheme::Digest(A::Sha256, S::Plain)),
        ("SSHA384", Scheme::Digest(A::Sha384, S::Salted)),
        ("SHA384", Scheme::Digest(A::Sha384, S::Plain)),
        ("SSHA512", Scheme::Digest(A::Sha512, S::Salted)),
        ("SHA512", Scheme::Digest(A::Sha512, S::Plain)),
        ("PBKDF2", Scheme::Pbkdf2(pbkdf2::Prf::Sha1)),
        ("PBKDF2-SHA1", Scheme::Pbkdf2(pbkdf2::Prf::Sha1)),
        ("PBKDF2-SHA256", Scheme::Pbkdf2(pbkdf2::Prf::Sha256)),
        ("PBKDF2-SHA512", Scheme::Pbkdf2(pbkdf2::Prf::Sha512)),
        ("ARGON2", Scheme::Argon2),
        ("CRYPT", Scheme::Crypt),
        ("SCRAM-SHA-1", Scheme::Scram(Hash::Sha1)),
        ("SCRAM-SHA-256", Scheme::Scram(Hash::Sha256)),
        ("SCRAM-SHA-512", Scheme::Scram(Hash::Sha512)),
        ("APR1", Scheme::Apr1(apr1::Variant::Apache)),
        ("BSDMD5", Scheme::Apr1(apr1::Variant::Bsd)),
        ("NS-MTA-MD5", Scheme::Netscape),
        ("TOTP1", Scheme::Totp(totp::Function::Sha1, totp::Parts::Code)),
        ("TOTP256", Scheme::Totp(totp::Function::Sha256, totp::Parts::Code)),
        ("TOTP512", Scheme::Totp(totp::Function::Sha512, totp::Parts::Code)),
        (
            "TOTP1ANDPW",
            Scheme::Totp(totp::Function::Sha1, totp::Parts::PasswordAndCode),
        ),
        (
            "TOTP256ANDPW",
            Scheme::Totp(totp::Function::Sha256, totp::Parts::PasswordAndCode),
        ),
        (
            "TOTP512ANDPW",
            Scheme::Totp(totp::Function::Sha512, totp::Parts::PasswordAndCode),
        ),
        ("CLEARTEXT", Scheme::Cleartext),
    ]
};

/// Names in data that come from other servers: 389 Directory Server, OpenDJ, Samba and Active Directory.
const FOREIGN: &[(&str, Scheme)] = {
    use pbkdf2::Prf;
    &[
        ("PBKDF2_SHA256", Scheme::Pbkdf2(Prf::Sha256)),
        ("PBKDF2-HMAC-SHA1", Scheme::Pbkdf2(Prf::Sha1)),
        ("PBKDF2-HMAC-SHA256", Scheme::Pbkdf2(Prf::Sha256)),
        ("PBKDF2-HMAC-SHA512", Scheme::Pbkdf2(Prf::Sha512)),
        ("BCRYPT", Scheme::Crypt),
        ("CRYPT-MD5", Scheme::Crypt),
        ("CRYPT-SHA256", Scheme::Crypt),
        ("CRYPT-SHA512", Scheme::Crypt),
        ("CLEAR", Scheme::Cleartext),
        ("NT", Scheme::Nt),
        ("NTHASH", Scheme::Nt),
    ]
};

fn find(rows: &[(&str, Scheme)], name: &[u8]) -> Option<Scheme> {
    rows.iter()
        .find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name))
        .map(|(_, scheme)| *scheme)
}

impl Scheme {
    /// slapd's default `password-hash`.
    pub const DEFAULT: Self = Self::Digest(digest::Algorithm::Sha1, digest::Salting::Salted);

    /// A scheme of slapd by name, any case, without braces.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        find(NAMES, name)
    }

    /// The scheme of a stored value by name, slapd's or another server's, any case, without braces.
    pub(super) fn of_stored(name: &[u8]) -> Option<Self> {
        find(NAMES, name).or_else(|| find(FOREIGN, name))
    }

    /// The name, without braces.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, scheme)| *scheme == self)
            .map_or("CLEARTEXT", |(name, _)| name)
    }

    pub(crate) fn cost(self) -> Cost {
        match self {
            Self::Cleartext | Self::Digest(..) | Self::Netscape | Self::Nt | Self::Totp(..) => Cost::Cheap,
            Self::Pbkdf2(_) | Self::Argon2 | Self::Crypt | Self::Scram(_) | Self::Apr1(_) => Cost::Slow,
        }
    }

    pub(super) fn verify(self, hash: &[u8], presented: &[u8]) -> bool {
        match self {
            Self::Cleartext => subtle::ConstantTimeEq::ct_eq(hash, presented).into(),
            Self::Digest(algorithm, salting) => digest::verify(algorithm, salting, hash, presented),
            Self::Pbkdf2(prf) => pbkdf2::verify(prf, hash, presented),
            Self::Argon2 => argon2::verify(hash, presented),
            Self::Crypt => crypt::verify(hash, presented),
            Self::Scram(function) => scram::verify(function, hash, presented),
            Self::Apr1(variant) => apr1::verify(variant, hash, presented),
            Self::Netscape => netscape::verify(hash, presented),
            Self::Nt => nt::verify(hash, presented),
            // Only the writer can tell whether a code was used.
            Self::Totp(..) => false,
        }
    }

    pub(super) fn hash(self, presented: &[u8], salt: &mut dyn FnMut(&mut [u8])) -> Result<Vec<u8>, HashError> {
        let mut out = format!("{{{}}}", self.name()).into_bytes();
        match self {
            // As in slapd: `password-hash {CLEARTEXT}` stores the password in the clear.
            Self::Cleartext => return Ok(presented.to_vec()),
            Self::Digest(algorithm, salting) => digest::hash(algorithm, salting, presented, salt, &mut out),
            Self::Pbkdf2(prf) => pbkdf2::hash(prf, presented, salt, &mut out),
            Self::Argon2 => argon2::hash(presented, salt, &mut out)?,
            Self::Crypt => crypt::hash(presented, salt, &mut out)?,
            Self::Scram(function) => scram::hash(function, presented, salt, &mut out),
            Self::Apr1(variant) => apr1::hash(variant, presented, salt, &mut out).ok_or(HashError::Failed)?,
            Self::Totp(_, parts) => totp::hash(parts, presented, salt, &mut out)?,
            Self::Netscape | Self::Nt => return Err(HashError::VerifyOnly),
        }
        Ok(out)
    }
}
