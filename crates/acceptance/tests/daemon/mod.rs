//! The server as a process: start, detaching, exit status, connections, log lines, the end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod server;
mod stuck_log;
mod supervisor;

use std::{fs, net::Shutdown, os::unix::net::UnixStream};

use server::{
    Place, Running, SEARCH_DONE, exists, read_message, read_notice, run, search, search_subschema, signal, stderr,
    wait_until, write,
};

#[test]
fn it_detaches_when_it_listens_and_ends_with_a_signal() {
    let place = Place::new("");
    let output = run(&mut place.slapd(&place.local_url()));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    // It listens: otherwise the parent would not have returned.
    let mut stream = std::os::unix::net::UnixStream::connect(place.path("ldapi")).unwrap();
    write(&mut stream, &search(1));
    assert!(read_message(&mut stream).is_some());
    let pid = place.pid();
    signal(pid, "TERM");
    assert!(wait_until(|| (!exists(&place.path("ldapi")) && !exists(&place.path("pid"))).then_some(())).is_some());
    assert!(wait_until(|| (!exists(format!("/proc/{pid}/exe").as_ref())).then_some(())).is_some());
}

#[test]
fn a_bad_configuration_is_refused_with_file_and_line() {
    for debug in [None, Some("-d256")] {
        let place = Place::new("nonsense on");
        let output = run(place.slapd(&place.local_url()).args(debug));
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("slapd.conf: line 2"), "{}", stderr(&output));
        assert!(!exists(&place.path("ldapi")));
        assert!(!exists(&place.path("pid")));
    }
}

#[test]
fn a_start_that_fails_leaves_the_pid_file_of_another_server_alone() {
    let place = Place::new("");
    let pid = place.path("pid").display().to_string();
    let database = place.path("db");
    fs::create_dir(&database).unwrap();
    fs::write(database.join("data.mdb"), [7; 8192]).unwrap();
    let settings = format!(
        "pidfile {pid}\ndatabase mdb\nsuffix cn=x\ndirectory {}\n",
        database.display()
    );
    fs::write(place.path("slapd.conf"), settings).unwrap();
    fs::write(&pid, "12345\n").unwrap();
    let output = run(&mut place.slapd(&place.local_url()));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("data.mdb"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&pid).unwrap(), "12345\n");
}

#[test]
fn the_pid_file_of_a_server_that_runs_stays_when_another_one_starts_and_ends() {
    let mut first = Running::start("");
    let written = fs::read_to_string(first.place.path("pid")).unwrap();
    let log = first.place.path("second.log");
    let mut second = first
        .place
        .slapd("ldap://127.0.0.1:0/")
        .args(["-d", "256"])
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || fs::read_to_string(&log).unwrap();
    let runs = wait_until(|| said().contains("slapd starting").then_some(()));
    assert!(
        runs.is_some() && said().contains("is that of another server"),
        "{}",
        said()
    );
    assert_eq!(fs::read_to_string(first.place.path("pid")).unwrap(), written);
    signal(second.id(), "TERM");
    let ended = wait_until(|| second.try_wait().unwrap());
    assert!(ended.is_some_and(|status| status.success()), "{}", said());
    assert_eq!(fs::read_to_string(first.place.path("pid")).unwrap(), written);
    first.signal("TERM");
    assert_eq!(first.wait(), Some(0));
    assert!(!exists(&first.place.path("pid")));
}

