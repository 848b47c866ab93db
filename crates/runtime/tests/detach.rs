//! Process life with real processes: this program starts itself in the roles below.
//!
//! It brings its own `main`, because a fork needs a process without the test harness's threads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "all of it is test code"
)]

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio, exit};
use std::time::Duration;

use ironbark_runtime::SignalFlag;
use ironbark_runtime::process::{DetachError, detach, drop_privileges, enter_chroot};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::{Pid, Uid, getpgid, getpid, getsid};

type Check = (&'static str, fn());

const CHECKS: [Check; 6] = [
    (
        "the_parent_succeeds_when_the_daemon_listens",
        the_parent_succeeds_when_the_daemon_listens,
    ),
    (
        "the_parent_repeats_why_the_daemon_does_not_listen",
        the_parent_repeats_why_the_daemon_does_not_listen,
    ),
    (
        "the_parent_fails_when_the_daemon_dies_silently",
        the_parent_fails_when_the_daemon_dies_silently,
    ),
    ("detaching_with_threads_is_refused", detaching_with_threads_is_refused),
    (
        "the_second_stop_signal_ends_the_process",
        the_second_stop_signal_ends_the_process,
    ),
    (
        "privileges_are_dropped_inside_a_chroot",
        privileges_are_dropped_inside_a_chroot,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [role, socket] = &arguments[..]
        && role.starts_with("role-")
    {
        return play(role, Path::new(socket));
    }
    // The options of the standard harness that tools pass.
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in CHECKS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
    for (name, check) in CHECKS
        .iter()
        .filter(|(name, _)| wanted.is_none_or(|wanted| name.contains(wanted.as_str())))
    {
        check();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn play(role: &str, argument: &Path) -> ExitCode {
    match role {
        "role-listen" => {
            let readiness = detach().unwrap();
            let mut teller = UnixStream::connect(argument).unwrap();
            readiness.ready().unwrap();
            let stdout = fs::read_link("/proc/self/fd/1").unwrap();
            let leader = getsid(None).unwrap() == getpid();
            let group = getpgid(None).unwrap() == getsid(None).unwrap();
            write!(teller, "{} {} {leader} {group}", getpid(), stdout.display()).unwrap();
            teller.shutdown(std::net::Shutdown::Write).unwrap();
            // Stays until the test has seen that the parent is gone.
            let _ = teller.read(&mut [0]);
        }
        "role-fail" => {
            let readiness = detach().unwrap();
            eprintln!("complaint on stderr");
            readiness.failed("cannot bind");
        }
        "role-die" => {
            let _unreported = detach().unwrap();
            exit(7);
        }
        "role-threads" => {
            let (hold, wait) = std::sync::mpsc::channel::<()>();
            let thread = ironbark_runtime::spawn_named("idle", move || wait.recv()).unwrap();
            assert!(matches!(detach(), Err(DetachError::ThreadsRunning(2))));
            drop(hold);
            thread.join().unwrap().unwrap_err();
        }
        "role-stop" => {
            let stop = SignalFlag::install().unwrap();
            assert!(!stop.is_set());
            raise(Signal::SIGTERM).unwrap();
            assert!(stop.is_set());
            println!("still alive");
            raise(Signal::SIGINT).unwrap();
            println!("not reached");
        }
        "role-drop" => {
            let identity = ironbark_runtime::process::ProcessIdentity::look_up(Some("nobody"), None).unwrap();
            enter_chroot(argument).unwrap();
            assert!(Path::new("/inside").exists());
            identity.assume().unwrap();
            assert!(!Uid::current().is_root() && !Uid::effective().is_root());
            assert_eq!(Some(Uid::current().as_raw()), identity.ids().0);
            assert!(drop_privileges(Some("root"), None).is_err());
        }
        other => panic!("no role {other}"),
    }
    ExitCode::SUCCESS
}

fn run(role: &str, argument: &Path) -> Output {
    Command::new(env::current_exe().unwrap())
        .arg(role)
        .arg(argument)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn the_parent_succeeds_when_the_daemon_listens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // `output` returns only when stdout and stderr are closed, too: the daemon must have let go of them.
    let output = run("role-listen", &path);
    assert_eq!((output.status.code(), said(&output.stderr)), (Some(0), String::new()));
    let (mut daemon, _) = listener.accept().unwrap();
    daemon.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut words = String::new();
    daemon.read_to_string(&mut words).unwrap();
    let words: Vec<&str> = words.split(' ').collect();
    let pid = Pid::from_raw(words[0].parse().unwrap());
    assert_eq!(
        words[1..],
        ["/dev/null", "false", "true"],
        "stdout, session leader, own session"
    );
    kill(pid, None).expect("the daemon outlives its parent");
}

fn the_parent_repeats_why_the_daemon_does_not_listen() {
    let output = run("role-fail", Path::new("-"));
    assert_eq!(output.status.code(), Some(1));
    let stderr = said(&output.stderr);
    assert!(
        stderr.contains("complaint on stderr\n") && stderr.contains("cannot bind\n"),
        "{stderr}"
    );
}

fn the_parent_fails_when_the_daemon_dies_silently() {
    let output = run("role-die", Path::new("-"));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output.stderr).contains("ended before it was listening"),
        "{}",
        said(&output.stderr)
    );
}

fn detaching_with_threads_is_refused() {
    let output = run("role-threads", Path::new("-"));
    assert!(output.status.success(), "{}", said(&output.stderr));
}

fn the_second_stop_signal_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let output = run("role-stop", Path::new("-"));
    assert_eq!(
        output.status.signal(),
        Some(Signal::SIGINT as i32),
        "{}",
        said(&output.stderr)
    );
    assert_eq!(said(&output.stdout), "still alive\n");
}

fn privileges_are_dropped_inside_a_chroot() {
    if !Uid::effective().is_root() {
        // Without root the kernel must refuse, and the refusal must be told.
        assert!(enter_chroot(Path::new("/")).is_err());
        assert!(drop_privileges(Some("root"), None).is_err());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("inside"), "").unwrap();
    let output = run("role-drop", dir.path());
    assert!(output.status.success(), "{}", said(&output.stderr));
}
