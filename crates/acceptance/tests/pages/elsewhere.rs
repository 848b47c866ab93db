//! Command lines that do not run in a test: their programs, options, targets and variables are checked.

use ironbark_testkit::repository_root;

use super::{
    page::{self, Block},
    sandbox::Sandbox,
};

/// Checks a block that does not run here, for `reason`. `others` are its programs that are not ours.
#[track_caller]
pub(crate) fn elsewhere(block: &Block, reason: &str, others: &[&str]) {
    let sandbox = Sandbox::new();
    for line in block.lines() {
        if let Err(fault) = check(&sandbox, &line, others) {
            panic!("{} (not run: {reason}): {line}: {fault}", block.place);
        }
    }
    for program in others {
        let is_there = block
            .lines()
            .iter()
            .any(|line| line.split_whitespace().any(|word| word == *program));
        assert!(is_there, "{}: {program} is not there any more", block.place);
    }
}

/// Why a command line cannot be right.
fn check(sandbox: &Sandbox, line: &str, others: &[&str]) -> Result<(), String> {
    let is_assignment = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        word.contains('=') && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    // A value in quotes may have blanks.
    let program = words
        .iter()
        .position(|word| !is_assignment(word) && !word.ends_with('\''));
    let program = program.ok_or("it has no program")?;
    let name = words[program];
    let scripts = page::texts_below("scripts");
    let variables = line.split_whitespace().filter(is_assignment);
    for variable in variables.map(|word| word.split('=').next().unwrap_or_default()) {
        let is_known = scripts.contains(variable) || makefile().contains(variable);
        is_known.then_some(()).ok_or(format!("no script knows {variable}"))?;
    }
    match name.rsplit('/').next().unwrap_or_default() {
        _ if others.contains(&name) => Ok(()),
        "ironbark" => parsed(sandbox, &line.replacen(name, "ironbark", 1)),
        tool if tool.starts_with("slap") && !name.starts_with('/') => parsed(sandbox, line),
        "make" => words[program + 1..]
            .iter()
            .filter(|word| !is_assignment(word))
            .try_for_each(|target| has_target(target)),
        "slapd-takeover" => {
            let command = words.get(program + 1).ok_or("no command")?;
            let takeover = page::text("packaging/debian/slapd-takeover");
            let usage = takeover
                .lines()
                .find_map(|line| line.split_once("usage: slapd-takeover check"));
            let (_, others) = usage.ok_or("slapd-takeover has no usage")?;
            let is_known = *command == "check" || others.split(['|', ' ']).any(|word| word == *command);
            is_known.then_some(()).ok_or(format!("no command {command}"))
        }
        _ if name.starts_with("scripts/") => {
            let is_there = repository_root().join(name).is_file();
            is_there.then_some(()).ok_or(format!("no file {name}"))
        }
        _ => Err(format!("{name} is named neither as ours nor as another one's")),
    }
}

fn makefile() -> String {
    page::text("Makefile")
}

fn has_target(target: &str) -> Result<(), String> {
    let start = format!("{target}:");
    let is_there = makefile().lines().any(|line| line.starts_with(&start));
    is_there.then_some(()).ok_or(format!("make has no target {target}"))
}

/// Whether our program knows the command, its options and their values. Nothing of it is done.
fn parsed(sandbox: &Sandbox, line: &str) -> Result<(), String> {
    let done = sandbox.shell(&format!("{line} --help"));
    if done.code != Some(0) {
        return Err(format!("{}{}", done.stdout, done.stderr));
    }
    let Some((_, options)) = line.split_once("slap") else {
        return Ok(());
    };
    // `--help` is obeyed before the other options of slapd's programs are read.
    let usage = done.stdout + &done.stderr;
    let options = options
        .split_whitespace()
        .filter(|word| word.starts_with('-') && *word != "-");
    for option in options.map(|option| option.split(['=', '[']).next().unwrap_or_default()) {
        let letter = option.get(..2).unwrap_or(option);
        if !usage.contains(option) && (option.starts_with("--") || !usage.contains(letter)) {
            return Err(format!("{option} is not in the usage:\n{usage}"));
        }
    }
    Ok(())
}

/// Commands in the text of the pages that are no command lines.
const FORMS: [&str; 6] = [
    "ironbark help COMMAND",
    "ironbark help TOPIC",
    "ironbark slap...",
    "ironbark load help WORKLOAD",
    "ironbark slapd",
    "ironbark check-migration DIR|FILE",
];

#[test]
fn each_command_in_the_text_of_a_page_is_one_of_ours() {
    let sandbox = Sandbox::new();
    let mut faults = Vec::new();
    let mut count = 0;
    for name in page::all() {
        for code in page::code_in_text(&name) {
            let is_safe = !code.contains(['>', '|', '<', ';', '$', '`']);
            if !code.starts_with("ironbark ") || FORMS.contains(&code.as_str()) || !is_safe {
                continue;
            }
            count += 1;
            // `[...]` is what may be left out, `...` what is left out.
            let line = code.split(['[', '\n']).next().unwrap_or_default().replace("...", "");
            if let Err(fault) = parsed(&sandbox, line.trim()) {
                faults.push(format!("{name}: {code}: {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 30, "{count} commands were found");
}
