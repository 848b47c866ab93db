//! Input that cannot be imported.

use std::fs;

use ironbark_testkit::Layout;

use super::import;

const ENTRY: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";

/// The exit status and the message.
fn refusal(layout: &Layout, arguments: &[&str], data: &str) -> (Option<i32>, String) {
    let file = layout.write("data.ldif", data).unwrap();
    let all = [arguments, &[file.to_str().unwrap()]].concat();
    let output = import(&layout.join("new"), &all);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_mistake_is_named_with_its_place_and_leaves_nothing_behind() {
    let layout = Layout::new().unwrap();
    let broken = format!("{ENTRY}\ndn: ou=x,dc=example,dc=com\nobjectClass organizationalUnit\n");
    let change = format!("{ENTRY}\ndn: ou=x,dc=example,dc=com\nchangetype: delete\n");
    let url = format!("{ENTRY}description:< file:///etc/hostname\n");
    let [other, opendj] = [
        ("other.ldif", ENTRY),
        (
            "opendj.ldif",
            "dn: cn=config\nobjectClass: ds-cfg-root-config\ncn: config\n",
        ),
    ]
    .map(|(name, content)| layout.write(name, content).unwrap().display().to_string());
    let (other, opendj) = (other.as_str(), opendj.as_str());
    for (arguments, data, text) in [
        (
            &["--from", "389"][..],
            broken.as_str(),
            "data.ldif: line 6: missing ':'",
        ),
        (
            &["--from", "389"],
            change.as_str(),
            "data.ldif: line 5: a change, where an entry is expected",
        ),
        // An export comes from elsewhere: it must not read files of this machine.
        (&["--from", "389"], url.as_str(), "URLs are not allowed here"),
        (&["--from", "389"], "", "data.ldif: there are no entries in it"),
        (&[], ENTRY, "give --from slapcat, 389 or opendj"),
        (&["--from", "389", "--schema", "/nonexistent"], ENTRY, "/nonexistent: "),
        (&["--from", "389", "--config", "/nonexistent"], ENTRY, "/nonexistent: "),
        (
            &["--from", "slapcat", "--config", "/dev/null"],
            ENTRY,
            "--config is for 389 and OpenDJ",
        ),
        (
            &["--from", "389", "--suffix", "example.com"],
            ENTRY,
            "--suffix example.com: the data has no entry there; it has \"dc=example,dc=com\"",
        ),
        (
            &["--from", "389", "--config", other],
            ENTRY,
            "other.ldif: there is no entry cn=config: it is no configuration of 389 Directory Server",
        ),
        (
            &["--from", "389", "--schema", other],
            ENTRY,
            "other.ldif: there are no attributeTypes and no objectClasses in it",
        ),
        (
            &["--from", "389", "--config", opendj],
            ENTRY,
            "opendj.ldif: this is a configuration of OpenDJ, and the data is of 389 Directory Server",
        ),
    ] {
        let (status, said) = refusal(&layout, arguments, data);
        assert!(status == Some(1) && said.contains(text), "{text}: {said}");
        assert!(!layout.join("new").exists(), "{text}");
    }
    let (status, said) = refusal(&layout, &["--from", "edirectory"], ENTRY);
    assert!(
        status == Some(2) && said.contains("possible values: slapcat, 389, opendj"),
        "{said}"
    );
}

#[test]
fn a_folder_with_files_is_not_touched() {
    let layout = Layout::new().unwrap();
    layout.make_dir("new").unwrap();
    layout.write("new/mine", "x").unwrap();
    let (status, said) = refusal(&layout, &["--from", "389"], ENTRY);
    assert!(status == Some(1) && said.contains("exists and is not empty"), "{said}");
    assert_eq!(fs::read_dir(layout.join("new")).unwrap().count(), 1);
}

#[test]
fn a_load_that_fails_keeps_the_converted_data_and_says_what_to_do() {
    let layout = Layout::new().unwrap();
    let data = format!("{ENTRY}\ndn: cn=x,ou=missing,dc=example,dc=com\nobjectClass: device\ncn: x\n");
    let (status, said) = refusal(&layout, &["--from", "389"], &data);
    assert_eq!(status, Some(1));
    for part in [
        "ou=missing,dc=example,dc=com",
        "the converted data is in",
        "and import again",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(layout.join("new/import.ldif").exists());
}
