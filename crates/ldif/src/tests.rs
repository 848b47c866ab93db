//! The rules of RFC 2849 and of OpenLDAP's tools, each by example.

use std::io::{BufReader, Cursor};

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Vec<LdifRecord>, LdifError> {
    LdifReader::new(Cursor::new(text.as_bytes()), NoFiles).collect()
}

fn one(text: &str) -> LdifRecord {
    let mut records = read(text).unwrap();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn pairs(attributes: &[(&str, &str)]) -> Attributes {
    attributes
        .iter()
        .map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec()))
        .collect()
}

fn content(record: &LdifRecord) -> &Attributes {
    match &record.kind {
        RecordKind::Content(attributes) => attributes,
        other @ RecordKind::Change { .. } => panic!("{other:?}"),
    }
}

fn change(record: LdifRecord) -> LdifChange {
    match record.kind {
        RecordKind::Change { change, .. } => change,
        other @ RecordKind::Content(_) => panic!("{other:?}"),
    }
}

/// The resolver of these tests: a value is its own path, an include is one of two texts.
struct Memory;

impl Resolver for Memory {
    fn value(&mut self, url: &str) -> Result<Vec<u8>, ResolveError> {
        url.strip_prefix("file://")
            .map(|path| path.as_bytes().to_vec())
            .ok_or_else(|| std::io::Error::other("no file").into())
    }
    fn open(&mut self, url: &str) -> Result<Box<dyn std::io::BufRead>, ResolveError> {
        let text: &'static str = match url {
            "file:///one" => "dn: cn=included\ncn: included\n",
            "file:///bad" => "dn: cn=x\ncn: x\n\nnonsense\n",
            "file:///loop" => "include: file:///loop\n",
            _ => return Err(std::io::Error::other("no such file").into()),
        };
        Ok(Box::new(Cursor::new(text)))
    }
}

#[test]
fn rfc_2849_example_1_simple_entries() {
    let records = read(
        "version: 1\ndn: cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com\nobjectclass: top\n\
         cn: Barbara Jensen\ndescription: A big sailing fan.\n\ndn: cn=Bjorn Jensen\ntelephonenumber: +1 408 555 1212\n",
    )
    .unwrap();
    assert_eq!(
        records[0].dn,
        b"cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com"
    );
    assert_eq!((records[0].line, records[1].line), (2, 7));
    assert_eq!(content(&records[1]), &pairs(&[("telephonenumber", "+1 408 555 1212")]));
}

#[test]
fn rfc_2849_example_2_folded_value() {
    let record = one(
        "dn: cn=B\ndescription:Babs is a big sailing fan, and travels extensively in sea\n rch of perfect\n  sailing\n",
    );
    let value = "Babs is a big sailing fan, and travels extensively in search of perfect sailing";
    assert_eq!(content(&record), &pairs(&[("description", value)]));
}

#[test]
fn rfc_2849_example_3_base64_folded_too() {
    let record = one("dn:: Y249\n QQ==\ncn:: QmFi\n cw==\ncn:: QmFicw\n");
    assert_eq!(record.dn, b"cn=A");
    assert_eq!(content(&record), &pairs(&[("cn", "Babs"), ("cn", "Babs")]));
}

#[test]
fn white_space_before_a_value_is_no_part_of_it() {
    // As in slapd. RFC 2849 has spaces alone.
    let record = one("dn:\tcn=A\ncn:\ta\ncn: \t\x0b b\ncn:\t\ncn:c\t\n");
    assert_eq!(record.dn, b"cn=A");
    assert_eq!(
        content(&record),
        &pairs(&[("cn", "a"), ("cn", "b"), ("cn", ""), ("cn", "c\t")])
    );
}

#[test]
fn bits_behind_the_last_octet_of_base64_are_ignored() {
    // As slapd does. Padding in the middle, or text behind it, remains an error.
    let record = one("dn: cn=A\ncn:: YR==\ncn:: YWK=\ncn:: YR\n");
    assert_eq!(content(&record), &pairs(&[("cn", "a"), ("cn", "ab"), ("cn", "a")]));
    for wrong in ["Y", "Y===", "YQ==YQ==", "YQ==x", "Y*Q="] {
        assert!(read(&format!("dn: cn=A\ncn:: {wrong}\n")).is_err(), "{wrong}");
    }
}

