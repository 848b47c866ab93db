//! Overlays for tests: `sample`, which a database may have any number of times, and `single`.

use std::{path::PathBuf, sync::LazyLock};

use ironbark_model::Dn;

use crate::{
    Form, Registry, Setting, SettingLevel,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_field, overlay_handler,
    reader::quote_value,
};

/// Settings of `sample`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) switch: bool,
    pub(crate) name: Option<Dn>,
    pub(crate) words: Vec<String>,
}

/// Settings of `single`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Single {
    pub(crate) file: Option<PathBuf>,
}

impl OverlaySettings for Sample {}

impl OverlaySettings for Single {
    fn needs_entries(&self) -> bool {
        false
    }
}

const SAMPLE: SettingLevel = SettingLevel::Overlay("sample");

static SAMPLE_OVERLAY: OverlayDescriptor = OverlayDescriptor {
    name: "sample",
    modules: &["old-sample"],
    occurrence: Occurrence::Many,
    class: Some(OverlayClass {
        names: &["olcSampleConfig", "olcSample"],
        oid: "3.901.1",
    }),
    settings: &[
        Setting::new(SAMPLE, &["sample-name"], &["olcSampleName"])
            .olc("3.901.2", Form::Name)
            .takes("<dn>", "")
            .does("Names something.")
            .like(&["cn=a b,dc=x"])
            .whole()
            .obeyed(overlay_field!(Sample.name)),
        Setting::new(SAMPLE, &["sample-switch"], &["olcSampleSwitch"])
            .olc("3.901.1", Form::Boolean)
            .shown()
            .takes("on|off", "FALSE")
            .does("Switches something.")
            .like(&["TRUE"])
            .obeyed(overlay_field!(Sample.switch)),
        Setting::new(SAMPLE, &["sample-words"], &["olcSampleWords", "olcSampleTexts"])
            .olc("+901", Form::Ordered)
            .takes("<word>...", "")
            .does("Says something.")
            .like(&["a b"])
            .obeyed(overlay_handler!(
                Sample,
                |settings, statement| {
                    let words: Vec<_> = statement.some()?.iter().map(|word| quote_value(word)).collect();
                    settings.words.push(words.join(" "));
                    Ok(())
                },
                |settings, _| settings.words.clone(),
            )),
    ],
    controls: &[],
    fresh: AnySettings::of::<Sample>,
    schema: "attributetype ( 1.3.6.1.4.1.32473.9.1 NAME 'sampled' SUP name )",
    introduction: "Is there for tests.",
};

static SINGLE_OVERLAY: OverlayDescriptor = OverlayDescriptor {
    name: "single",
    modules: &[],
    occurrence: Occurrence::Once,
    class: Some(OverlayClass {
        names: &["olcSingleConfig"],
        oid: "3.900.1",
    }),
    settings: &[
        Setting::new(SettingLevel::Overlay("single"), &["single-file"], &["olcSingleFile"])
            .olc("3.900.1", Form::ExactText)
            .takes("<file>", "")
            .does("Names a file.")
            .like(&["/srv/single"])
            .whole()
            .obeyed(overlay_field!(Single.file)),
    ],
    controls: &[],
    fresh: AnySettings::of::<Single>,
    schema: "",
    introduction: "",
};

/// The registry with both.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> =
        LazyLock::new(|| Registry::new(vec![&SAMPLE_OVERLAY, &SINGLE_OVERLAY], Vec::new()).unwrap());
    &REGISTRY
}
