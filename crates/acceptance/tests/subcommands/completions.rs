//! `ironbark completions`: in bash itself.

use std::process::Command;

use ironbark_testkit::Flavor;

#[test]
fn bash_completes_commands_and_their_options() {
    let program = Flavor::Ironbark.program().unwrap();
    let completed = |words: &str| {
        let count = words.split(' ').count() - 1;
        let script = format!(
            "source <({0} completions bash); COMP_WORDS=({words}); COMP_CWORD={count}; \
             _ironbark ironbark \"${{COMP_WORDS[$COMP_CWORD]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            program.display()
        );
        let output = Command::new("/bin/bash").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(completed("ironbark back"), "backup\n");
    assert!(completed("ironbark init --suf").contains("--suffix"));
}

#[test]
fn the_usual_shells_have_a_script() {
    let program = Flavor::Ironbark.program().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(&program).args(["completions", shell]).output().unwrap();
        assert!(output.status.success() && output.stdout.len() > 1_000, "{shell}");
    }
    let unknown = Command::new(&program).args(["completions", "csh"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}