#[test]
fn rfc_2849_example_6_changes() {
    let text = "version: 1\n# Add a new entry\ndn: cn=Fiona\nchangetype: add\nobjectclass: top\n\n\
        dn: cn=Robert\nchangetype: delete\n\n\
        dn: cn=Paul\nchangetype: modrdn\nnewrdn: cn=Paula\ndeleteoldrdn: 1\n\n\
        dn: ou=PD\nchangetype: modrdn\nnewrdn: ou=PDA\ndeleteoldrdn: 0\nnewsuperior: ou=Acc\n\n\
        dn: cn=Ingrid\nchangetype: modify\nadd: postaladdress\npostaladdress: 123\n-\ndelete: description\n-\n\
        replace: telephonenumber\ntelephonenumber: 1\ntelephonenumber: 2\n-\ndelete: fax\nfax: 9\n-\n\n\
        dn: cn=Gern\ncontrol: 1.2.840.113556.1.4.805 true\nchangetype: delete\n";
    let records = read(text).unwrap();
    assert_eq!(records.len(), 6);
    assert_eq!(
        change(records[0].clone()),
        LdifChange::Add(pairs(&[("objectclass", "top")]))
    );
    assert_eq!(change(records[1].clone()), LdifChange::Delete);
    let LdifChange::ModifyDn {
        new_rdn,
        delete_old_rdn,
        new_superior,
    } = change(records[3].clone())
    else {
        panic!()
    };
    assert_eq!(
        (new_rdn.as_slice(), delete_old_rdn, new_superior.as_deref()),
        (&b"ou=PDA"[..], false, Some(&b"ou=Acc"[..]))
    );
    let LdifChange::Modify(modifications) = change(records[4].clone()) else {
        panic!()
    };
    let kinds: Vec<_> = modifications.iter().map(|m| (m.kind, m.values.len())).collect();
    assert_eq!(
        kinds,
        [
            (ModifyKind::Add, 1),
            (ModifyKind::Delete, 0),
            (ModifyKind::Replace, 2),
            (ModifyKind::Delete, 1)
        ]
    );
    let RecordKind::Change { controls, .. } = &records[5].kind else {
        panic!()
    };
    assert_eq!(
        controls[0],
        LdifControl {
            oid: "1.2.840.113556.1.4.805".into(),
            critical: true,
            value: None
        }
    );
}

#[test]
fn control_values_are_text_or_base64() {
    let record = one("dn: a=b\ncontrol: 1.2 true: v\ncontrol: 1.3:: dg==\ncontrol: 1.4 false\nchangetype: delete\n");
    let RecordKind::Change { controls, .. } = record.kind else {
        panic!()
    };
    let values: Vec<_> = controls.iter().map(|c| (c.critical, c.value.as_deref())).collect();
    assert_eq!(values, [(true, Some(&b"v"[..])), (false, Some(b"v")), (false, None)]);
}

#[test]
fn comments_stand_anywhere_and_take_their_folds_along() {
    let record = one("# top\n# two\n more\ndn: a=b\n# inside\n folded comment\ncn: x\n#last\n");
    assert_eq!(content(&record), &pairs(&[("cn", "x")]));
    assert!(read("# only\n\n# comments\n").unwrap().is_empty());
}

#[test]
fn crlf_blank_lines_and_missing_newline() {
    let records = read("\r\n\n\ndn: a=b\r\ncn: x\r\n  y\r\n\r\n\n\ndn: c=d\ncn: z").unwrap();
    assert_eq!(content(&records[0]), &pairs(&[("cn", "x y")]));
    assert_eq!(content(&records[1]), &pairs(&[("cn", "z")]));
    assert_eq!((records[1].line, records[1].offset), (10, 29));
}

#[test]
fn spaces_round_the_colon_go_and_trailing_ones_stay() {
    let record = one("dn: a=b\ncn  :   x  \nsn:\n");
    assert_eq!(content(&record), &pairs(&[("cn", "x  "), ("sn", "")]));
}

#[test]
fn number_line_before_a_record_is_skipped() {
    assert_eq!(read("1\ndn: a=b\ncn: x\n\n2\ndn: a=c\ncn: y\n").unwrap().len(), 2);
}

