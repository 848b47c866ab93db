//! The configuration of a directory in a test.

use std::{fmt::Write as _, path::Path};

use ironbark_config::{
    Disk, Form, LoadedConfiguration, Registry, Setting, SettingLevel, load,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_field,
};

/// Settings of overlay `tested`.
#[derive(Clone, PartialEq, Debug, Default)]
struct Tested {
    switch: bool,
}

impl OverlaySettings for Tested {}

static TESTED: OverlayDescriptor = OverlayDescriptor {
    name: "tested",
    modules: &[],
    occurrence: Occurrence::Once,
    class: Some(OverlayClass {
        names: &["olcTestedConfig"],
        oid: "3.900.1",
    }),
    settings: &[Setting::new(
        SettingLevel::Overlay("tested"),
        &["tested-switch"],
        &["olcTestedSwitch"],
    )
    .olc("3.900.1", Form::Boolean)
    .takes("on|off", "FALSE")
    .obeyed(overlay_field!(Tested.switch))],
    controls: &[],
    fresh: AnySettings::of::<Tested>,
    schema: "",
    introduction: "",
};

/// With overlay `tested`, whose only setting is `tested-switch`.
pub(crate) fn registry() -> Registry {
    Registry::new(vec![&TESTED], Vec::new()).expect("a good overlay")
}

/// `dc=ex` in `folder`, with the standard schema files and the schema below.
pub(crate) fn configuration(registry: &Registry, folder: &Path, settings: &str, lines: &str) -> LoadedConfiguration {
    let path = folder.display().to_string();
    // The files of this repository, for any package that includes this module.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut schemas = above
        .map(|folder| folder.join("schema"))
        .filter(|folder| folder.join("core.schema").is_file());
    let schema = schemas.next().expect("schema files").display().to_string();
    let mut text = String::new();
    for name in ["core", "cosine", "inetorgperson", "nis", "dyngroup", "collective"] {
        writeln!(text, "include {schema}/{name}.schema").expect("writes");
    }
    writeln!(text, "{SCHEMA}").expect("writes");
    writeln!(
        text,
        "{}\ndatabase mdb\nsuffix dc=ex\nrootdn cn=root,dc=ex\nrootpw secret\ndirectory {path}/db\n{}",
        settings.replace("DIR", &path),
        lines.replace("DIR", &path)
    )
    .expect("writes");
    let file = folder.join("slapd.conf");
    std::fs::write(&file, text).expect("written");
    load(file.to_str().expect("a name"), &Disk, registry).expect("a good configuration")
}

/// Definitions that the standard schema files lack: obsolete elements, numbers.
const SCHEMA: &str = "
attributetype ( 1.3.6.1.4.1.4203.666.999.1 NAME 'oldThing' OBSOLETE EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 )
attributetype ( 1.3.6.1.4.1.4203.666.999.2 NAME 'count' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
attributetype ( 1.3.6.1.4.1.4203.666.999.3 NAME 'blob' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
attributetype ( 1.3.6.1.4.1.4203.666.999.4 NAME 'only' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.999.11 NAME 'oldPerson' OBSOLETE AUXILIARY MAY oldThing )
objectclass ( 1.3.6.1.4.1.4203.666.999.12 NAME 'counter' AUXILIARY MAY ( count $ blob $ only ) )
objectclass ( 1.3.6.1.4.1.4203.666.999.13 NAME 'otherPerson' SUP person STRUCTURAL )
";
