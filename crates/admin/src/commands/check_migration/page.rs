//! The page: the verdict first, then what it rests on.

use std::fmt::Write as _;

use ironbark_advisor::{Finding, FindingClass, FindingPlace};
use ironbark_config::parts::{Part, PartKind, module_name};

use super::{Report, start::Start};
use crate::shared::{
    colour::{bad, good},
    shell,
};

/// Lines of a list.
const SHOWN: usize = 25;
/// Entries that are dumped by slapcat and loaded in a second, with many to each: measured with Debian's slapd
/// (docs/packages.md), on two cores.
const PER_SECOND: u64 = 9_000;
/// Our file beside slapd's, in hundredths (docs/benchmarks.md).
const SIZE_HUNDREDTHS: u64 = 20;

/// The whole page.
pub(super) fn page(report: &Report<'_>) -> String {
    let mut text = String::new();
    let obstacles = obstacles(report);
    let differences = differences(report);
    let verdict = match (obstacles.len(), differences.len()) {
        (0, 0) => format!("{}: Ironbark takes this installation as it stands.", good("GO")),
        (0, 1) => format!(
            "{}: Ironbark takes this installation. One thing will differ.",
            good("GO")
        ),
        (0, count) => format!(
            "{}: Ironbark takes this installation. {count} things will differ.",
            good("GO")
        ),
        (1, _) => format!("{}: one thing stands in the way.", bad("NO-GO")),
        (count, _) => format!("{}: {count} things stand in the way.", bad("NO-GO")),
    };
    let _ = writeln!(text, "Migration of {} to Ironbark\n\n{verdict}\n", report.named);
    let (obeyed, meaningless) = report.written.counts();
    let _ = writeln!(text, "Settings   {obeyed} obeyed, {meaningless} without meaning here");
    modules(report, &mut text);
    databases(report, &mut text);
    start(report, &mut text);
    data(report, &mut text);
    time(report, &mut text);
    list("What stands in the way", &obstacles, &mut text);
    list("What will differ", &differences, &mut text);
    remarks(report, &mut text);
    next(report, &mut text);
    text
}

fn obstacles(report: &Report<'_>) -> Vec<String> {
    let blocking = report.findings.iter().filter(|finding| finding.blocks);
    let mut all: Vec<String> = blocking.map(line).collect();
    if let Start::Fails(why) = &report.start {
        all.push(format!("start: {why}"));
    }
    all.extend(report.failed.as_ref().map(|text| format!("data: {text}")));
    if let Some(checked) = &report.checked {
        all.extend(checked.complaints.iter().map(|complaint| format!("data: {complaint}")));
        let more = checked.refused.saturating_sub(checked.complaints.len() as u64);
        if more > 0 {
            all.push(format!("data: {more} more entries are refused"));
        }
    }
    all
}

fn differences(report: &Report<'_>) -> Vec<String> {
    let is_one =
        |finding: &&Finding| !finding.blocks && matches!(finding.class, FindingClass::Unknown | FindingClass::Ignored);
    report.findings.iter().filter(is_one).map(line).collect()
}

/// A finding without line breaks.
fn line(finding: &Finding) -> String {
    let place = match &finding.place {
        FindingPlace { dn: Some(dn), .. } => dn.clone(),
        FindingPlace { file, line: 0, .. } => file.clone(),
        FindingPlace { file, line, .. } => format!("{file}:{line}"),
    };
    let advice = match finding.advice.as_str() {
        "" => String::new(),
        advice => format!("; {advice}"),
    };
    let text = format!("{}: {}{advice} ({place})", finding.setting, finding.reason);
    text.chars()
        .map(|one| if one.is_control() { ' ' } else { one })
        .collect()
}

fn modules(report: &Report<'_>, text: &mut String) {
    let mut shown: Vec<String> = Vec::new();
    for (name, part) in report.written.modules() {
        let state = part.as_ref().map_or("unknown", state);
        let one = format!("{}: {state}", module_name(name));
        if !shown.contains(&one) {
            shown.push(one);
        }
    }
    for (number, one) in shown.iter().enumerate() {
        let _ = writeln!(text, "{:<10} {one}", if number == 0 { "Modules" } else { "" });
    }
}

fn state(part: &Part) -> &'static str {
    match part.kind {
        PartKind::Database | PartKind::Overlay | PartKind::Passwords | PartKind::Module => "part of the program",
        PartKind::BuiltIn(reason) => reason,
        PartKind::MissingDatabase | PartKind::MissingOverlay | PartKind::MissingModule | PartKind::MissingRules => {
            "not built"
        }
        PartKind::RefusedDatabase(instead) | PartKind::RefusedOverlay(instead) | PartKind::RefusedModule(instead) => {
            instead
        }
    }
}