/// slapadd looks for the name in the whole record.
#[test]
fn lines_before_the_name_are_told_behind_it() {
    let start = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        let mut lines = RecordLines::new(&mut bytes, 7, 0);
        let found = lines.start_anywhere();
        let mut told = Vec::new();
        if let Ok(Start::Dn(dn)) = found {
            told.push((dn.number, dn.name.to_vec()));
            while let Ok(Some(Item::Line(line))) = lines.next_item() {
                told.push((line.number, line.name.to_vec()));
            }
        }
        found
            .map(|_| {
                told.iter()
                    .map(|(number, name)| format!("{number} {}", String::from_utf8_lossy(name)))
                    .collect::<Vec<_>>()
            })
            .map_err(|error| error.to_string())
    };
    let told = start("description: one\n two\nou: a\ndn: ou=a\nobjectClass: organizationalUnit\n").unwrap();
    assert_eq!(told, ["10 dn", "7 description", "9 ou", "11 objectClass"]);
    assert_eq!(start("dn: ou=a\nou: a\n").unwrap(), ["7 dn", "8 ou"]);
    for (text, error) in [
        ("ou: a\n", "line 7: the record does not begin with dn:, but with \"ou\""),
        (
            "ou: a\n-\n",
            "line 8: the record does not begin with dn:, but with \"-\"",
        ),
        (
            "ou: a\nnonsense\n",
            "line 8: missing ':' after the attribute description",
        ),
    ] {
        assert_eq!(start(text).unwrap_err(), error);
    }
    assert!(read("ou: a\ndn: ou=a\n").is_err(), "only slapadd does so");
}

#[test]
fn modify_without_changetype_is_for_ldapmodify() {
    let text = "dn: a=b\nreplace: cn\ncn: x\n-\nincrement: n\nn: 1\n";
    let mut reader = LdifReader::new(text.as_bytes(), NoFiles).with_modify_by_default();
    let LdifChange::Modify(modifications) = change(reader.read().unwrap().unwrap()) else {
        panic!()
    };
    assert_eq!(
        (modifications.len(), modifications[1].kind, modifications[1].line),
        (2, ModifyKind::Increment, 5)
    );
    assert!(
        read("dn: a=b\nreplace: cn\ncn: x\n")
            .unwrap()
            .iter()
            .all(|r| content(r).len() == 2)
    );
}

/// RFC 2849 §2.
#[test]
fn urls_go_through_the_resolver() {
    let records: Result<Vec<_>, _> = LdifReader::new(&b"dn: a=b\njpegPhoto:< file:///p\n"[..], Memory).collect();
    assert_eq!(content(&records.unwrap()[0]), &pairs(&[("jpegPhoto", "/p")]));
    let error = read("dn: a=b\njpegPhoto:< file:///p\n").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(matches!(error.kind, LdifErrorKind::BadUrl { .. }));
}

#[test]
fn includes_come_before_what_follows_them() {
    let text = "dn: cn=first\ncn: first\n\ninclude: file:///one\ninclude: file:///one\ndn: cn=last\ncn: last\n";
    let records: Vec<_> = LdifReader::new(text.as_bytes(), Memory).map(Result::unwrap).collect();
    let names: Vec<_> = records
        .iter()
        .map(|r| String::from_utf8_lossy(&r.dn).into_owned())
        .collect();
    assert_eq!(names, ["cn=first", "cn=included", "cn=included", "cn=last"]);
    assert_eq!(records[3].line, 6);
}

#[test]
fn errors_in_includes_name_the_file_and_endless_includes_end() {
    let mut reader = LdifReader::new(&b"include: file:///bad\n"[..], Memory);
    reader.read().unwrap().unwrap();
    let error = reader.read().unwrap_err();
    assert_eq!(
        error.to_string(),
        "file:///bad: line 4: missing ':' after the attribute description"
    );
    let error = LdifReader::new(&b"include: file:///loop\n"[..], Memory)
        .read()
        .unwrap_err();
    assert_eq!(error.kind, LdifErrorKind::IncludeTooDeep(16));
}

