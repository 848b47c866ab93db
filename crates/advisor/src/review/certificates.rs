//! Weak certificates of the server itself.

use ironbark_tls::{Weakness, certificates, weaknesses};

use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// Adds what is weak about the server's certificate. Whether the file can be used at all is the start's question.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    for statement in written.accepted("TLSCertificateFile") {
        let [path] = &statement.line.arguments[..] else {
            continue;
        };
        let chain = certificates(path.as_ref()).unwrap_or_default();
        let Some(own) = chain.first() else { continue };
        for weakness in weaknesses(own) {
            let class = match weakness {
                Weakness::BrokenHash | Weakness::ShortKey(_) => FindingClass::Unsafe,
                Weakness::OldVersion | Weakness::ShortHash | Weakness::Authority => FindingClass::Old,
            };
            let place = written.place(&statement.line.location);
            let reason = format!("{path}: {weakness}");
            let advice = "make another one: strict clients refuse it (tls-strict)";
            findings.note(class, place, &statement.line.keyword, reason, advice);
        }
    }
}

#[cfg(test)]
mod tests {
    use ironbark_testkit::{Layout, Stranger, Strangers};

    use crate::{FindingClass, WrittenConfiguration, review};

    #[test]
    fn what_is_weak_about_the_servers_certificate_is_named() {
        let layout = Layout::new().unwrap();
        let strangers = Strangers::new(&layout).unwrap();
        let usual = Stranger::USUAL;
        for (name, like, expected) in [
            ("good", usual, None),
            (
                "version1",
                Stranger {
                    extensions: "",
                    ..usual
                },
                Some((FindingClass::Old, "version 1")),
            ),
            (
                "short",
                Stranger {
                    key: &["-newkey", "rsa:1024"],
                    ..usual
                },
                Some((FindingClass::Unsafe, "1024 bits")),
            ),
            (
                "sha1",
                Stranger { hash: "sha1", ..usual },
                Some((FindingClass::Unsafe, "SHA-1")),
            ),
        ] {
            strangers.make(name, like).unwrap();
            let path = strangers.file(name, "crt").display().to_string();
            let file = layout
                .write("slapd.conf", format!("TLSCertificateFile {path}\n"))
                .unwrap();
            let written = WrittenConfiguration::of_file(&file, &ironbark_config::Registry::default()).unwrap();
            let findings = review(&written, None, &[]).unwrap();
            let found = findings.iter().find(|finding| finding.reason.starts_with(&path));
            assert_eq!(
                found.map(|finding| finding.class),
                expected.map(|(class, _)| class),
                "{name}"
            );
            let words = expected.map_or("", |(_, words)| words);
            assert!(
                found.is_none_or(|finding| finding.reason.contains(words)),
                "{name}: {found:?}"
            );
        }
    }
}
