//! Tests of the routing of levels.

use std::sync::MutexGuard;

use super::*;

/// The cached interest of call sites is one for the process: a second log would change it under the test's feet.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    lock(&ALONE)
}

fn options(debug: LevelMask, levels: LevelMask) -> LogOptions {
    LogOptions {
        debug,
        syslog_levels: levels,
        syslog: SyslogOptions::default(),
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
fn disabled_levels_are_known_at_the_call_site() {
    let _alone = alone();
    let log = Log::new(options(0, 0), Clock::system());
    tracing::subscriber::with_default(log.subscriber(), || {
        assert!(!tracing::enabled!(target: "stats", tracing::Level::INFO));
        log.set_levels(level::STATS);
        assert!(tracing::enabled!(target: "stats", tracing::Level::INFO));
    });
}
