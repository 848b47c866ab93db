//! Data as LDIF, in the forms of exports, scripts and people.

use std::fs;

use ironbark_testkit::{Flavor, Layout, NormalizedLdif, Tool};

use super::{Checked, CorpusFile, SUFFIX, assert_alike, check_all, corpus, empty, exported, filled};

#[test]
fn both_load_it_export_the_same_and_load_what_the_other_has_exported() {
    check_all("data", check);
}

fn check(file: &CorpusFile) -> Checked {
    let layout = Layout::new()?;
    layout.write("photo.jpg", PHOTO)?;
    layout.write("text.txt", "the text of a file")?;
    let config = filled(&layout, &fs::read(corpus().join("data.conf"))?);
    let config = layout.write("slapd.conf", config)?.display().to_string();
    let path = file.write(&layout)?;
    let source = ["-f", config.as_str()];
    let add = |flavor: Flavor, path: &str, input: &str| {
        let file: &[&str] = if path.is_empty() { &[] } else { &["-l", path] };
        Tool::Add.run(flavor, &[&source[..], &SUFFIX, file].concat(), input)
    };
    let load = |flavor: Flavor| -> Checked<String> {
        empty(&layout, &["db"])?;
        if file.is_refused_by(flavor) {
            add(flavor, &path, "")?.expect_code(1)?;
            return Ok(String::new());
        }
        if CHANGES.contains(&file.name.as_str()) {
            add(flavor, "/dev/null", "")?.success()?;
            Tool::Modify
                .run(flavor, &[&source[..], &["-l", &path]].concat(), "")?
                .success()?;
        } else {
            add(flavor, &path, "")?.success()?;
        }
        exported(flavor, &source, &SUFFIX)
    };
    let (theirs, ours) = (load(Flavor::OpenLdap)?, load(Flavor::Ironbark)?);
    assert_alike("exports", &theirs, &ours, &missing(file))?;
    if !file.is_refused_by(Flavor::OpenLdap) {
        for (flavor, export) in [(Flavor::OpenLdap, &ours), (Flavor::Ironbark, &theirs)] {
            empty(&layout, &["db"])?;
            add(flavor, "", export)?.success()?;
            let again = exported(flavor, &source, &SUFFIX)?;
            let what = format!("{flavor} exports what the other one has exported");
            assert_alike(&what, export, &again, &[])?;
        }
    }
    Ok(())
}

/// The attributes that each server makes, as the file has none.
fn missing(file: &CorpusFile) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(&file.content);
    let missing = NormalizedLdif::VOLATILE.into_iter();
    missing.filter(|name| !text.contains(name)).collect()
}

/// Files with change records, for slapmodify.
const CHANGES: [&str; 1] = ["changes.ldif"];

/// A picture without lines.
const PHOTO: [u8; 4] = [0xff, 0xd8, 0xff, 0xd9];
