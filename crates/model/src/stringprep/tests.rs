//! Tests of string preparation.

use proptest::prelude::*;

use unicode_normalization::UnicodeNormalization as _;

use super::{Case, Insignificant, Prohibited, Spaces, prepare, tables};

fn prepared(text: &str, case: Case, insignificant: Insignificant) -> String {
    let mut out = b"kept".to_vec();
    prepare(text.as_bytes(), case, insignificant, Prohibited::Kept, &mut out).expect("valid");
    String::from_utf8(out.split_off(4)).expect("UTF-8")
}

fn ignore(text: &str) -> String {
    prepared(text, Case::Ignore, Insignificant::Spaces)
}

#[test]
fn insignificant_spaces() {
    for (insignificant, text, expected) in [
        (Insignificant::Spaces, "  foo   bar ", "foo bar"),
        (Insignificant::Spaces, "", " "),
        (Insignificant::Spaces, "   ", " "),
        (Insignificant::Spaces, "a\u{a0}\u{2003}b", "a b"),
        (Insignificant::SpacesInitial, "  foo ", "foo "),
        (Insignificant::SpacesAny, "  foo  ", " foo "),
        (Insignificant::SpacesAny, " ", " "),
        (Insignificant::SpacesFinal, "  foo  ", " foo"),
        (Insignificant::SpacesFinal, "é ", "é"),
        (Insignificant::AllSpaces, " 12 34 ", "1234"),
        (Insignificant::AllSpaces, "  ", ""),
        (
            Insignificant::SpacesAndHyphens,
            "+1 408-555\u{2010}1234",
            "+14085551234",
        ),
        (Insignificant::SpacesAndHyphens, "+1-408", "+1408"),
    ] {
        assert_eq!(
            prepared(text, Case::Exact, insignificant),
            expected,
            "{insignificant:?} {text:?}"
        );
    }
}

/// RFC 4518 §2.2 comes before §2.6.1.
#[test]
fn a_value_of_characters_that_are_mapped_to_nothing_is_an_empty_value() {
    for dropped in [
        "\u{1806}",
        "\u{ad}",
        "\u{34f}",
        "\u{180b}",
        "\u{fe0f}",
        "\u{fffc}",
        "\u{200b}",
        "\u{1}\u{7f}",
    ] {
        for text in [
            dropped.to_owned(),
            format!(" {dropped}"),
            format!("{dropped} {dropped}"),
        ] {
            for case in [Case::Exact, Case::Ignore] {
                for insignificant in [
                    Insignificant::Spaces,
                    Insignificant::SpacesInitial,
                    Insignificant::SpacesAny,
                    Insignificant::SpacesFinal,
                ] {
                    assert_eq!(prepared(&text, case, insignificant), " ", "{insignificant:?} {text:?}");
                }
                for insignificant in [Insignificant::AllSpaces, Insignificant::SpacesAndHyphens] {
                    assert_eq!(prepared(&text, case, insignificant), "", "{insignificant:?} {text:?}");
                }
            }
        }
    }
}

#[test]
fn a_space_with_a_combining_mark_is_no_space() {
    assert_eq!(
        prepared("a  \u{301}b", Case::Exact, Insignificant::Spaces),
        "a  \u{301}b"
    );
}

#[test]
fn mapping_folding_and_composition() {
    for (text, expected) in [
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Σίσυφος", "σίσυφοσ"),
        ("e\u{301}", "é"),
        ("É", "é"),
        ("ﬁle", "file"),
        ("\u{2121}", "tel"),
        ("soft\u{ad}hyphen", "softhyphen"),
        ("a\u{200b}b", "ab"),
        ("Ａ１", "a1"),
        ("ıI", "ıi"),
        ("\u{7f}Tab\tline\nend\u{1}", "tab line end"),
    ] {
        assert_eq!(ignore(text), expected, "{text:?}");
    }
    assert_eq!(prepared("Ａé", Case::Exact, Insignificant::Spaces), "Aé");
}

