//! `ironbark help TOPIC`: a page of the documentation in the terminal.
//!
//! `ironbark help COMMAND` is the grammar's. Where a command and a page have the same name, the command is shown, and
//! its last line names the page.

mod pager;
mod table;
mod text;
mod topics;
mod wrap;

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use self::{text::Reader, topics::TOPICS};

/// Shows the page that the command line asks for, or says that there is none. `None`: it does not ask for a page.
pub(super) fn run(arguments: &[OsString], grammar: &clap::Command) -> Option<ExitCode> {
    let [_, help, topic] = arguments else { return None };
    let topic = topic.to_str()?;
    if help != "help" || topic.starts_with('-') || grammar.find_subcommand(topic).is_some() {
        return None;
    }
    let is_terminal = io::stdout().is_terminal();
    let shown = match topics::find(topic) {
        Some(page) if is_terminal => text::text(page.markdown, reader(), width(env::var("COLUMNS").ok().as_deref())),
        Some(page) => text::text(page.markdown, Reader::Pipe, WIDTH),
        None if topic == "topics" => list(),
        None => {
            anstream::eprintln!("{}", unknown(topic, grammar));
            return Some(ExitCode::from(USAGE));
        }
    };
    let result = if is_terminal {
        pager::show(&shown)
    } else {
        io::Write::write_all(&mut io::stdout(), shown.as_bytes())
    };
    Some(match result {
        // A reader who closes the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            anstream::eprintln!("ironbark: standard output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    })
}

/// Puts the name of the page below the help of each command with a page of its name.
pub(super) fn name_pages(mut grammar: clap::Command) -> clap::Command {
    let names: Vec<String> = grammar.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names.iter().filter(|name| topics::find(name).is_some()) {
        grammar = grammar.mut_subcommand(name, |command| {
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            command.after_help(format!("{examples}\n\nThe page about it: ironbark help docs/{name}"))
        });
    }
    grammar
}

/// Without colours, styles are left out as well.
fn reader() -> Reader {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => Reader::Pipe,
        _ => Reader::Terminal,
    }
}

/// The characters of a line: those of the terminal if it says so, within what is read well.
fn width(columns: Option<&str>) -> usize {
    let columns = columns.and_then(|columns| columns.parse::<usize>().ok());
    columns.map_or(WIDTH, |columns| columns.clamp(LEAST_WIDTH, MOST_WIDTH))
}

/// All topics, each with its title.
fn list() -> String {
    let mut text = "Pages of the documentation, for `ironbark help TOPIC`:\n\n".to_owned();
    for topic in TOPICS {
        let _ = writeln!(text, "  {:<14}  {}", topic.name, topics::title(topic));
    }
    text.push_str("\n`docs/NAME` names a page that has the name of a command.\n");
    text
}

/// The message for a name that is neither a command nor a page, with the most similar ones.
fn unknown(name: &str, grammar: &clap::Command) -> String {
    let commands = grammar.get_subcommands().map(clap::Command::get_name);
    let names = commands.chain(TOPICS.iter().map(|topic| topic.name)).chain(["topics"]);
    let wanted = name.to_ascii_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (strsim::osa_distance(name, &wanted), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .collect();
    near.sort_unstable();
    near.dedup();
    let mut text = format!("ironbark: help: there is no command and no page \"{name}\"");
    let similar: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    if !similar.is_empty() {
        let _ = write!(text, "; similar: {}", similar.join(", "));
    }
    text.push_str("\n`ironbark` lists the commands, `ironbark help topics` the pages.");
    text
}

const LEAST_WIDTH: usize = 40;
const MOST_WIDTH: usize = 100;
/// The status for a wrong command line.
const USAGE: u8 = 2;
/// The width where nothing says another one.
const WIDTH: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn grammar() -> clap::Command {
        super::super::grammar()
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_a_single_name_that_is_no_command_is_a_topic() {
        for line in [
            "ironbark help",
            "ironbark help backup",
            "ironbark help load search",
            "ironbark serve x",
            "ironbark help -h",
        ] {
            assert!(run(&words(line), &grammar()).is_none(), "{line}");
        }
        assert!(run(&words("ironbark help no-such-page"), &grammar()).is_some());
    }

    #[test]
    fn an_unknown_name_gives_similar_ones() {
        let grammar = grammar();
        for (name, similar) in [
            ("replicaton", "similar: replication"),
            ("bakcup", "similar: backup"),
            ("clutser", "similar: cluster\n"),
        ] {
            let message = unknown(name, &grammar);
            assert!(message.contains(similar), "{message}");
        }
        assert!(!unknown("qqqqqqqq", &grammar).contains("similar"));
    }

    #[test]
    fn a_command_with_a_page_of_its_name_names_the_page() {
        let mut grammar = grammar();
        for name in ["changes", "cluster", "container", "explain", "load"] {
            let help = grammar.find_subcommand_mut(name).unwrap().render_help().to_string();
            assert!(help.contains(&format!("ironbark help docs/{name}\n")), "{help}");
        }
        let help = grammar.find_subcommand_mut("backup").unwrap().render_help().to_string();
        assert!(!help.contains("ironbark help docs/"), "{help}");
    }

    #[test]
    fn every_page_is_text_for_a_pipe() {
        for topic in TOPICS {
            let text = text::text(topic.markdown, Reader::Pipe, WIDTH);
            assert!(
                text.starts_with(topics::title(topic).get(..4).unwrap()),
                "{}",
                topic.name
            );
            assert!(!text.contains('\u{1b}'), "{}", topic.name);
        }
        assert!(list().contains("\n  replication     Replication\n"), "{}", list());
    }

    #[test]
    fn the_width_is_that_of_the_terminal_within_limits() {
        assert_eq!([width(None), width(Some("x")), width(Some("90"))], [80, 80, 90]);
        assert_eq!([width(Some("10")), width(Some("300"))], [40, 100]);
    }
}