#[test]
fn what_cannot_be_listened_on_is_refused() {
    let place = Place::new("");
    for (urls, reason) in [
        ("pldapi:///", "the scheme must be"),
        ("ldap://127.0.0.1:1x/", "the port must be a number"),
        ("ldapi://%2Fnonexistent%2Fldapi/", "cannot listen"),
    ] {
        let output = run(&mut place.slapd(urls));
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = run(&mut place.slapd(&format!("ldap://{}/", taken.local_addr().unwrap())));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot listen"), "{}", stderr(&output));
}

#[test]
fn connections_are_logged_in_slapds_words() {
    let mut running = Running::start("");
    let mut stream = running.connect();
    write(&mut stream, &[0x30, 5, 2, 1, 1, 0x42, 0]);
    assert_eq!(read_message(&mut stream), None);
    drop(running.connect_tcp());
    running.wait_for_line("conn=1001 fd=");
    running.wait_for_line(" closed (connection lost)");
    running.signal("TERM");
    assert_eq!(running.wait(), Some(0));
    let path = running.place.path("ldapi").display().to_string();
    let log = running.log();
    let message = |line: &str| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
    let lines: Vec<String> = log.lines().map(message).filter(|line| !line.contains(" op=")).collect();
    let without_descriptor = |line: &str| {
        line.split(' ')
            .filter(|word| !word.starts_with("fd="))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let lines: Vec<String> = lines.iter().map(|line| without_descriptor(line)).collect();
    assert_eq!(lines[1], "slapd starting");
    assert_eq!(lines[2], format!("conn=1000 ACCEPT from PATH={path} (PATH={path})"));
    assert_eq!(lines[3], "conn=1000 closed");
    assert!(lines[4].starts_with("conn=1001 ACCEPT from IP=127.0.0.1:") && lines[4].contains(" (IP=127.0.0.1:"));
    assert_eq!(lines[5], "conn=1001 closed (connection lost)");
    assert_eq!(lines[6], "daemon: shutdown requested and initiated.");
    assert_eq!(lines[7], "slapd shutdown: waiting for 0 operations/tasks to finish");
    assert_eq!(lines[8], "slapd stopped.");
    // Seconds and nanoseconds in hexadecimal, and the thread.
    let prefix: Vec<&str> = log.lines().next().unwrap().split(' ').take(2).collect();
    let (seconds, fraction) = prefix[0].split_once('.').unwrap();
    assert!(i64::from_str_radix(seconds, 16).is_ok() && fraction.len() == 8 && prefix[1].starts_with("0x"));
}

/// RFC 4511 §4.4.1.
#[test]
fn what_is_not_ldap_gets_a_notice_and_is_disconnected() {
    let running = Running::start("sockbuf_max_incoming 1000");
    let too_long = [0x30, 0x82, 0x03, 0xe9];
    for bytes in [
        &b"GET / HTTP/1.0\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        &too_long,
        &[0x30, 0x80],
    ] {
        let mut stream = running.connect_tcp();
        write(&mut stream, bytes);
        read_notice(&mut stream);
    }
    // The server waits for the longest allowed message.
    let mut stream = running.connect_tcp();
    write(&mut stream, &[0x30, 0x82, 0x03, 0xe8]);
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_message(&mut stream), None);
}

#[test]
fn messages_may_come_in_pieces_and_in_crowds() {
    let running = Running::start("");
    let mut stream = running.connect();
    for byte in search(7) {
        write(&mut stream, &[byte]);
    }
    while read_message(&mut stream) != Some((7, SEARCH_DONE)) {}
    // More than one turn, and more than one read.
    let count = 5000;
    let crowd: Vec<u8> = (1..=count).flat_map(search).collect();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::Builder::new()
        .spawn(move || write(&mut writer, &crowd))
        .unwrap();
    let mut done = Vec::new();
    while done.len() < usize::from(count) {
        let (id, tag) = read_message(&mut stream).unwrap();
        if tag == SEARCH_DONE {
            done.push(id);
        }
    }
    sender.join().unwrap();
    assert!(
        done.iter().copied().eq(1..=count),
        "answers in the order of the requests"
    );
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    let running = Running::start("threads 1");
    let mut deaf = running.connect();
    deaf.set_write_timeout(Some(std::time::Duration::from_millis(200)))
        .unwrap();
    let crowd: Vec<u8> = (1..=1000).flat_map(search).collect();
    // Until the server stops reading, because the client does not read its answers.
    let is_stuck = (0..10_000).any(|_| std::io::Write::write_all(&mut deaf, &crowd).is_err());
    assert!(is_stuck, "the server takes requests without bound");
    let mut other = running.connect();
    write(&mut other, &search(1));
    while read_message(&mut other) != Some((1, SEARCH_DONE)) {}
}

#[test]
fn idle_connections_are_closed() {
    let mut running = Running::start("idletimeout 1");
    let mut stream = running.connect();
    assert_eq!(read_message(&mut stream), None);
    running.wait_for_line("closed (idletimeout)");
}

#[test]
fn new_connections_do_not_put_off_the_timeouts() {
    let mut running = Running::start("threads 1\nidletimeout 1");
    let idle = running.connect();
    idle.set_nonblocking(true).unwrap();
    // Far more often than timeouts are checked.
    let is_closed = wait_until(|| {
        drop(running.connect());
        matches!(std::io::Read::read(&mut &idle, &mut [0]), Ok(0)).then_some(())
    });
    assert!(is_closed.is_some());
    running.wait_for_line("closed (idletimeout)");
}

#[test]
fn a_client_that_takes_nothing_is_closed_after_the_write_timeout() {
    let mut running = Running::start("writetimeout 1");
    let mut deaf = running.connect();
    deaf.set_write_timeout(Some(std::time::Duration::from_millis(200)))
        .unwrap();
    let crowd: Vec<u8> = (1..=1000).flat_map(search).collect();
    while std::io::Write::write_all(&mut deaf, &crowd).is_ok() {}
    running.wait_for_line("closed (writetimeout)");
}

#[test]
fn at_the_end_clients_are_told() {
    let mut running = Running::start("");
    let mut stream = running.connect();
    write(&mut stream, &search(1));
    while read_message(&mut stream) != Some((1, SEARCH_DONE)) {}
    running.signal("TERM");
    let notice = read_notice(&mut stream);
    let unavailable = [0x0a, 1, 52];
    assert!(notice.windows(3).any(|part| part == unavailable));
    assert_eq!(running.wait(), Some(0));
    running.wait_for_line("closed (slapd shutdown)");
}

#[test]
fn a_signal_as_soon_as_the_port_answers_ends_it_cleanly() {
    for _ in 0..5 {
        let place = Place::new("");
        let log = fs::File::create(place.path("log")).unwrap();
        let mut child = place
            .slapd(&place.local_url())
            .args(["-d", "256"])
            .stderr(log)
            .spawn()
            .unwrap();
        // Without a pause: a start takes a few milliseconds more.
        while UnixStream::connect(place.path("ldapi")).is_err() {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let ended = wait_until(|| child.try_wait().unwrap());
        assert_eq!(ended.and_then(|status| status.code()), Some(0));
        let log = fs::read_to_string(place.path("log")).unwrap();
        assert!(log.contains("slapd stopped."), "{log}");
    }
}

#[test]
fn a_hangup_opens_the_log_file_anew_and_stops_nothing() {
    let mut running = Running::start("sighup reload\nlogfile file\nloglevel stats");
    let mut stream = running.connect();
    write(&mut stream, &search(1));
    while read_message(&mut stream) != Some((1, SEARCH_DONE)) {}
    let (log, old) = (running.place.path("file"), running.place.path("file.1"));
    fs::rename(&log, &old).unwrap();
    running.signal("HUP");
    let has = |text: &str| {
        fs::read_to_string(&log)
            .is_ok_and(|lines| lines.contains(text))
            .then_some(())
    };
    assert!(wait_until(|| has("daemon: reload requested")).is_some());
    write(&mut stream, &search(2));
    while read_message(&mut stream) != Some((2, SEARCH_DONE)) {}
    assert!(wait_until(|| has("op=1 SRCH")).is_some());
    // If a new file cannot be opened, the old one stays in use.
    fs::rename(&log, running.place.path("file.2")).unwrap();
    fs::create_dir(&log).unwrap();
    running.signal("HUP");
    running.wait_for_line("the one that is open stays in use");
    running.signal("TERM");
    assert_eq!(running.wait(), Some(0));
    let last = fs::read_to_string(running.place.path("file.2")).unwrap();
    assert!(
        last.contains("slapd stopped.") && !fs::read_to_string(&old).unwrap().contains("reload"),
        "{last}"
    );
}

#[test]
fn a_hangup_ends_it_as_it_ends_slapd() {
    let mut running = Running::start("");
    let mut stream = running.connect();
    // A connection that was not accepted yet gets no notice.
    write(&mut stream, &search(1));
    while read_message(&mut stream) != Some((1, SEARCH_DONE)) {}
    running.signal("HUP");
    read_notice(&mut stream);
    assert_eq!(running.wait(), Some(0));
}

#[test]
fn a_gentle_hangup_waits_for_the_clients() {
    let mut running = Running::start("gentlehup on");
    let mut stream = running.connect();
    write(&mut stream, &search(1));
    while read_message(&mut stream) != Some((1, SEARCH_DONE)) {}
    running.signal("HUP");
    running.wait_for_line("slapd gentle shutdown");
    assert!(wait_until(|| (!exists(&running.place.path("ldapi"))).then_some(())).is_some());
    write(&mut stream, &search(2));
    while read_message(&mut stream) != Some((2, SEARCH_DONE)) {}
    drop(stream);
    assert_eq!(running.wait(), Some(0));
    running.wait_for_line("daemon: no active streams, shutdown initiated.");
}

#[test]
fn the_log_file_gets_what_loglevel_asks_for() {
    let place = Place::new("logfile log\nlogfile-only on\nlogfile-format rfc3339-utc\nloglevel stats");
    let output = run(&mut place.slapd(&place.local_url()));
    assert!(output.status.success(), "{}", stderr(&output));
    drop(std::os::unix::net::UnixStream::connect(place.path("ldapi")).unwrap());
    let has = |text: &str| {
        fs::read_to_string(place.path("log"))
            .unwrap()
            .contains(text)
            .then_some(())
    };
    assert!(wait_until(|| has("closed (connection lost)")).is_some());
    signal(place.pid(), "TERM");
    assert!(wait_until(|| has("slapd stopped.")).is_some());
    let log = fs::read_to_string(place.path("log")).unwrap();
    let line = log.lines().find(|line| line.contains("ACCEPT")).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert!(
        words[0].len() == 30 && words[0].ends_with('Z') && words[2].starts_with("slapd["),
        "{line}"
    );
}

#[test]
fn requests_that_waited_for_room_are_served_once_there_is_room() {
    const COUNT: u16 = 100;
    let running = Running::start("");
    let mut stream = running.connect_tcp();
    // One write asks for far more than the server produces before the client must read some of it.
    let crowd: Vec<u8> = (1..=COUNT).flat_map(search_subschema).collect();
    write(&mut stream, &crowd);
    for id in 1..=COUNT {
        while read_message(&mut stream) != Some((id, SEARCH_DONE)) {}
    }
}