#[test]
fn errors_have_their_line_and_offset() {
    for (text, line, offset, kind) in [
        ("dn: a=b\n\ncn: x\n", 3, 9, LdifErrorKind::MissingDn("cn".into())),
        ("dn: a=b\ncn\n", 2, 8, LdifErrorKind::MissingColon),
        ("dn: a=b\n: x\n", 2, 8, LdifErrorKind::EmptyName),
        (
            "dn: a=b\nx: y\n z\ncn:: *\n",
            4,
            16,
            LdifErrorKind::BadBase64("cn".into()),
        ),
        ("dn: a=b\ncn::\n", 2, 8, LdifErrorKind::BadBase64("cn".into())),
        ("version: 2\n", 1, 0, LdifErrorKind::BadVersion("2".into())),
        (
            "dn: a=b\nchangetype: move\n",
            2,
            8,
            LdifErrorKind::BadChangeType("move".into()),
        ),
        (
            "dn: a=b\nchangetype: modify\nset: x\n",
            3,
            27,
            LdifErrorKind::BadModification("set".into()),
        ),
        (
            "dn: a=b\nchangetype: modify\nadd: x\ny: z\n",
            4,
            34,
            LdifErrorKind::WrongAttribute {
                expected: "x".into(),
                found: "y".into(),
            },
        ),
        (
            "dn: a=b\nchangetype: delete\nx: y\n",
            3,
            27,
            LdifErrorKind::UnexpectedLine("x".into()),
        ),
        ("dn: a=b\ncn: x\n-\n", 3, 14, LdifErrorKind::UnexpectedLine("-".into())),
        (
            "dn: a=b\nchangetype: modrdn\nnewrdn: c=d\n",
            3,
            27,
            LdifErrorKind::MissingLine("deleteoldrdn"),
        ),
        (
            "dn: a=b\nchangetype: modrdn\nnewrdn: c=d\ndeleteoldrdn: yes\n",
            4,
            39,
            LdifErrorKind::BadDeleteOldRdn("yes".into()),
        ),
        ("dn: a=b\ncontrol: x\n", 2, 8, LdifErrorKind::BadControl),
    ] {
        assert_eq!(
            read(text).unwrap_err(),
            LdifError {
                file: None,
                line,
                offset,
                kind
            },
            "{text}"
        );
    }
}

#[test]
fn reading_goes_on_after_a_bad_record() {
    let results: Vec<_> = LdifReader::new(&b"dn: a=b\nbad\n\ndn: a=c\ncn: x\n"[..], NoFiles).collect();
    assert!(results[0].is_err() && results[1].is_ok() && results.len() == 2);
}

#[test]
fn limits_refuse_before_memory_is_taken_and_reading_goes_on() {
    let text = format!(
        "dn: a=b\ncn: {}\n {}\n\ndn: a=c\ncn: x\n",
        "y".repeat(60),
        "y".repeat(60)
    );
    let limits = Limits {
        max_line: 100,
        max_record: 1000,
        max_include_depth: 1,
    };
    let results: Vec<_> = LdifReader::new(text.as_bytes(), NoFiles).with_limits(limits).collect();
    let error = results[0].clone().unwrap_err();
    assert_eq!((error.line, error.kind), (2, LdifErrorKind::LineTooLong(100)));
    assert!(results[1].is_ok() && results.len() == 2);
    let limits = Limits {
        max_line: 1000,
        max_record: 100,
        max_include_depth: 1,
    };
    let results: Vec<_> = LdifReader::new(text.as_bytes(), NoFiles).with_limits(limits).collect();
    let error = results[0].clone().unwrap_err();
    assert_eq!((error.line, error.kind), (1, LdifErrorKind::RecordTooLong(100)));
    assert!(results[1].is_ok());
}

#[test]
fn blocks_hold_whole_records_and_know_their_lines() {
    let records: Vec<_> = (0..2000)
        .map(|n| format!("dn: cn={n}\ncn: {n}\ndescription:: QUFB\n\n"))
        .collect();
    let text = records.concat();
    let mut seen = 0;
    let mut block = Block::default();
    let mut blocks = Blocks::new(text.as_bytes(), 4096, 1 << 20);
    while blocks.next_into(&mut block).unwrap() {
        for mut lines in block.records() {
            let Start::Dn(dn) = lines.start().unwrap() else {
                panic!()
            };
            assert_eq!(dn.value, LdifValue::Plain(format!("cn={seen}").as_bytes()));
            assert_eq!(dn.number, seen * 4 + 1);
            assert!(text[usize::try_from(dn.offset).unwrap()..].starts_with("dn: "));
            let mut values = Vec::new();
            while let Some(Item::Line(line)) = lines.next_item().unwrap() {
                values.push(line.value);
            }
            assert_eq!(values[1], LdifValue::Plain(b"AAA"));
            seen += 1;
        }
    }
    assert_eq!(seen, 2000);
}

#[test]
fn a_record_bigger_than_a_block_makes_a_bigger_block_up_to_the_limit() {
    let text = format!("dn: a=b\ncn: {}\n\ndn: a=c\ncn: x\n", "y".repeat(20_000));
    let blocks: Result<Vec<_>, _> = Blocks::new(text.as_bytes(), 4096, 1 << 20).collect();
    assert_eq!(blocks.unwrap().iter().map(|b| b.bytes.len()).sum::<usize>(), text.len());
    let error = Blocks::new(text.as_bytes(), 4096, 8192).find_map(Result::err).unwrap();
    assert_eq!(error.kind, LdifErrorKind::RecordTooLong(8192));
}

