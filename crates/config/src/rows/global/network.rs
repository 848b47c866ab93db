//! Connections, timeouts and threads.

use crate::{
    class::ConfigClass,
    rows::fields::global_field,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    value::Value,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["conn_max_pending"], &["olcConnMaxPending"])
        .olc("0.11", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(100)])
        .shown()
        .takes("<requests>", "100")
        .does(
            "Limits the operations in progress on an anonymous connection. Further requests wait until one has ended. \
             0 and negative numbers mean 1.",
        )
        .like(&["200"])
        .obeyed(global_field!(max_pending)),
    Setting::new(Global, &["conn_max_pending_auth"], &["olcConnMaxPendingAuth"])
        .olc("0.12", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(110)])
        .shown()
        .takes("<requests>", "1000")
        .does("Sets the same limit for authenticated connections.")
        .like(&["2000"])
        .obeyed(global_field!(max_pending_authenticated)),
    Setting::new(Global, &["sockbuf_max_incoming"], &["olcSockbufMaxIncoming"])
        .olc("0.61", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(570)])
        .shown()
        .takes("<bytes>", "262143")
        .does("Limits the size of a message on an anonymous connection. A bigger message closes the connection.")
        .like(&["4194303"])
        .obeyed(global_field!(max_incoming)),
    Setting::new(Global, &["sockbuf_max_incoming_auth"], &["olcSockbufMaxIncomingAuth"])
        .olc("0.62", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(580)])
        .shown()
        .takes("<bytes>", "16777215")
        .does(
            "Sets the same limit for authenticated connections. All connections together may make the server hold 64 \
             times as much.",
        )
        .like(&["4194303"])
        .obeyed(global_field!(max_incoming_authenticated)),
    Setting::new(Global, &["idletimeout"], &["olcIdleTimeout"])
        .olc("0.18", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(140)])
        .shown()
        .takes("<seconds>", "0")
        .does("Closes connections that have been idle for this long. 0 or a negative number turns this off.")
        .like(&["300", "-1"])
        .obeyed(global_field!(idle_timeout_s)),
    Setting::new(Global, &["writetimeout"], &["olcWriteTimeout"])
        .olc("0.88", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(790)])
        .shown()
        .takes("<seconds>", "0")
        .does(
            "Closes connections whose client has not read an answer for this long. 0 or a negative number turns this \
             off.",
        )
        .since("2.4")
        .like(&["30"])
        .obeyed(global_field!(write_timeout_s)),
    Setting::new(Global, &["gentlehup"], &["olcGentleHUP"])
        .olc("0.17", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(130)])
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Makes SIGHUP a gentle stop: the server takes no new connections, refuses writes, and ends when its \
             clients have left. Otherwise SIGHUP stops the server as SIGTERM does.",
        )
        .like(&["on"])
        .obeyed(global_field!(gentle_hup)),
    Setting::new(Global, &["sighup"], &["olcSigHup"])
        .olc("+25", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(540)])
        .takes("stop|reload", "stop")
        .does(
            "Says what SIGHUP does. `stop` ends the server, as in slapd (see `gentlehup`). `reload` reads \
             certificates, keys and revocation lists again and opens the log file anew; connections continue.",
        )
        .since(OWN)
        .like(&["reload"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.reloads_on_hangup = match statement.one()?.to_ascii_lowercase().as_str() {
                    "stop" => false,
                    "reload" => true,
                    other => return Err(format!("invalid value \"{other}\": stop or reload expected").into()),
                };
                Ok(())
            },
            get: |config, _| vec![if config.reloads_on_hangup { "reload" } else { "stop" }.to_owned()],
        }),
    Setting::new(Global, &["localSSF"], &["olcLocalSSF"])
        .olc("0.26", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(220)])
        .shown()
        .takes("<ssf>", "71")
        .does(
            "Sets the security strength factor of ldapi:// connections. A negative number is more than any other \
             factor, as in slapd.",
        )
        .since("2.4")
        .like(&["128"])
        .obeyed(global_field!(local_ssf)),
    Setting::new(Global, &["threads"], &["olcThreads"])
        .olc("0.66", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(600)])
        .shown()
        .takes("<count>", "")
        .at_next_start()
        .does(
            "Limits the number of threads that serve connections. The default, and the most, is one for each core. If \
             a database is bigger than half of the memory, threads wait for the disk; then there are as many as this \
             says, 16 by default.",
        )
        .like(&["4"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.threads = Some(u32::parse(statement)?).filter(|&count| count > 0);
                config.threads.map(drop).ok_or_else(|| "invalid value \"0\"".into())
            },
            get: |config, _| config.threads.text(),
        }),
    Setting::new(Global, &["tool-threads"], &["olcToolThreads"])
        .olc("0.80", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(780)])
        .shown()
        .takes("<count>", "")
        .does(
            "Limits the number of threads of tools that load or index. The default is one for each core. 0 and \
             negative numbers mean 1.",
        )
        .like(&["2"])
        .obeyed(global_field!(tool_threads)),
    Setting::new(Global, &["concurrency"], &["olcConcurrency"])
        .olc("0.10", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(90)])
        .shown()
        .takes("<count>", "0")
        .does("Gives a hint to old thread libraries.")
        .meaningless("the kernel manages threads and takes no hint"),
    Setting::new(Global, &["listener-threads"], &["olcListenerThreads"])
        .olc("0.93", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(210)])
        .shown()
        .takes("<count>", "1")
        .does("Sets the number of threads that watch connections.")
        .since("2.4")
        .meaningless("each serving thread watches its own connections"),
    Setting::new(Global, &["threadqueues"], &["olcThreadQueues"])
        .olc("0.95", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(610)])
        .shown()
        .takes("<count>", "1")
        .does("Sets the number of queues of the thread pool.")
        .since("2.5")
        .meaningless("each serving thread has its own queue"),
    Setting::new(Global, &["tcp-buffer"], &["olcTCPBuffer"])
        .olc("0.90", Form::ExactTexts)
        .allowed_by(&[ConfigClass::Global.at(590)])
        .takes("[listener=<url>] [read=|write=]<bytes>", "")
        .does("Sets the size of TCP buffers.")
        .since("2.4")
        .meaningless("the kernel tunes TCP buffers by itself"),
    Setting::new(Global, &["reverse-lookup"], &["olcReverseLookup"])
        .olc("0.49", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(420)])
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Looks up the names of clients, for access rules with `domain`, before the clients are served: in \
             `/etc/hosts` and DNS, for at most five seconds. The owner of an address decides which name it has. \
             Without this setting every name is `unknown`, and `local` on a local socket.",
        )
        .like(&["on"])
        .obeyed(global_field!(reverse_lookup)),
];
