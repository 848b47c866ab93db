//! The auditlog overlay: the file as slapd writes it.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldif::{LdifChange, LdifReader, NoFiles, RecordKind};

fn site() -> Site {
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        "overlay auditlog\nauditlog DIR/audit.ldif",
        ironbark_overlays::make,
    );
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    std::fs::remove_file(site.folder.path().join("audit.ldif")).expect("was written");
    site
}

fn log(site: &Site) -> String {
    std::fs::read_to_string(site.folder.path().join("audit.ldif")).expect("was written")
}

fn header(what: &str) -> String {
    format!("# {what} 1767323045 dc=ex cn=root,dc=ex IP=192.0.2.1:4711 conn=7\n")
}

#[test]
fn an_added_entry_is_logged_whole() {
    let mut site = site();
    site.must_add("CN=x, dc=ex", "objectClass: person\nsn: s \nuserPassword: secret");
    let text = log(&site);
    let uuid = text
        .lines()
        .find(|line| line.starts_with("entryUUID: "))
        .expect("logged")
        .to_owned();
    assert_eq!(
        text,
        format!(
            "{}dn: cn=x,dc=ex\nchangetype: add\nobjectClass: person\nsn:: cyA=\nuserPassword:: c2VjcmV0\n\
             structuralObjectClass: person\ncn: x\n{uuid}\ncreatorsName: cn=root,dc=ex\ncreateTimestamp: 20260102030405Z\n\
             entryCSN: 20260102030405.000000Z#000001#000#000000\nmodifiersName: cn=root,dc=ex\n\
             modifyTimestamp: 20260102030405Z\n# end add 1767323045\n\n",
            header("add")
        )
    );
}

#[test]
fn changes_are_logged_as_asked_for_with_their_stamps() {
    let mut site = site();
    assert_eq!(
        site.modify("DC=EX", "add: description\nd: one\nd: two\n-\nreplace: o\no: ex")
            .code,
        0
    );
    assert_eq!(site.modify("dc=ex", "delete: description").code, 0);
    let stamps = |count: u32| {
        format!(
            "replace: entryCSN\nentryCSN: 20260102030405.000000Z#{count:06x}#000#000000\n-\nreplace: modifiersName\n\
             modifiersName: cn=root,dc=ex\n-\nreplace: modifyTimestamp\nmodifyTimestamp: 20260102030405Z\n-\n\
             # end modify 1767323045\n\n"
        )
    };
    assert_eq!(
        log(&site),
        format!(
            "{0}dn: dc=EX\nchangetype: modify\nadd: description\ndescription: one\ndescription: two\n-\nreplace: o\no: ex\n-\n{1}\
             {0}dn: dc=ex\nchangetype: modify\ndelete: description\n-\n{2}",
            header("modify"),
            stamps(1),
            stamps(2)
        )
    );
}

#[test]
fn renames_and_deletes_are_logged() {
    let mut site = site();
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    std::fs::remove_file(site.folder.path().join("audit.ldif")).expect("was written");
    assert_eq!(site.rename("cn=x,dc=ex", "cn=y", Some("dc=ex")).code, 0);
    assert_eq!(site.delete("cn=y,dc=ex").code, 0);
    assert_eq!(site.delete("cn=y,dc=ex").code, 32);
    assert_eq!(
        log(&site),
        format!(
            "{}dn: cn=x,dc=ex\nchangetype: modrdn\nnewrdn: cn=y\ndeleteoldrdn: 1\nnewsuperior: dc=ex\n# end modrdn 1767323045\n\n\
             {}dn: cn=y,dc=ex\nchangetype: delete\n# end delete 1767323045\n\n",
            header("modrdn"),
            header("delete")
        )
    );
}

#[test]
fn a_pipe_without_a_reader_does_not_hold_up_the_server() {
    let lines = "overlay auditlog\nauditlog DIR/pipe\nauditlognonblocking on";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    let pipe = site.folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("runs");
    assert!(made.success());
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    assert!(site.read("dc=ex", &["o"]).is_some());
}

#[test]
fn what_other_overlays_change_is_logged_under_their_name() {
    let lines =
        "overlay auditlog\nauditlog DIR/audit.ldif\noverlay memberof\noverlay refint\nrefint_attributes member seeAlso";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add(
        "cn=g,dc=ex",
        "objectClass: groupOfNames\nmember: cn=a,ou=p,dc=ex\nmember: cn=b,ou=p,dc=ex",
    );
    std::fs::remove_file(site.folder.path().join("audit.ldif")).expect("was written");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(
        log(&site),
        format!(
            "{}dn: cn=a,ou=p,dc=ex\nchangetype: delete\n# end delete 1767323045\n\n\
             # modify 1767323045 dc=ex cn=Referential Integrity Overlay IP=192.0.2.1:4711 conn=7\n# realdn: cn=root,dc=ex\n\
             dn: cn=g,dc=ex\nchangetype: modify\ndelete: member\nmember: cn=a,ou=p,dc=ex\n-\nreplace: modifiersName\n\
             modifiersName: cn=Referential Integrity Overlay\n-\n# end modify 1767323045\n\n",
            header("delete")
        )
    );
}

