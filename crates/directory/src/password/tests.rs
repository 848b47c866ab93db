//! Known values, made with Debian's slappasswd and crypt(3).

use super::{HashError, Scheme, hash, split, verify};

#[test]
fn known_values_of_each_scheme_verify() {
    for stored in [
        "secret",
        "{CLEARTEXT}secret",
        "{MD5}Xr4ilOzQ4PCOq3aQ0qbuaQ==",
        "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
        "{sha}5en6G6MezRroT3XKqkdPOmY/BfQ=",
        "{SHA256}K7gNU3sdo+OL0wNhqoVWhr3g6s1xYv72ol/pe/Unols=",
        "{CRYPT}xOAFZqRz5RduI",
    ] {
        let password: &[u8] = if stored.contains("xOAF") {
            b"password"
        } else {
            b"secret"
        };
        assert!(verify(stored.as_bytes(), password), "{stored}");
        assert!(!verify(stored.as_bytes(), b"Secret"), "{stored}");
    }
}

#[test]
fn values_of_apache_bsd_and_netscape_verify() {
    const LONG: &str = "a rather long password, of 50 octets, with blanks!";
    for (stored, password) in [
        ("{APR1}iRf2XXhxEvhCbHdc7SzzfmFiY2RlZmdo", "secret"),
        ("{APR1}+SGAPnoccu4Rzqhia5U393h5eg==", LONG),
        ("{BSDMD5}udYG/iN2VDbsPgzU6McBcGFiY2RlZmdo", "secret"),
        ("{BSDMD5}GUuoWoxT5RGi65PD1JhJY3h5eg==", LONG),
        (
            "{NS-MTA-MD5}df52ce3881015fdeaff84ddfc1b25fd80123456789abcdef0123456789abcdef",
            "secret",
        ),
    ] {
        assert!(verify(stored.as_bytes(), password.as_bytes()), "{stored}");
        assert!(!verify(stored.as_bytes(), b"Secret"), "{stored}");
        assert!(
            !verify(&stored.as_bytes()[..stored.len() - 8], password.as_bytes()),
            "{stored}"
        );
    }
    let netscape = Scheme::from_name(b"NS-MTA-MD5").expect("known");
    assert_eq!(hash(netscape, b"secret", &mut |_| ()), Err(HashError::VerifyOnly));
}

#[test]
fn a_long_password_or_salt_costs_no_thousand_rounds() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let apr1 = Scheme::from_name(b"APR1").expect("known");
    assert_eq!(super::cost(b"{APR1}x"), super::Cost::Slow);
    assert!(hash(apr1, &[b'x'; 1024], &mut |_| ()).is_ok());
    assert_eq!(hash(apr1, &[b'x'; 1025], &mut |_| ()), Err(HashError::Failed));
    // 16 octets of digest, and a salt of 10 million octets: a thousand rounds of it would take a minute.
    let stored = format!("{{APR1}}{}", STANDARD.encode(vec![1; 10_000_000]));
    assert!(!verify(stored.as_bytes(), b"secret"));
}

#[test]
fn crypt_takes_no_password_that_is_longer_than_crypt_3_takes_or_has_a_nul() {
    let crypt = Scheme::from_name(b"CRYPT").expect("known");
    let longest = [b'x'; 511];
    let stored = hash(crypt, &longest, &mut |_| ()).expect("511 octets are taken");
    assert!(verify(&stored, &longest));
    // 10 million octets would take days: the time grows with the square of their number.
    let long = vec![b'x'; 10_000_000];
    for salt in [
        "ab",
        "_J9..abcd",
        "$1$abcdefgh",
        "$2b$05$abcdefghijklmnopqrstuu",
        "$5$a",
        "$6$a",
        "$sha1$9$abcdefgh",
    ] {
        assert!(super::hash_crypt(b"x", salt).is_ok(), "{salt}");
        for refused in [&long[..], &[b'x'; 512], b"x\0y"] {
            assert_eq!(super::hash_crypt(refused, salt), Err(HashError::Failed), "{salt}");
        }
    }
    assert_eq!(hash(crypt, &long, &mut |_| ()), Err(HashError::Failed));
    assert!(!verify(&stored, &long));
    let of_des = super::hash_crypt(b"x", "ab").expect("a salt of DES");
    assert!(verify(&of_des, b"x") && !verify(&of_des, b"x\0"));
}