/// RFC 4518 §2.4.
#[test]
fn prohibited_code_points_refuse_assertions_only() {
    for text in ["\u{fffd}", "a\u{e000}", "\u{fdd0}", "\u{1ffff}"] {
        let mut out = Vec::new();
        let refused = prepare(
            text.as_bytes(),
            Case::Ignore,
            Insignificant::Spaces,
            Prohibited::Refused,
            &mut out,
        );
        assert!(refused.is_err() && out.is_empty(), "{text:?}");
        assert!(!ignore(text).is_empty());
    }
    let mut out = Vec::new();
    assert!(prepare(b"\xff", Case::Ignore, Insignificant::Spaces, Prohibited::Kept, &mut out).is_err());
}

proptest! {
    #[test]
    fn preparation_is_idempotent(text in "\\PC{0,24}|[ a-zA-Z\u{e9}\u{df}\u{301}\u{a0}-]{0,16}") {
        for case in [Case::Exact, Case::Ignore] {
            let once = prepared(&text, case, Insignificant::Spaces);
            prop_assert_eq!(prepared(&once, case, Insignificant::Spaces), once);
        }
    }

    #[test]
    fn ascii_and_unicode_paths_agree(text in "[ -~\t]{0,24}") {
        let with_mark = format!("{text}\u{e9}");
        for insignificant in [Insignificant::SpacesAny, Insignificant::SpacesFinal] {
            let ascii = prepared(&format!("{text}e"), Case::Ignore, insignificant);
            let unicode = prepared(&with_mark, Case::Ignore, insignificant);
            prop_assert_eq!(format!("{}é", ascii.strip_suffix('e').unwrap_or_default()), unicode);
        }
    }
}

/// The fast ways give the same result as the whole procedure of RFC 4518.
#[test]
fn each_character_is_prepared_as_by_the_whole_procedure() {
    // Blocks that hold letters with case, compatibility forms, marks and separators.
    let blocks = [
        '\u{1}'..='\u{33ff}',
        '\u{a640}'..='\u{abff}',
        '\u{f900}'..='\u{ffff}',
        '\u{1d100}'..='\u{1d7ff}',
        '\u{1e900}'..='\u{1f1ff}',
    ];
    for character in blocks.into_iter().flatten() {
        for text in [
            format!("{character}"),
            format!("a{character}B"),
            format!("\u{e9} {character}"),
        ] {
            let mapped = text.chars().filter_map(tables::map);
            let whole: String = mapped
                .flat_map(tables::fold)
                .nfkc()
                .flat_map(tables::fold)
                .nfkc()
                .collect();
            let mut slow = Vec::new();
            let mut spaces = Spaces::new(Insignificant::Spaces, 0);
            spaces.push_all(whole.chars(), &mut slow);
            spaces.finish(&mut slow);
            let mut quick = Vec::new();
            prepare(
                text.as_bytes(),
                Case::Ignore,
                Insignificant::Spaces,
                Prohibited::Kept,
                &mut quick,
            )
            .expect("text");
            assert_eq!(quick, slow, "{text:?}");
        }
    }
}

#[test]
fn latin_letters_fold_as_others_do() {
    for character in '\u{80}'..='\u{ff}' {
        let upper = character.to_uppercase().flat_map(char::to_lowercase);
        assert!(tables::fold(character).eq(upper), "{character}");
    }
    assert!(tables::fold('\u{df}').eq("ss".chars()));
    assert!(tables::fold('\u{1e9e}').eq("ss".chars()));
}

#[test]
fn folding_is_that_of_the_tables_for_every_character() {
    for character in '\0'..=char::MAX {
        let long_way = character
            .to_lowercase()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase);
        if character != '\u{131}' {
            assert!(tables::fold(character).eq(long_way), "{character:?}");
        }
    }
}
