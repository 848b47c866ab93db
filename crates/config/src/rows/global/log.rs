//! `loglevel` and the log file.

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    global::log::LogRotation,
    log_level::LogLevel,
    rows::fields::global_field,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    statement::Statement,
    value::parse_u32,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["loglevel"], &["olcLogLevel"])
        .olc("0.28", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(250)])
        .shown()
        .takes("<level> ...", "stats")
        .does(
            "Says which messages go to syslog. Names and numbers may be combined; an explicit 0 takes back the words \
             before it. The names are `trace` (1), `packets` (2), `args` (4), `conns` (8), `ber` (16), `filter` (32), \
             `config` (64), `acl` (128), `stats` (256), `stats2` (512), `parse` (2048), `sync` (16384), `none` (32768: \
             only what is always logged) and `any`.",
        )
        .like(&["stats sync", "0x101"])
        .obeyed(Handler::Global {
            set: set_level,
            get: |config, _| vec![config.log_level.unwrap_or(LogLevel::STATS).text().join(" ")],
        }),
    Setting::new(Global, &["logfile"], &["olcLogFile"])
        .olc("0.27", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(230)])
        .of_each_server()
        .takes("<file>", "")
        .does("Names a file that gets the messages that `-d` sends to stderr. The tools do not use it.")
        .like(&["/var/log/slapd.log"])
        .whole()
        .obeyed(global_field!(log_file)),
    Setting::new(Global, &["logfile-only"], &["olcLogFileOnly"])
        .olc("0.102", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(260)])
        .takes("on|off", "FALSE")
        .does("Sends the messages of `-d` and `loglevel` to the log file and nowhere else.")
        .since("2.6")
        .like(&["on"])
        .obeyed(global_field!(log_file_only)),
    Setting::new(Global, &["logfile-format"], &["olcLogFileFormat"])
        .olc("0.104", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(240)])
        .takes("debug|syslog-utc|syslog-localtime|rfc3339-utc|json", "debug")
        .does(
            "Chooses the beginning of each line of the log file. With `json`, which OpenLDAP does not have, each line \
             is an object with `time`, `level`, `thread` and `message`; a line about a connection or an operation also \
             has `conn`, `op` and `fd`.",
        )
        .since("2.6")
        .like(&["rfc3339-utc", "syslog-localtime", "json"])
        .obeyed(global_field!(log_file_format)),
    Setting::new(Global, &["slowlog"], &["olcSlowLog"])
        .olc("+1", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(560)])
        .takes("<milliseconds>", "0")
        .does(
            "Writes a line about each operation that takes this long or longer, at any log level, if there is a log. \
             The line shows the operation, its duration and its result; for a search also the entries examined and \
             sent, the filter without values, and the plan. 0 turns this off.",
        )
        .since(OWN)
        .like(&["250"])
        .obeyed(global_field!(slow_log_ms)),
    Setting::new(Global, &["logfile-rotate"], &["olcLogFileRotate"])
        .olc("0.103", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(270)])
        .takes("<files> <megabytes> <hours>", "")
        .does(
            "Begins a new log file when the old one has reached a size or an age. 1 to 99 old files are kept, named \
             `.01` and so on. 0 means any size or any age; one of the two must be given.",
        )
        .since("2.6")
        .like(&["5 100 24"])
        .obeyed(Handler::Global {
            set: set_rotation,
            get: |config, _| {
                let text = |rotation: &LogRotation| {
                    format!("{} {} {}", rotation.keep, rotation.max_megabytes, rotation.max_hours)
                };
                config.log_rotation.iter().map(text).collect()
            },
        }),
];

fn set_level(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let mut mask = config.log_level.unwrap_or_default().0;
    for word in statement.some()? {
        let level = LogLevel::parse(word).ok_or_else(|| format!("unknown level \"{word}\""))?;
        mask = if level.0 == 0 { 0 } else { mask | level.0 };
    }
    config.log_level = Some(LogLevel(mask));
    Ok(())
}

fn set_rotation(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [keep, megabytes, hours] = statement.some()? else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let number = |text: &str, what| parse_u32(text).ok_or_else(|| format!("invalid {what} value \"{text}\""));
    let rotation = LogRotation {
        keep: number(keep, "max")?,
        max_megabytes: number(megabytes, "Mbyte")?,
        max_hours: number(hours, "hours")?,
    };
    if !(1..=99).contains(&rotation.keep) {
        return Err(format!("invalid max value \"{keep}\" must be 1-99").into());
    }
    if rotation.max_megabytes == 0 && rotation.max_hours == 0 {
        return Err("Mbyte and hours cannot both be zero".into());
    }
    config.log_rotation = Some(rotation);
    Ok(())
}
