//! Names of hosts in a certificate's subjectAltName (RFC 6125).

use aws_lc_sys as sys;
use ironbark_ber::{Class, Reader};
use rustls::pki_types::{IpAddr, ServerName};

use super::{Certificate, handles::forget_errors};

/// Whether the subjectAltName has this name or address; `*.` stands for one label. The subject does not count.
pub fn is_for(certificate: &[u8], name: &ServerName<'_>) -> bool {
    Certificate::parse(certificate).is_some_and(|certificate| has(&certificate, name))
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn has(certificate: &Certificate, name: &ServerName<'_>) -> bool {
    let flags = sys::X509_CHECK_FLAG_NEVER_CHECK_SUBJECT.unsigned_abs();
    let is_in = match name {
        ServerName::DnsName(host) => {
            let host = host.as_ref();
            let (start, length) = (host.as_ptr().cast(), host.len());
            // SAFETY: the text outlives the call. The name that was found is not asked for.
            unsafe { sys::X509_check_host(certificate.as_ptr(), start, length, flags, std::ptr::null_mut()) }
        }
        ServerName::IpAddress(address) => {
            let octets: &[u8] = match address {
                IpAddr::V4(address) => address.as_ref(),
                IpAddr::V6(address) => address.as_ref(),
            };
            // SAFETY: the octets outlive the call.
            unsafe { sys::X509_check_ip(certificate.as_ptr(), octets.as_ptr(), octets.len(), flags) }
        }
        _ => 0,
    };
    forget_errors();
    is_in == 1
}

/// The names and addresses of hosts in the subjectAltName; `None`: it has none, or cannot be read.
pub fn alternative_names(certificate: &[u8]) -> Option<Vec<String>> {
    let certificate = Certificate::parse(certificate)?;
    let mut names = Reader::new(extension(&certificate)?).sequence().ok()?;
    let mut all = Vec::new();
    while let Ok(name) = names.read_any() {
        match (name.class, name.number, name.content) {
            (Class::Context, DNS_NAME, host) => all.push(String::from_utf8_lossy(host).into_owned()),
            (Class::Context, IP_ADDRESS, octets) => all.extend(address(octets)),
            _ => {}
        }
    }
    Some(all)
}

/// Context tags of GeneralName (RFC 5280 §4.2.1.6).
const DNS_NAME: u32 = 2;
const IP_ADDRESS: u32 = 7;

fn address(octets: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(octets).map(core::net::IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(octets).map(core::net::IpAddr::from));
    address.ok().map(|address| address.to_string())
}

/// The value of the extension subjectAltName.
#[allow(unsafe_code, reason = "calls of libcrypto")]
fn extension(certificate: &Certificate) -> Option<&[u8]> {
    // SAFETY: the extension and its value belong to the certificate.
    unsafe {
        let at = sys::X509_get_ext_by_NID(certificate.as_ptr(), sys::NID_subject_alt_name, -1);
        let extension = sys::X509_get_ext(certificate.as_ptr(), at);
        if at < 0 || extension.is_null() {
            return None;
        }
        let value = sys::X509_EXTENSION_get_data(extension);
        let start = sys::ASN1_STRING_get0_data(value);
        let length = usize::try_from(sys::ASN1_STRING_length(value)).ok()?;
        // An empty one need not have an address.
        (!start.is_null()).then(|| std::slice::from_raw_parts(start, length))
    }
}