/// What Debian's slapcat 2.5 wrote for these values.
const SLAPCAT: &str = "dn:: Y249QsO2YiAgWCxkYz1leGFtcGxlLGRjPWNvbQ==
sn: abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789ab
 cdefghijklmnopqrstuvwxyz
description: abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyzABC
description: abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyzABC
 D
description:: IGxlYWRpbmc=
description:: dHJhaWxpbmcg
description:: OmNvbG9u
description:: PGxlc3M=
description: #hash
description:: YQli
description:: YQpi
description: ~tilde
userPassword:: c2VjcmV0
userCertificate;binary:: MAA=
displayName:: YcOkeHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4
 eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eA==
jpegPhoto:: /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBg
 UGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBA=

";

#[test]
fn what_slapcat_wrote_is_written_again_byte_for_byte() {
    let record = one(SLAPCAT);
    let mut out = Vec::new();
    LdifWriter::default().record(&mut out, &record);
    assert_eq!(String::from_utf8(out).unwrap(), SLAPCAT);
    let mut unwrapped = Vec::new();
    LdifWriter { wrap: Wrap::No }.record(&mut unwrapped, &record);
    assert_eq!(String::from_utf8(unwrapped).unwrap(), SLAPCAT.replace("\n ", ""));
}

#[test]
fn changes_are_written_as_auditlog_does() {
    let text = "dn: cn=a\nchangetype: modify\nreplace: cn\ncn: b\n-\ndelete: sn\n-\n\n\
        dn: cn=a\ncontrol: 1.2 true:: dg==\nchangetype: modrdn\nnewrdn: cn=b\ndeleteoldrdn: 1\nnewsuperior: dc=c\n\n\
        dn: cn=a\nchangetype: add\ncn: a\n\ndn: cn=a\nchangetype: delete\n\n";
    let mut out = Vec::new();
    for record in read(text).unwrap() {
        LdifWriter::default().record(&mut out, &record);
    }
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

#[test]
fn narrow_wraps_make_progress() {
    for columns in 1..6 {
        let mut out = Vec::new();
        LdifWriter {
            wrap: Wrap::Columns(columns),
        }
        .attribute(&mut out, b"cn", b"value");
        let text = format!("dn: a=b\n{}", String::from_utf8(out).unwrap());
        assert!(text.lines().skip(2).all(|line| line.len() <= columns.max(2)), "{text}");
        assert_eq!(content(&one(&text)), &pairs(&[("cn", "value")]));
    }
}

fn arbitrary_attributes() -> impl Strategy<Value = Attributes> {
    proptest::collection::vec(
        ("[a-z]{1,8}(;binary)?".prop_map(String::into_bytes), any::<Vec<u8>>()),
        1..5,
    )
    .prop_filter("such a name is a keyword", |a| {
        a.iter().all(|(n, _)| n != b"control" && n != b"changetype")
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(attributes in arbitrary_attributes(), columns in 1_usize..100) {
        let record = LdifRecord { line: 1, offset: 0, dn: b"a=b".to_vec(), kind: RecordKind::Content(attributes) };
        let mut out = Vec::new();
        LdifWriter { wrap: Wrap::Columns(columns) }.record(&mut out, &record);
        let read = LdifReader::new(out.as_slice(), NoFiles).read().unwrap().unwrap();
        prop_assert_eq!(read, record);
    }

    #[test]
    fn any_bytes_are_answered_alike_by_both_readers(
        text in "(dn: a|cn:|: b|:: YQ==| x|\n|\n|\r\n|-|#|1|version: 1|add: cn|changetype: modify|é){0,40}",
        capacity in 1_usize..20,
    ) {
        let input = BufReader::with_capacity(capacity, text.as_bytes());
        let read = LdifReader::new(input, NoFiles);
        let streamed: Vec<_> = read.map(|r| r.map(|r| r.line).map_err(|e| (e.line, e.offset))).collect();
        let mut blocks = Vec::new();
        for block in Blocks::new(text.as_bytes(), 4096, 1 << 20) {
            let mut block = block.unwrap();
            for mut lines in block.records() {
                let result = match lines.start() {
                    Ok(Start::Dn(dn)) => record::build(dn, &mut lines, &mut NoFiles, false).map(|r| r.line),
                    Ok(_) => continue,
                    Err(error) => Err(error),
                };
                blocks.push(result.map_err(|e| (e.line, e.offset)));
            }
        }
        prop_assert_eq!(streamed, blocks);
    }

    #[test]
    fn random_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        for record in LdifReader::new(bytes.as_slice(), NoFiles) {
            let _ = record;
        }
    }
}
