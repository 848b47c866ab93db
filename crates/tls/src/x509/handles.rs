//! Objects of libcrypto that are freed with their owner. All calls that make, fill or free one are here.

use std::ptr::{self, NonNull};

use aws_lc_sys as sys;

/// An object that is freed when it is dropped.
pub(super) struct Owned<T: Kind>(NonNull<T>);

/// A type of libcrypto, with the call that frees it.
pub(super) trait Kind {
    const FREE: unsafe extern "C" fn(*mut Self);
}

macro_rules! kinds {
    ($($kind:ident $free:ident,)*) => {
        $(impl Kind for sys::$kind {
            const FREE: unsafe extern "C" fn(*mut Self) = sys::$free;
        })*
    };
}

kinds! {
    X509 X509_free,
    X509_CRL X509_CRL_free,
    X509_STORE X509_STORE_free,
    X509_STORE_CTX X509_STORE_CTX_free,
    EVP_PKEY EVP_PKEY_free,
    EVP_MD_CTX EVP_MD_CTX_free,
}

// Certificates, lists, stores and keys are shared by the threads of libcrypto's users: their caches and lists have
// locks, and nothing here changes one after it was filled. (Contexts stay in the function that makes them.)
#[allow(
    unsafe_code,
    reason = "libcrypto's objects are shared between threads by its own rules"
)]
// SAFETY: see above.
unsafe impl<T: Kind> Send for Owned<T> {}
#[allow(
    unsafe_code,
    reason = "libcrypto's objects are shared between threads by its own rules"
)]
// SAFETY: see above.
unsafe impl<T: Kind> Sync for Owned<T> {}

impl<T: Kind> Owned<T> {
    /// Takes over what a call has made; `None` if it has made nothing.
    #[allow(unsafe_code, reason = "the owner of a pointer")]
    pub(super) fn take(made: *mut T) -> Option<Self> {
        let made = NonNull::new(made).map(Self);
        if made.is_none() {
            forget_errors();
        }
        made
    }

    pub(super) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Kind> Drop for Owned<T> {
    #[allow(unsafe_code, reason = "the owner of a pointer")]
    fn drop(&mut self) {
        // SAFETY: the object was made by libcrypto, and this is its only owner.
        unsafe { T::FREE(self.0.as_ptr()) }
    }
}

/// Empties this thread's queue of errors, which failed calls add to.
#[allow(unsafe_code, reason = "a call of libcrypto")]
pub(super) fn forget_errors() {
    // SAFETY: it takes nothing.
    unsafe { sys::ERR_clear_error() }
}

/// Reads an object from DER. Octets behind it are left out: OpenSSL's trusted certificates have settings there.
#[allow(unsafe_code, reason = "a call of libcrypto")]
pub(super) fn from_der<T: Kind>(
    der: &[u8],
    read: unsafe extern "C" fn(*mut *mut T, *mut *const u8, std::ffi::c_long) -> *mut T,
) -> Option<Owned<T>> {
    let length = der.len().try_into().ok()?;
    let mut start = der.as_ptr();
    // SAFETY: `start` points to `length` octets, which outlive the call. It makes a new object, or none.
    Owned::take(unsafe { read(ptr::null_mut(), &raw mut start, length) })
}

/// A list of certificates that belong to others.
pub(super) struct Stack<'a> {
    stack: NonNull<sys::OPENSSL_STACK>,
    certificates: std::marker::PhantomData<&'a Owned<sys::X509>>,
}

impl<'a> Stack<'a> {
    /// `None`: there is no memory.
    #[allow(unsafe_code, reason = "calls of libcrypto")]
    pub(super) fn of(certificates: &'a [Owned<sys::X509>]) -> Option<Self> {
        // SAFETY: it makes a new list.
        let stack = NonNull::new(unsafe { sys::OPENSSL_sk_new_null() })?;
        let all = Self {
            stack,
            certificates: std::marker::PhantomData,
        };
        for certificate in certificates {
            // SAFETY: the list is ours; it keeps the pointer, and the certificates outlive it.
            let length = unsafe { sys::OPENSSL_sk_push(stack.as_ptr(), certificate.as_ptr().cast()) };
            if length == 0 {
                return None;
            }
        }
        Some(all)
    }

    pub(super) fn as_ptr(&self) -> *mut sys::stack_st_X509 {
        self.stack.as_ptr().cast()
    }
}

impl Drop for Stack<'_> {
    #[allow(unsafe_code, reason = "the owner of a pointer")]
    fn drop(&mut self) {
        // SAFETY: the list is ours. Its members are not freed with it.
        unsafe { sys::OPENSSL_sk_free(self.stack.as_ptr()) }
    }
}
