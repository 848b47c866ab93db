//! What `ironbark` alone prints: the subcommands in groups, a line each, and how one begins.

use std::fmt::Write as _;

use clap::Command;

/// The subcommands by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["init", "serve", "container", "completions"]),
    (
        "See",
        &["health", "explain", "advise", "changes", "support-bundle", "version"],
    ),
    ("Keep", &["backup", "restore", "replica", "compare-replicas", "cluster"]),
    ("Move", &["check-migration", "import", "config-file", "slapd"]),
    ("Measure", &["generate", "load"]),
];

const EXAMPLES: [&str; 3] = [
    "ironbark init ./directory --suffix dc=example,dc=com",
    "ironbark serve -f directory/slapd.conf",
    "ironbark explain '(&(objectClass=person)(sn=Ma*))'",
];

/// Puts the page into the grammar of the command line.
pub(super) fn put(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let page = page(&command);
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}{{after-help}}\n\n{header}Options:{header:#}\n{{options}}"
        ))
        .after_help(page)
}

fn page(command: &Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut page = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(page, "{header}{group}:{header:#}");
        for name in names {
            let found = command.find_subcommand(name).and_then(Command::get_about);
            let about = found.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {literal}{name:<16}{literal:#}  {about}");
        }
        page.push('\n');
    }
    let _ = writeln!(page, "{header}Examples:{header:#}");
    for line in EXAMPLES {
        let _ = writeln!(page, "  {line}");
    }
    page.push_str("\n`ironbark help COMMAND` says more, with examples. OpenLDAP's tools are here by their names:\n");
    page.push_str("`ironbark slapadd`, `ironbark slapcat` and the others.\n");
    page.push_str("`ironbark help TOPIC` shows a page of the documentation, `ironbark help topics` lists them.");
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::Ironbark;

    #[test]
    fn each_command_is_in_one_group_and_has_one_line() {
        let command = Ironbark::command();
        let mut known: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
        let mut shown: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        known.sort_unstable();
        shown.sort_unstable();
        assert_eq!(known, shown);
        let text = put(command).render_help().to_string();
        for (group, names) in GROUPS {
            assert!(text.contains(&format!("\n{group}:\n  {}", names[0])), "{text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= 80 || line.starts_with('`'), "{line}");
        }
        for name in known {
            assert_eq!(text.matches(&format!("\n  {name:<16}  ")).count(), 1, "{name}: {text}");
        }
    }
}