#[test]
fn the_comparisons_of_a_request_cost_no_more_than_one_value_may() {
    let among = |stored: &str, most: u32| {
        let mut allowance = super::Allowance::default();
        (0..most)
            .take_while(|_| allowance.take(stored.as_bytes(), b"x"))
            .count()
    };
    for (costliest, some) in [
        (
            "{PBKDF2}10000000$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "{PBKDF2}100000$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ),
        (
            "{ARGON2}$argon2id$v=19$m=1048576,t=8,p=1$AAAAAAAAAAA$AAAAAA",
            "{ARGON2}$argon2id$v=19$m=65536,t=1,p=1$AAAAAAAAAAA$AAAAAA",
        ),
        ("{CRYPT}$6$rounds=5000000$a$x", "{CRYPT}$6$rounds=50000$a$x"),
        ("{CRYPT}$2b$17$x", "{CRYPT}$2b$10$x"),
        ("{CRYPT}$y$jFT$x$x", "{CRYPT}$y$j9T$x$x"),
        ("{CRYPT}$sha1$5000000$x$x", "{CRYPT}$sha1$24680$x$x"),
        (
            "{SCRAM-SHA-1}10000000:AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "{SCRAM-SHA-1}100000:AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        ),
    ] {
        assert_eq!(among(costliest, 1_000), 1, "{costliest}");
        let number = among(some, 1_000);
        assert!((30..300).contains(&number), "{some}: {number}");
    }
    assert!(among("{CRYPT}_J9..abcdAAAAAAAAAAA", 5_000) > 1_000);
    assert_eq!(among("{CRYPT}_zzzDabcdAAAAAAAAAAA", 5_000), 2);
    // What is refused at once costs nothing, and a right password may follow.
    for refused in [
        "{PBKDF2}4294967295$AAAA$AAAA",
        "{CRYPT}$2b$31$x",
        "{ARGON2}x",
        "{SSHA}x",
        "x",
    ] {
        assert_eq!(among(refused, 100_000), 100_000, "{refused}");
    }
    let mut allowance = super::Allowance::default();
    let long = vec![b'x'; 4_000_000];
    assert!((100..2_000).contains(&(0..10_000).take_while(|_| allowance.take(b"{SSHA}x", &long)).count()));
}

#[test]
fn scrypt_and_nt_hashes_of_crypt_verify() {
    for stored in [
        "{CRYPT}$7$C6..../....SodiumChloride$KnaT/KYqe0Wkw8JJxj5dtK/JH3wZT3jEZzX4iCRKXQ0",
        "{CRYPT}$7$D6..../....x$N8uXmP2Kd1EpS.w29o6VrrrM09NgNwf898KnN3rIAC7",
        "{CRYPT}$7$B6.....0....abc$UEpXxO5rHUbUuciF4uGfopurYRbh8mlnSRy34gtb7o3",
        "{CRYPT}$3$$878d8014606cda29677a44efa1353fc7",
    ] {
        assert!(verify(stored.as_bytes(), b"secret"), "{stored}");
        assert!(!verify(stored.as_bytes(), b"Secret"), "{stored}");
        assert_eq!(super::cost(stored.as_bytes()), super::Cost::Slow, "{stored}");
    }
}