fn databases(report: &Report<'_>, text: &mut String) {
    let with_sizes = report.written.databases().iter().zip(&report.sizes);
    for (number, (database, size)) in with_sizes.enumerate() {
        let suffix = database.suffixes.first().map_or("", |suffix| suffix.pretty());
        let size = match size {
            Some(size) => {
                let entries = size.entries.map_or_else(
                    || "not a file of back-mdb".to_owned(),
                    |count| format!("{count} entries"),
                );
                let later = megabytes(size.octets * SIZE_HUNDREDTHS / 100);
                format!(", {entries}, {} on disk, about {later} later", megabytes(size.octets))
            }
            None => String::new(),
        };
        let head = if number == 0 { "Databases" } else { "" };
        let _ = writeln!(text, "{head:<10} {} \"{suffix}\"{size}", database.kind.name);
    }
}

fn megabytes(octets: u64) -> String {
    const MEGABYTE: u64 = 1_000_000;
    if octets < MEGABYTE {
        format!("{} KB", octets.div_ceil(1_000))
    } else {
        format!("{} MB", octets.div_ceil(MEGABYTE))
    }
}

fn start(report: &Report<'_>, text: &mut String) {
    let told = match &report.start {
        Start::Works => "certificates, overlays and other files are as a start needs them".to_owned(),
        Start::Fails(_) => "fails, see below".to_owned(),
        Start::CannotTell(why) => format!("not checked: {why}"),
        Start::NotTried => return,
    };
    let _ = writeln!(text, "Start      {told}");
}

fn data(report: &Report<'_>, text: &mut String) {
    let told = match &report.checked {
        Some(checked) => format!(
            "{} entries ({} of LDIF) read in {:.1} s, {} refused",
            checked.entries,
            megabytes(checked.octets),
            checked.took.as_secs_f64(),
            checked.refused
        ),
        None if report.failed.is_some() => "could not be read".to_owned(),
        None if !report.findings.loads() => "not checked, as the configuration does not load".to_owned(),
        None => "not checked: give --slapcat /usr/sbin/slapcat, or --ldif FILE".to_owned(),
    };
    let _ = writeln!(text, "Data       {told}");
}

fn time(report: &Report<'_>, text: &mut String) {
    let of_files = report.sizes.iter().flatten().filter_map(|size| size.entries).sum();
    let entries: u64 = report.checked.as_ref().map_or(of_files, |checked| checked.entries);
    if entries > 0 {
        let seconds = entries.div_ceil(PER_SECOND) + 1;
        let _ = writeln!(
            text,
            "Time       about {seconds} s without service: slapcat and slapadd of {entries} entries"
        );
    }
}

fn list(head: &str, lines: &[String], text: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{head}");
    for line in lines.iter().take(SHOWN) {
        let _ = writeln!(text, "- {line}");
    }
    if lines.len() > SHOWN {
        let _ = writeln!(text, "- {} more", lines.len() - SHOWN);
    }
}

/// What is as it was: no part of the verdict, but worth a look.
fn remarks(report: &Report<'_>, text: &mut String) {
    let classes = [FindingClass::Unsafe, FindingClass::Missing, FindingClass::Old];
    let counted = classes.map(|class| (report.findings.count(class), class.name()));
    let counted: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if !counted.is_empty() {
        let counted = counted.join(", ");
        let _ = writeln!(
            text,
            "\nWorth a look, with slapd as with Ironbark: {counted}. `{} --explain` has them.",
            command(report, "slaptest")
        );
    }
}

fn next(report: &Report<'_>, text: &mut String) {
    if !report.is_possible() {
        return;
    }
    let _ = writeln!(
        text,
        "\nNext\n\
         - Debian's package ironbark-slapd converts the databases, and keeps the old ones. By hand, with slapd stopped:\n\
         - {} -b SUFFIX -l data.ldif (OpenLDAP's, for each database)\n\
         - move the directory of the database away, and make it anew\n\
         - {} -b SUFFIX -l data.ldif\n\
         - give the new directory to the user of the server (chown -R)\n\
         - {}",
        option(report, "slapcat"),
        command(report, "slapadd"),
        command(report, "slapd"),
    );
}

/// `slapcat -F /etc/ldap/slapd.d`
fn option(report: &Report<'_>, tool: &str) -> String {
    let letter = if report.written.is_directory() { "-F" } else { "-f" };
    format!("{tool} {letter} {}", shell::quoted(&report.named))
}

fn command(report: &Report<'_>, tool: &str) -> String {
    format!("ironbark {}", option(report, tool))
}
