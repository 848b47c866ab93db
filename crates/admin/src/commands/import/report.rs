//! report.md: what was changed and why, and what to do next.

use std::{fmt::Write as _, path::Path};

use super::{
    configuration::Database,
    rules::{self, RULES},
    schema::Imported,
    settings::Settings,
    source::Source,
    tally::{Count, Counts, Tally},
};
use crate::shared::{access_options::USUAL_URL, shell};

/// What the report tells.
pub(super) struct Report<'r> {
    pub(super) source: Source,
    /// Whether the source was given, or recognized.
    pub(super) is_given: bool,
    pub(super) directory: &'r Path,
    pub(super) databases: &'r [Database],
    pub(super) administrator: &'r str,
    pub(super) tally: &'r Tally,
    pub(super) settings: &'r Settings,
    pub(super) has_configuration: bool,
    pub(super) imported: &'r Imported,
    pub(super) unreadable: &'r [String],
    pub(super) has_schema: bool,
    pub(super) refused_indexes: &'r [String],
    pub(super) overlays: &'r [String],
}

/// Lines of a list.
const SHOWN: usize = 100;

/// The text in Markdown.
pub(super) fn report(report: &Report<'_>) -> String {
    let mut text = format!("# Import from {}\n\n", report.source.server());
    let how = if report.is_given {
        "given by `--from`"
    } else {
        "recognized from the data"
    };
    let _ = writeln!(text, "The source was {how}.\n");
    let tally = report.tally;
    let _ = writeln!(text, "- entries read: {}", tally.read);
    let _ = writeln!(text, "- entries loaded: {}", tally.written);
    for database in report.databases {
        let glued = if database.is_subordinate {
            ", glued into the one above it"
        } else {
            ""
        };
        let _ = writeln!(text, "- database `{}`{glued}", database.suffix);
    }
    let taken = report.settings.overlays.iter().map(|overlay| &overlay.text);
    for overlay in report.overlays.iter().chain(taken) {
        let _ = writeln!(text, "- `{}`", overlay.lines().next().unwrap_or_default());
    }
    changes(report, &mut text);
    left_out(report, &mut text);
    counts("Entries that break the schema", BROKEN, &tally.faults, &mut text);
    counts(
        "Passwords that cannot be verified",
        PASSWORDS,
        &tally.schemes,
        &mut text,
    );
    schema(report, &mut text);
    access(report, &mut text);
    settings(report, &mut text);
    next(report, &mut text);
    text
}

const BROKEN: &str = "They are loaded as they are and can be read. They cannot be changed until their classes are put \
    right: their next change must do that. `ironbark slapschema -f slapd.conf` lists them.";
const PASSWORDS: &str = "They are loaded, but nobody can bind with them: give these people new passwords.";

/// A text in a cell or a list: no line breaks, no markup of ours.
fn plain(text: &str) -> String {
    text.chars()
        .map(|one| if one.is_control() { ' ' } else { one })
        .collect::<String>()
        .replace('|', "\\|")
}

fn examples(count: &Count) -> String {
    let shown: Vec<String> = count.examples.iter().map(|dn| format!("`{}`", plain(dn))).collect();
    shown.join("; ")
}

fn changes(report: &Report<'_>, text: &mut String) {
    let applied: Vec<_> = RULES
        .iter()
        .zip(&report.tally.rules)
        .filter(|(_, count)| count.number > 0)
        .collect();
    text.push_str("\n## What was changed\n\n");
    if applied.is_empty() {
        text.push_str("Nothing: all entries are loaded as they were.\n");
        return;
    }
    text.push_str("| number | there | here | why | first |\n|---|---|---|---|---|\n");
    for (rule, count) in applied {
        let (subject, shown) = (rules::subject(rule), examples(count));
        let _ = writeln!(
            text,
            "| {} | {subject} | {} | {} | {shown} |",
            count.number, rule.becomes, rule.why
        );
    }
}

fn counts(head: &str, explanation: &str, counts: &Counts, text: &mut String) {
    if counts.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {head}\n\n{explanation}\n");
    for (name, count) in counts.iter().take(SHOWN) {
        let _ = writeln!(text, "- `{}`: {} ({})", plain(name), count.number, examples(count));
    }
    if counts.len() > SHOWN {
        let _ = writeln!(text, "- {} more", counts.len() - SHOWN);
    }
}