#[test]
fn a_new_hash_verifies_its_password_and_no_other() {
    let mut counter = 0_u8;
    let mut random = |octets: &mut [u8]| {
        for octet in octets {
            counter = counter.wrapping_mul(5).wrapping_add(17);
            *octet = counter;
        }
    };
    for name in [
        "SSHA",
        "SHA",
        "SMD5",
        "MD5",
        "SSHA256",
        "SHA256",
        "SSHA384",
        "SHA384",
        "SSHA512",
        "SHA512",
        "APR1",
        "BSDMD5",
        "PBKDF2",
        "PBKDF2-SHA256",
        "PBKDF2-SHA512",
        "ARGON2",
        "CRYPT",
        "CLEARTEXT",
    ] {
        let scheme = Scheme::from_name(name.as_bytes()).unwrap();
        let stored = hash(scheme, b"pass word", &mut random).unwrap();
        assert!(verify(&stored, b"pass word"), "{name}");
        assert!(!verify(&stored, b"pass wore"), "{name}");
    }
}

#[test]
fn malformed_hashes_verify_nothing() {
    for stored in [
        "{SSHA}",
        "{SSHA}!!!",
        "{SHA}AAAA",
        "{PBKDF2}",
        "{PBKDF2}0$AA$AA",
        "{PBKDF2}4294967295$AAAA$AAAA",
        "{ARGON2}",
        "{ARGON2}$argon2id$v=19$m=4294967295,t=1,p=1$AAAAAAAAAAA$AAAA",
        "{CRYPT}",
        "{CRYPT}$2b$31$",
        "{CRYPT}$y$",
        "{CRYPT}$6$rounds=999999999$a$b",
        "{CRYPT}$sha1$4294967295$abcdefgh$AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "{CRYPT}_zzzzabcdAAAAAAAAAAA",
        "{CRYPT}$2b$31$abcdefghijklmnopqrstuu",
        "{CRYPT}$y$jFT5$abcdefgh$abcdefgh",
        "{CRYPT}$7$",
        "{CRYPT}$7$C6..../....",
        "{CRYPT}$7$C6..../....salt$",
        "{CRYPT}$7$zzzzzzzzzzzsalt$KnaT/KYqe0Wkw8JJxj5dtK/JH3wZT3jEZzX4iCRKXQ0",
        "{CRYPT}$7$J6..../....salt$KnaT/KYqe0Wkw8JJxj5dtK/JH3wZT3jEZzX4iCRKXQ0",
        "{CRYPT}$7$C6....zzzzzsalt$KnaT/KYqe0Wkw8JJxj5dtK/JH3wZT3jEZzX4iCRKXQ0",
        "{CRYPT}$7$C........../salt$KnaT/KYqe0Wkw8JJxj5dtK/JH3wZT3jEZzX4iCRKXQ0",
        "{CRYPT}$3$$878d",
        // gost-yescrypt of "secret", which the library does not have.
        "{CRYPT}$gy$j9T$F5Jx5fExrKuPp53xLKQ..1$uE5FcoxTz78xZpMZkpTmj/0MogyeNUSLIjdCxpQjz.8",
        "{CRYPT}\u{80}\u{80}",
        "{CRYPT}\u{1}b",
        "{CRYPT}_\u{80}\u{80}\u{80}\u{80}abcd",
    ] {
        assert!(!verify(stored.as_bytes(), b""), "{stored}");
        assert!(!verify(stored.as_bytes(), b"secret"), "{stored}");
    }
}

#[test]
fn crypt_strings_of_the_c_library_verify() {
    for stored in [
        "{CRYPT}abNANd1rDfiNc",
        "{CRYPT}$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1",
        "{CRYPT}$5$saltstring$C3o4O1TC6aRHF4FI.QSZMXtHbaj2gSXr4sUc/3NcUi.",
        "{CRYPT}$6$saltstring$AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.",
        "{CRYPT}$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a",
        "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$GmcwIgvdUC9qLWcKCi6gklUa1dM3ziD43YxYNURLKy0",
    ] {
        assert!(verify(stored.as_bytes(), b"secret"), "{stored}");
        assert!(!verify(stored.as_bytes(), b"wrong"), "{stored}");
    }
}

