//! Rows of slapo-dynlist(5).

use ironbark_config::{Form, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler};

use super::settings::{DynlistConfig, SetSetting};

const DYNLIST: SettingLevel = SettingLevel::Overlay("dynlist");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(
        DYNLIST,
        &["dynlist-attrset", "dynlist-attrpair", "attrpair"],
        &["olcDynListAttrSet", "olcDlAttrSet"],
    )
    .olc("3.8.1", Form::Ordered)
    .takes(
        "<class> [<URL of entries>] <URL attribute> \
             [[<name>:]<attribute>[+<memberOf attribute>[@<class of static groups>][*]]] ...",
        "",
    )
    .does(
        "Sets what entries of a class have through the LDAP URLs that they hold, in an attribute that is labeledURI or \
         a subtype. A URL between class and attribute keeps to the entries that it names. With one `<attribute>`, an \
         entry is a dynamic group: the attribute has the names of all entries that its URLs find, those with a list of \
         attributes left out. `+` adds the attribute in which members see their groups; `@` makes that hold for static \
         groups of a class too; `*` makes members of groups among the members count in both directions. Without \
         `<attribute>`, an entry is a dynamic list: it has the attributes that its URL lists (all user attributes, if \
         it lists none) of all entries that the URL finds, but those that are lists themselves. \
         `<name>:<attribute>` gives such an attribute another name, or the same, and filters then see it; those that \
         are not named here are shown and compared, and no filter sees them.\n\nURLs are followed with the rights of the \
         client, or of `dgIdentity` if the entry has it and no `dgAuthz`, or one that names the client. Filters must be \
         searchable and entries readable for it; for values in `<memberOf attribute>` always for the client, and the \
         class of the group must be searchable. Access rules bind `dgIdentity` even if it is a rootdn. Who may write \
         `dgIdentity` sees what that identity sees: access rules should guard it. Under manageDSAit nothing is added.\n\n\
         `dynlist-attrpair <member attribute> <URL attribute>`, as slapd 2.3 wrote it, is `dynlist-attrset groupOfURLs \
         <URL attribute> <member attribute>`.",
    )
    .since("2.3")
    .like(&[
        "groupOfURLs memberURL member+memberOf@groupOfNames*",
        "groupOfURLs memberURL mail:mail",
    ])
    .obeyed(overlay_handler!(DynlistConfig, add, |settings, _| {
        settings.sets.iter().map(SetSetting::text).collect()
    })),
    Setting::new(DYNLIST, &["dynlist-simple"], &["olcDynListSimple"])
        .olc("3.8.2", Form::Boolean)
        .takes("TRUE|FALSE", "FALSE")
        .does("Does as slapd 2.4 did: no filter sees what is added, there is no memberOf, and groups are not nested.")
        .since("2.6")
        .like(&["TRUE"])
        .obeyed(overlay_field!(DynlistConfig.is_simple)),
];

fn add(settings: &mut DynlistConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let is_pair = statement.keyword.to_ascii_lowercase().ends_with("attrpair");
    settings.sets.push(if is_pair {
        SetSetting::of_pair(statement)?
    } else {
        SetSetting::parse(statement)?
    });
    Ok(())
}
