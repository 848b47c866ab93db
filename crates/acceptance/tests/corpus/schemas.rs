//! Schema files, for `include` and as LDIF for cn=config.
//!
//! The lines `# Entry: ` of a file are an entry of its classes. `# Needs: ` names further files.

use ironbark_testkit::{Flavor, Layout, NormalizedLdif, Tool};

use super::{Checked, CorpusFile, assert_alike, check_all, empty, exported, filled};

#[test]
fn either_server_has_the_classes_and_reads_the_definitions_of_the_other() {
    check_all("schemas", check);
}

fn check(file: &CorpusFile) -> Checked {
    let layout = Layout::new()?;
    let path = file.write(&layout)?;
    let config = filled(&layout, configuration(file).as_bytes());
    let config = layout.write("slapd.conf", config)?.display().to_string();
    if file.is_refused_by(Flavor::OpenLdap) {
        return Flavor::ALL.into_iter().try_for_each(|flavor| {
            let outcome = Tool::Test.run(flavor, &["-u", "-f", &config], "")?;
            let outcome = outcome.expect_code(file.is_refused_by(flavor).into())?;
            let is_named = outcome.code() == Some(0) || outcome.stderr.contains(&file.name);
            is_named.then_some(()).ok_or_else(|| outcome.stderr.into())
        });
    }
    let entry = layout.write("entry.ldif", entry(file))?.display().to_string();
    let [theirs, ours] = Flavor::ALL.map(|flavor| -> Checked<String> {
        empty(&layout, &["db"])?;
        let folder = layout.make_dir(&format!("{flavor}.d"))?.display().to_string();
        let entries = if file.is_ldif() { "/dev/null" } else { &entry };
        Tool::Add.run(flavor, &["-f", &config, "-l", entries], "")?.success()?;
        Tool::Test.run(flavor, &["-f", &config, "-F", &folder], "")?.success()?;
        if file.is_ldif() {
            Tool::Add
                .run(flavor, &["-F", &folder, "-n", "0", "-l", &path], "")?
                .success()?;
        }
        Ok(folder)
    });
    let (theirs, ours) = (theirs?, ours?);
    let read = |flavor: Flavor, folder: &str| -> Checked<[String; 2]> {
        empty(&layout, &["db"])?;
        let source = ["-F", folder];
        Tool::Add
            .run(flavor, &[&source[..], &["-n", "1", "-l", &entry]].concat(), "")?
            .success()?;
        Ok([
            exported(flavor, &source, &["-n", "1"])?,
            exported(flavor, &source, &["-n", "0", "-a", DEFINITIONS])?,
        ])
    };
    let [entries, our_schema] = read(Flavor::OpenLdap, &ours)?;
    let [our_entries, schema] = read(Flavor::Ironbark, &theirs)?;
    assert_alike("entries", &entries, &our_entries, &NormalizedLdif::VOLATILE)?;
    assert_alike(
        "definitions of slapd, read by ours, and the reverse",
        &schema,
        &our_schema,
        &NormalizedLdif::VOLATILE,
    )
}

/// A slapd.conf with the schema, and a database.
fn configuration(file: &CorpusFile) -> String {
    let needs = marked(file, "# Needs: ").map(|needed| format!("include @SCHEMA@/{needed}\n"));
    let own = if file.is_ldif() {
        String::new()
    } else {
        format!("include @FOLDER@/{}\n", file.name)
    };
    format!("{USUAL_SCHEMA}{}{own}{DATABASE}", needs.collect::<String>())
}

/// The suffix, and the entry that the file has in its comments.
fn entry(file: &CorpusFile) -> String {
    let lines: Vec<&str> = marked(file, "# Entry: ").collect();
    format!(
        "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n{}\n",
        lines.join("\n")
    )
}

/// The lines of a file after a mark. They are ASCII, also where the rest is not.
fn marked<'a>(file: &'a CorpusFile, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = file.content.split(|&byte| byte == b'\n');
    lines.filter_map(move |line| str::from_utf8(line).ok()?.strip_prefix(mark).map(str::trim_end))
}

const USUAL_SCHEMA: &str = "\
include @SCHEMA@/core.schema
include @SCHEMA@/cosine.schema
include @SCHEMA@/inetorgperson.schema
";

const DATABASE: &str = "\
modulepath @MODULES@
moduleload back_mdb
database mdb
suffix dc=example,dc=com
directory @FOLDER@/db
";

/// The entries of cn=config with the definitions of files.
const DEFINITIONS: &str = "(&(objectClass=olcSchemaConfig)(!(cn=schema)))";
