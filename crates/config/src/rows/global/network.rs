//! Connections, timeouts and threads.

use crate::{
    class::ConfigClass,
    rows::fields::global_field,
    setting::{Form, Handler, Level::Global, OWN, Setting},
    value::Value,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["conn_max_pending"], &["olcConnMaxPending"])
        .olc("0.11", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(100)])
        .shown()
        .takes("<requests>", "100")
        .does("Limits the operations under way on an anonymous connection; further requests wait until one has ended.")
        .like(&["200"])
        .obeyed(global_field!(max_pending)),
    Setting::new(Global, &["conn_max_pending_auth"], &["olcConnMaxPendingAuth"])
        .olc("0.12", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(110)])
        .shown()
        .takes("<requests>", "1000")
        .does("Is the same limit for authenticated connections.")
        .like(&["2000"])
        .obeyed(global_field!(max_pending_authenticated)),
    Setting::new(Global, &["sockbuf_max_incoming"], &["olcSockbufMaxIncoming"])
        .olc("0.61", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(570)])
        .shown()
        .takes("<bytes>", "262143")
        .does("Limits the size of a message on an anonymous connection; beyond it the connection is closed.")
        .like(&["4194303"])
        .obeyed(global_field!(max_incoming)),
    Setting::new(Global, &["sockbuf_max_incoming_auth"], &["olcSockbufMaxIncomingAuth"])
        .olc("0.62", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(580)])
        .shown()
        .takes("<bytes>", "16777215")
        .does("Is the same limit for authenticated connections. All connections together may make the server hold 64 times as much.")
        .like(&["4194303"])
        .obeyed(global_field!(max_incoming_authenticated)),
    Setting::new(Global, &["idletimeout"], &["olcIdleTimeout"])
        .olc("0.18", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(140)])
        .shown()
        .takes("<seconds>", "0")
        .does("Closes connections that have been idle this long; 0 never does.")
        .like(&["300"])
        .obeyed(global_field!(idle_timeout_s)),
    Setting::new(Global, &["writetimeout"], &["olcWriteTimeout"])
        .olc("0.88", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(790)])
        .shown()
        .takes("<seconds>", "0")
        .does("Closes connections whose client has not taken an answer for this long; 0 never does.")
        .since("2.4")
        .like(&["30"])
        .obeyed(global_field!(write_timeout_s)),
    Setting::new(Global, &["gentlehup"], &["olcGentleHUP"])
        .olc("0.17", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(130)])
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Makes SIGHUP a gentle stop: no new connections, writes are refused, and the server ends when its clients have \
             left. Otherwise SIGHUP stops it like SIGTERM.",
        )
        .like(&["on"])
        .obeyed(global_field!(gentle_hup)),
    Setting::new(Global, &["sighup"], &["olcSigHup"])
        .olc("+25", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(540)])
        .takes("stop|reload", "stop")
        .does(
            "Says what SIGHUP does: `stop`, as in slapd (see `gentlehup`); `reload`: certificates, keys and revocation lists are read \
             again and the log file is opened anew, while connections live on.",
        )
        .since(OWN)
        .like(&["reload"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.reloads_on_hangup = match statement.one()?.to_ascii_lowercase().as_str() {
                    "stop" => false,
                    "reload" => true,
                    other => return Err(format!("\"{other}\" is neither stop nor reload").into()),
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
        .does("Is the security strength factor of ldapi:// connections.")
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
            "Limits the number of threads that serve connections. There is one for each core at most, whatever this says, \
             and that is the default. Where a database is bigger than half of the memory, threads wait for the disk: then \
             there are as many as this says, 16 by default.",
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
        .does("Limits the number of threads of tools that load or index. The default is one for each core.")
        .like(&["2"])
        .obeyed(global_field!(tool_threads)),
    Setting::new(Global, &["concurrency"], &["olcConcurrency"])
        .olc("0.10", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(90)])
        .shown()
        .takes("<count>", "0")
        .does("Is a hint to old thread libraries.")
        .meaningless("threads are the kernel's; there is nothing to hint"),
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
            "Looks up the names of clients, as access rules with `domain` ask for them, before they are served: in `/etc/hosts` and DNS, for at \
             most five seconds. Such a name is what the owner of the address says. Without it every name is `unknown`, and `local` on a local socket.",
        )
        .like(&["on"])
        .obeyed(global_field!(reverse_lookup)),
];
