//! Rows of slapo-homedir(5).

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler, reader::quote_value,
};

use super::{
    path::PathRule,
    settings::{DeleteStyle, HomedirConfig},
};

const HOMEDIR: SettingLevel = SettingLevel::Overlay("homedir");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(HOMEDIR, &["homedir-skeleton-path"], &["olcSkeletonPath"])
        .olc("4.8.1", Form::Text)
        .takes("<directory>", "/etc/skel")
        .does(
            "New home directories are copies of this directory: directories, files, symbolic links (as links) and \
             named pipes, with their modes. Files lose set-user-ID and set-group-ID. The directory belongs to the \
             administrator, links in its path are followed.",
        )
        .since("2.6")
        .like(&["/usr/share/skel"])
        .obeyed(overlay_field!(HomedirConfig.skeleton)),
    Setting::new(HOMEDIR, &["homedir-min-uidnumber"], &["olcMinimumUidNumber"])
        .olc("4.8.2", Form::Integer)
        .takes("<number>", "100")
        .does("Accounts with a lower uidNumber are never touched.")
        .since("2.6")
        .like(&["1000"])
        .obeyed(overlay_field!(HomedirConfig.min_uid)),
    Setting::new(HOMEDIR, &["homedir-regexp"], &["olcHomedirRegexp"])
        .olc("4.8.3", Form::Ordered)
        .takes("<regexp> <path>", "")
        .does(
            "Values of homeDirectory that match the expression (POSIX extended, case-sensitive) have their directory \
             at `path`, in which `$0` to `$9` stand for the match and its groups, and `\\` for the character behind \
             it. The first expression that matches counts. All work happens below the part of `path` that is the same \
             for all accounts. It is found so: the text before the first `$`, and the text with which everything that \
             this group matches begins; of both together, all before the last `/`. `^(/home/[a-z]+)$ /export$1` works \
             below `/export/home`. If there is no such directory, or only `/`, the setting is refused: write for \
             example `^/([a-z/]+)$ /home/$1`. Links in the path of this directory are followed, further down none is.",
        )
        .since("2.6")
        .like(&[
            "^(/home/[-_/a-z0-9]+)$ $1",
            "^(/home/[-_/a-z0-9]+)$ /export$1",
            "\"^/home/([a-z ]+)$\" /srv/homes/$1",
        ])
        .obeyed(overlay_handler!(HomedirConfig, add, |settings, _| {
            let texts = settings.rules.iter().map(|rule| {
                let (expression, replacement) = rule.words();
                format!("{} {}", quote_value(expression), quote_value(replacement))
            });
            texts.collect()
        })),
    Setting::new(HOMEDIR, &["homedir-delete-style"], &["olcHomedirDeleteStyle"])
        .olc("4.8.4", Form::Text)
        .takes("IGNORE|DELETE|ARCHIVE", "IGNORE")
        .does(
            "Says what happens to the home directory when its entry, or all of homeDirectory, uidNumber and gidNumber, \
             is deleted: nothing, it is deleted, or it is written to a tar file and then deleted.",
        )
        .since("2.6")
        .like(&["DELETE", "ARCHIVE"])
        .obeyed(overlay_handler!(
            HomedirConfig,
            |settings, statement| {
                let word = statement.one()?;
                settings.style =
                    DeleteStyle::of(word).ok_or_else(|| format!("unrecognized style keyword \"{word}\""))?;
                Ok(())
            },
            |settings, _| vec![settings.style.word().to_owned()],
        )),
    Setting::new(HOMEDIR, &["homedir-archive-path"], &["olcHomedirArchivePath"])
        .olc("4.8.5", Form::Text)
        .takes("<directory>", "")
        .does(
            "The directory for archives: `<name>-<seconds since 1970>-<number>.tar`, for the server's user alone. An \
             archive appears when it is complete.",
        )
        .since("2.6")
        .like(&["/var/archive/homes"])
        .obeyed(overlay_field!(HomedirConfig.archive)),
];

fn add(settings: &mut HomedirConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [expression, replacement] = statement.arguments else {
        return Err(format!("expected {}", statement.grammar).into());
    };
    let rule = PathRule::new(expression, replacement).map_err(|error| error.to_string())?;
    settings.rules.push(rule);
    statement.notice_lost_escape(0);
    Ok(())
}
