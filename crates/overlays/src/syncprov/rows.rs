//! Settings of slapo-syncprov(5).

use ironbark_config::{Form, Setting, SettingLevel, overlay_field};

use super::settings::SyncprovConfig;

const SYNCPROV: SettingLevel = SettingLevel::Overlay("syncprov");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SYNCPROV, &["syncprov-checkpoint"], &["olcSpCheckpoint"])
        .olc("3.1.1", Form::Text)
        .takes("<ops> <minutes>", "")
        .does("Says when slapd writes contextCSN to the database.")
        .since("2.3")
        .meaningless("contextCSN is written with each change, in the same transaction"),
    Setting::new(SYNCPROV, &["syncprov-sessionlog"], &["olcSpSessionlog"])
        .olc("3.1.2", Form::Integer)
        .takes("<ops>", "")
        .does("Says how many changes slapd keeps in memory for consumers that were away.")
        .since("2.3")
        .meaningless("changes are kept in the database as long as changelog-size and changelog-age allow"),
    Setting::new(SYNCPROV, &["syncprov-nopresent"], &["olcSpNoPresent"])
        .olc("3.1.3", Form::Boolean)
        .takes("on|off", "FALSE")
        .does(
            "Does not name the entries that are still there to a consumer whose cookie is older than the log of \
             changes. So the consumer does not find out what was deleted. It is for databases that are logs themselves.",
        )
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(overlay_field!(SyncprovConfig.no_present)),
    Setting::new(SYNCPROV, &["syncprov-reloadhint"], &["olcSpReloadHint"])
        .olc("3.1.4", Form::Boolean)
        .takes("on|off", "FALSE")
        .does(
            "Answers with e-syncRefreshRequired (4096) if a consumer's cookie is older than the log of changes and its \
             request does not have the reload hint. It is for databases that are logs themselves.",
        )
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(overlay_field!(SyncprovConfig.reload_hint)),
    Setting::new(SYNCPROV, &["syncprov-sessionlog-source"], &["olcSpSessionlogSource"])
        .olc("3.1.5", Form::Name)
        .takes("<dn>", "")
        .does("Names the accesslog database from which slapd reads the changes for consumers that were away.")
        .since("2.5")
        .meaningless("the database's own log of changes is read, also after a restart"),
];