#[test]
fn a_file_that_was_moved_away_is_made_anew() {
    let mut site = site();
    assert_eq!(site.modify("dc=ex", "replace: o\no: one").code, 0);
    let old = site.folder.path().join("audit.ldif.1");
    std::fs::rename(site.folder.path().join("audit.ldif"), &old).expect("moved");
    assert_eq!(site.modify("dc=ex", "replace: o\no: two").code, 0);
    assert!(log(&site).contains("\no: two\n") && !log(&site).contains("\no: one\n"));
    let kept = std::fs::read_to_string(old).expect("there");
    assert!(kept.contains("\no: one\n") && !kept.contains("\no: two\n"));
}

#[test]
fn a_name_cannot_forge_records() {
    const FORGED: &str = "\\0achangetype\\3a delete\\0a\\0adn\\3a dc\\3dex\\0a\\c2\\85";
    let mut site = site();
    let (first, new_rdn) = (format!("cn=x{FORGED}"), format!("cn=y{FORGED}"));
    let superior = format!("ou=z{FORGED},dc=ex");
    site.must_add(&superior, "objectClass: organizationalUnit");
    site.must_add(&format!("{first},dc=ex"), "objectClass: person\nsn: s");
    std::fs::remove_file(site.folder.path().join("audit.ldif")).expect("was written");
    assert_eq!(
        site.rename(&format!("{first},dc=ex"), &new_rdn, Some(&superior)).code,
        0
    );
    assert_eq!(site.delete(&format!("{new_rdn},{superior}")).code, 0);
    let text = log(&site);
    let mut reader = LdifReader::new(text.as_bytes(), NoFiles);
    let mut records = Vec::new();
    while let Some(record) = reader.read().expect("LDIF") {
        records.push(record);
    }
    let name = |text: &str| {
        text.replace(FORGED, "\nchangetype: delete\n\ndn: dc\\3Dex\n\u{85}")
            .into_bytes()
    };
    let changes: Vec<_> = records
        .into_iter()
        .map(|record| match record.kind {
            RecordKind::Change { change, .. } => (record.dn, change),
            RecordKind::Content(_) => unreachable!("a change"),
        })
        .collect();
    let moved = LdifChange::ModifyDn {
        new_rdn: name(&new_rdn),
        delete_old_rdn: true,
        new_superior: Some(name(&superior)),
    };
    let expected = [
        (name(&format!("{first},dc=ex")), moved),
        (name(&format!("{new_rdn},{superior}")), LdifChange::Delete),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn the_author_in_a_comment_stays_on_its_line() {
    let rules = "access to * by * write";
    let lines = format!("{rules}\noverlay auditlog\nauditlog DIR/audit.ldif");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    std::fs::remove_file(site.folder.path().join("audit.ldif")).expect("was written");
    site.become_("cn=w\\0a\\0adn\\3a dc\\3dex\\0d\\e2\\80\\a8,dc=ex");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(
        log(&site),
        "# delete 1767323045 dc=ex cn=w\\0A\\0Adn: dc\\3Dex\\0D\\E2\\80\\A8,dc=ex IP=192.0.2.1:4711 conn=7\n\
         dn: cn=a,ou=p,dc=ex\nchangetype: delete\n# end delete 1767323045\n\n"
    );
}

#[test]
fn changes_that_are_in_no_log_any_more_leave_a_mark() {
    let lines = "changelog-size 20000\noverlay auditlog\nauditlog DIR/audit.ldif";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    assert!(!log(&site).contains("# gap"), "nothing is missing yet");
    let file = site.folder.path().join("audit.ldif");
    let write = |site: &mut Site, number: u32| {
        let change = format!("replace: description\nd: {number}");
        assert_eq!(site.modify("dc=ex", &change).code, 0);
    };
    // Nobody can write to it for longer than the log keeps the changes.
    std::fs::remove_file(&file).expect("was written");
    std::fs::create_dir(&file).expect("made");
    for number in 0..400 {
        write(&mut site, number);
    }
    std::fs::remove_dir(&file).expect("empty");
    write(&mut site, 400);
    let text = log(&site);
    let (mark, rest) = text.split_once("\n\n").expect("a mark, and records");
    assert!(mark.starts_with("# gap 1767323045 dc=ex\n"), "{text}");
    assert!(mark.ends_with("\n# end gap 1767323045"), "{text}");
    assert!(!rest.contains("# gap") && rest.contains("description: 400\n"), "{text}");
    assert!(!rest.contains("description: 3\n"), "{text}");
    // It is LDIF all the same.
    let mut reader = LdifReader::new(text.as_bytes(), NoFiles);
    while let Some(record) = reader.read().expect("LDIF") {
        assert!(matches!(record.kind, RecordKind::Change { .. }), "{text}");
    }
}