#[test]
fn salt_formats_are_those_of_printf() {
    let mut random = |octets: &mut [u8]| octets.fill(7);
    let mut salt = |format: &str| super::crypt_salt(format, &mut random);
    assert_eq!(salt("%.2s").unwrap().len(), 2);
    assert!(salt("$6$%.8s$").unwrap().starts_with("$6$"));
    assert_eq!(salt("%s").unwrap().len(), 31);
    for wrong in ["x", "%d", "%.99999s", "%5s"] {
        assert!(salt(wrong).is_none(), "{wrong}");
    }
}

/// Made with Python's hashlib, crypt(3) and OpenSSL, in the notations of 389 Directory Server, OpenDJ and Active
/// Directory.
#[test]
fn hashes_of_other_servers_verify_and_are_not_made() {
    let of_389 = "{PBKDF2_SHA256}\
         AAAD6AABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9UBxgXHzEA0wedQV6xsR\
         wUKho+mvb+TXEkzlkIpy63lg0Y0S48MGX58IJ9YxzP8jfoz6/Hp+YOg+xDMwW7RzHNXFh8TkQNp5s8BClsSegYnVtLH4S47BYv3Xnxc31y2DtU\
         o3+csfvJ9RsONJjarJ8/KIA3dL55wHe7Tu3/0TTZCcpwOf9MOyZRfjNRib8bjd+dpZ/nb44Yaph2QUzyTtkm6m4Yno3sjqUaeNsRMjDdgPxIBJ\
         uyIG50CaKQFtcqyI3m28JR4gxRWjScCCdeXRSceIheVKv+jBXMppBOYoPVmk40Me6VCqauG8/N/Js3xlHim8DhDOjwlDCtvQRzRY/w";
    for stored in [
        of_389,
        "{PBKDF2}1000:iwnGHj3e4ShfYAA1SPz7CWOx6OJzYWx0c2FsdA==",
        "{PBKDF2-HMAC-SHA256}1000:hgR9HsqtKupWxpnv8y99TrPDajTT/9PcSTlNafpdLXRzYWx0c2FsdA==",
        "{PBKDF2-HMAC-SHA512}1000:sm09rUzS3++3+cqsWziIoWFO8bEknKwJwGEvyD1ra4PcWJt5OiWFlM/BVv8ybJe4XW8qMpq33ecFrOaibNGiHHNhbHRzYWx0",
        "{BCRYPT}$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a",
        "{CRYPT-SHA256}$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
        "{CRYPT-MD5}$1$saltsalt$9xy1btjgzLYfb7hivXtC//",
        "{CLEAR}secret",
        "{NT}878d8014606cda29677a44efa1353fc7",
        "{nthash}878D8014606CDA29677A44EFA1353FC7",
    ] {
        assert!(verify(stored.as_bytes(), b"secret"), "{stored}");
        assert!(!verify(stored.as_bytes(), b"Secret"), "{stored}");
    }
    for malformed in [
        "",
        "878d",
        "+78d8014606cda29677a44efa1353fc7",
        "878d8014606cda29677a44efa1353fc70",
    ] {
        assert!(
            !verify(format!("{{NT}}{malformed}").as_bytes(), b"secret"),
            "{malformed}"
        );
    }
    for malformed in [
        "",
        "AAAD6AAB",
        "1000:",
        "1000:c2FsdA==",
        "0:iwnGHj3e4ShfYAA1SPz7CWOx6OJzYWx0c2FsdA==",
        "1000$$",
    ] {
        assert!(
            !verify(format!("{{PBKDF2}}{malformed}").as_bytes(), b"secret"),
            "{malformed}"
        );
    }
    assert_eq!(hash(Scheme::Nt, b"secret", &mut |_| {}), Err(HashError::VerifyOnly));
    assert_eq!(Scheme::from_name(b"BCRYPT"), None);
}

/// Anybody who has read it would know the password.
#[test]
fn a_hash_of_an_unknown_scheme_is_no_password() {
    let stored = b"{SCRYPT}c2VjcmV0";
    assert_eq!(split(stored), (None, &stored[..]));
    assert!(!verify(stored, stored) && !verify(stored, b"c2VjcmV0"));
    assert!(verify(b"{}secret", b"{}secret") && verify(b"{secret", b"{secret"));
}