fn left_out(report: &Report<'_>, text: &mut String) {
    let hint = if report.has_schema {
        "The schema given by `--schema` does not define them."
    } else {
        "Import again with `--schema` and the schema files of the old server to keep them."
    };
    let left = format!("They are left out, and stand in left-out.ldif. {hint}");
    counts("Unknown attribute types", &left, &report.tally.unknown_types, text);
    counts("Unknown object classes", &left, &report.tally.unknown_classes, text);
    counts(
        "Values of the wrong form",
        "The matching rule of the attribute does not accept them. They are left out, and stand in left-out.ldif.",
        &report.tally.bad_values,
        text,
    );
    if report.tally.outside.number > 0 {
        let count = &report.tally.outside;
        let _ = writeln!(
            text,
            "\n## Entries of other suffixes\n\nNo database holds them. They are left out, and stand in left-out.ldif.\n\n\
             - {} ({})",
            count.number,
            examples(count)
        );
    }
}

fn schema(report: &Report<'_>, text: &mut String) {
    let imported = report.imported;
    if imported.types + imported.classes + report.unreadable.len() + imported.changes.len() == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "\n## Schema\n\nschema/imported.schema has {} attribute types and {} object classes that the data uses.\n",
        imported.types, imported.classes
    );
    for change in imported.changes.iter().take(SHOWN) {
        let _ = writeln!(text, "- {}", plain(change));
    }
    let is_complete = report.tally.unknown_types.is_empty() && report.tally.unknown_classes.is_empty();
    for one in report.unreadable.iter().take(if is_complete { 0 } else { SHOWN }) {
        let _ = writeln!(text, "- not readable: {}", plain(one));
    }
}

fn access(report: &Report<'_>, text: &mut String) {
    let aci = &report.tally.aci;
    if aci.is_empty() {
        return;
    }
    text.push_str(
        "\n## Access rules\n\nThe values of `aci` are not converted. slapd.conf has rules that let everyone who has \
         authenticated read everything but passwords: write what differs as `access to` there (docs/settings.md), and \
         try it with `ironbark slapacl`.\n\n",
    );
    for (dn, rule) in aci {
        let _ = writeln!(text, "- `{}`: `{}`", plain(dn), plain(rule));
    }
    text.push_str("\nleft-out.ldif has all of them.\n");
}

fn settings(report: &Report<'_>, text: &mut String) {
    text.push_str("\n## Settings\n\n");
    if !report.has_configuration {
        text.push_str(
            "No configuration was given (`--config`): slapd.conf has the settings of `ironbark init`, with passwords \
             taken over TLS and ldapi:// alone.\n",
        );
    }
    if !report.settings.notes.is_empty() {
        text.push_str("| there | here |\n|---|---|\n");
    }
    for (what, becomes) in &report.settings.notes {
        let _ = writeln!(text, "| {} | {} |", plain(what), plain(becomes));
    }
    if !report.refused_indexes.is_empty() {
        let _ = writeln!(
            text,
            "\nIndexes that are not needed or not possible here: {}.",
            plain(&report.refused_indexes.join(", "))
        );
    }
}

fn next(report: &Report<'_>, text: &mut String) {
    let directory = report.directory.display();
    let config = shell::quoted_path(&report.directory.join("slapd.conf"));
    let folder = shell::quoted_path(report.directory);
    let _ = write!(
        text,
        "\n## What to do next\n\n\
         1. Read this report, and left-out.ldif beside it if there is one.\n\
         2. Write access rules in {directory}/slapd.conf. The administrator is `{}`.\n\
         3. Serve: `ironbark serve -f {config} -H {USUAL_URL}`.\n\
         4. Compare what clients find here and there, and then point them here.\n",
        plain(report.administrator)
    );
    if report.source == Source::Ds389 {
        let _ = write!(
            text,
            "5. To keep the certificate of 389, take it out of its NSS database. pwdfile.txt has the password of that \
             database; another one, for the file between, is asked for. Clients trust the same authority as before.\n\n    \
             cd {folder}\n    \
             pk12util -d /etc/dirsrv/slapd-INSTANCE -k /etc/dirsrv/slapd-INSTANCE/pwdfile.txt -n Server-Cert -o \
             server.p12\n    \
             openssl pkcs12 -in server.p12 -nokeys -clcerts -out tls/server.crt\n    \
             openssl pkcs12 -in server.p12 -nocerts -nodes -out tls/server.key\n    \
             rm server.p12\n\n\
             6. While clients go on with 389, its changes can come by replication: docs/replication.md, \"Moving from 389 \
             Directory Server\".\n"
        );
    }
}
