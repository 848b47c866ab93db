//! Tests of the routing of levels.

use std::sync::MutexGuard;

use super::*;

/// All logs of the process share the cached interest of call sites: a second log would change it during the test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    lock(&ALONE)
}

fn options(debug: LevelMask, levels: LevelMask) -> LogOptions {
    LogOptions {
        debug,
        syslog_levels: levels,
        syslog: SyslogOptions::default(),
        has_plain_time: false,
    }
}

fn file_options(path: &std::path::Path, only: bool) -> FileOptions {
    FileOptions {
        path: path.to_owned(),
        format: ironbark_config::LogFileFormat::Debug,
        only,
        rotation: None,
        host: "h".to_owned(),
        name: "slapd".to_owned(),
    }
}

fn routes(log: &Log) -> (u32, u32, u32) {
    let load = |mask: &AtomicU32| mask.load(Ordering::Relaxed);
    (load(&log.0.to_stderr), load(&log.0.to_syslog), load(&log.0.to_file))
}

#[test]
fn masks_are_routed_as_slapd_does() {
    let _alone = alone();
    let log = Log::new(options(1, 256), Clock::system());
    assert_eq!(routes(&log), (1, 256, 0));
    log.set_file(Some(file_options("/dev/null".as_ref(), false)));
    assert_eq!(routes(&log), (1, 256, 1));
    log.set_file(Some(file_options("/dev/null".as_ref(), true)));
    assert_eq!(routes(&log), (0, 0, 257));
    log.set_levels(0);
    assert_eq!(routes(&log), (0, 0, 1));
}

#[test]
fn events_go_by_the_level_of_their_target() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut options = options(0, level::STATS);
    options.syslog.socket = folder.path().join("none");
    let log = Log::new(options, Clock::system());
    log.set_file(Some(file_options(&path, true)));
    log.start_writer().unwrap();
    tracing::subscriber::with_default(log.subscriber(), || {
        tracing::info!(target: "stats", "conn={} fd={} closed", 1000, 12);
        tracing::info!(target: "stats2", "not shown");
        tracing::info!(target: "any", "slapd starting");
        tracing::info!(target: "some_library", "not shown");
        tracing::warn!(target: "ironbark_store", reason = "full\ndisk", "a warning");
        log.set_levels(level::STATS | 512);
        tracing::info!(target: "stats2", "shown now");
    });
    log.close();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    assert_eq!(
        lines,
        [
            "conn=1000 fd=12 closed",
            "slapd starting",
            "a warning reason=full\\0Adisk",
            "shown now"
        ]
    );
}

#[test]
fn no_character_of_a_client_ends_a_line() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = Log::new(options(0, level::STATS), Clock::system());
    log.set_file(Some(file_options(&path, true)));
    log.start_writer().unwrap();
    tracing::subscriber::with_default(log.subscriber(), || {
        for breaking in [
            "\n", "\r", "\u{b}", "\u{7f}", "\u{85}", "\u{9b}", "\u{2028}", "\u{2029}",
        ] {
            tracing::info!(target: "stats", dn = format!("é{breaking}\t"), "BIND é{breaking}x\n");
        }
    });
    log.close();
    let text = std::fs::read_to_string(&path).unwrap();
    let escaped = ["0A", "0D", "0B", "7F", "C2\\85", "C2\\9B", "E2\\80\\A8", "E2\\80\\A9"];
    let expected: Vec<String> = escaped
        .iter()
        .map(|octets| format!("BIND é\\{octets}x dn=é\\{octets}\t"))
        .collect();
    let lines: Vec<&str> = text.split('\n').filter_map(|line| line.splitn(3, ' ').nth(2)).collect();
    assert_eq!(lines, expected);
}

#[test]
fn disabled_levels_are_known_at_the_call_site() {
    let _alone = alone();
    let log = Log::new(options(0, 0), Clock::system());
    tracing::subscriber::with_default(log.subscriber(), || {
        assert!(!tracing::enabled!(target: "stats", tracing::Level::INFO));
        log.set_levels(level::STATS);
        assert!(tracing::enabled!(target: "stats", tracing::Level::INFO));
    });
}

#[test]
fn settings_are_replaced_while_the_log_is_written() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let mut options = options(0, 0);
    options.syslog.socket = folder.path().join("none");
    let log = Log::new(options, Clock::system());
    let mut global = GlobalConfig::default();
    global.log_file = Some(one.clone());
    global.log_file_only = true;
    global.log_level = Some(LogLevel(level::STATS));
    log.prepare(&global).unwrap().commit();
    log.start_writer().unwrap();
    tracing::subscriber::with_default(log.subscriber(), || {
        tracing::info!(target: "stats", "conn=1 op=2 first");
        global.log_file = Some(folder.path().join("no/such/folder"));
        assert!(log.prepare(&global).is_err());
        tracing::info!(target: "stats", "still the old one");
        global.log_file = Some(two.clone());
        global.log_file_format = ironbark_config::LogFileFormat::Json;
        // As in cn=Monitor: another change of the configuration does not touch it.
        log.set_levels(level::STATS | 512);
        log.prepare(&global).unwrap().commit();
        tracing::info!(target: "stats2", "conn=1 op=3 second");
        global.log_level = Some(LogLevel(level::STATS));
        global.log_file_only = true;
        log.prepare(&global).unwrap().commit();
    });
    assert_eq!(log.levels(), level::STATS | 512, "loglevel has not changed");
    global.log_level = None;
    log.prepare(&global).unwrap().commit();
    assert_eq!(log.levels(), 0, "what -s says");
    log.close();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert!(read(&one).contains("conn=1 op=2 first\n") && read(&one).ends_with("still the old one\n"));
    let line = read(&two);
    assert!(
        line.ends_with("\"conn\":1,\"op\":3,\"message\":\"second\"}\n"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
}
