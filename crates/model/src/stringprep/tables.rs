//! Character tables of RFC 4518 §2.2, §2.4 and §2.6.3.

/// The mapping of a character: nothing, a space, or itself (RFC 4518 §2.2).
pub(super) fn map(character: char) -> Option<char> {
    match character {
        '\u{9}'..='\u{d}' | '\u{85}' => Some(' '),
        // Spaces, line and paragraph separators.
        '\u{20}'
        | '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}' => Some(' '),
        // Control characters.
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' => None,
        // Soft hyphen, joiners, variation selectors, object replacement.
        '\u{ad}' | '\u{34f}' | '\u{1806}' | '\u{180b}'..='\u{180e}' | '\u{fe00}'..='\u{fe0f}' | '\u{fffc}' => None,
        // Format characters.
        '\u{6dd}'
        | '\u{70f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2063}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0001}'
        | '\u{e0020}'..='\u{e007f}' => None,
        _ => Some(character),
    }
}

/// Full case folding (RFC 3454 Table B.2): the lower case of the upper case. This also unites final sigma, long s and
/// sharp s. The lower case comes first, because the capital sharp s has no upper case of two letters. Folding twice
/// gives the same result as folding once.
pub(super) fn fold(character: char) -> impl Iterator<Item = char> + Clone {
    let alone = match character {
        '\0'..='\x7f' => Some(character.to_ascii_lowercase()),
        // Latin-1, the most frequent letters beyond ASCII.
        '\u{e0}'..='\u{ff}' => Some(character),
        // Scripts without case, from Hebrew to Myanmar and from the radicals of Chinese on.
        '\u{590}'..='\u{109f}' | '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{faff}' | '\u{fb1d}'..='\u{feff}' => {
            Some(character)
        }
        // The dotless i has the upper case of the dotted one but is not folded to it.
        '\u{131}' => Some(character),
        _ => None,
    };
    let folded = alone.is_none().then(|| {
        character
            .to_lowercase()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
    });
    alone.into_iter().chain(folded.into_iter().flatten())
}

/// Code points that a prepared string must not hold (RFC 4518 §2.4; surrogates cannot occur in UTF-8).
pub(super) fn is_prohibited(character: char) -> bool {
    let code = u32::from(character);
    let private_use = matches!(code, 0xe000..=0xf8ff | 0xf_0000..=0xf_fffd | 0x10_0000..=0x10_fffd);
    let non_character = matches!(code, 0xfdd0..=0xfdef) || code & 0xfffe == 0xfffe;
    // Table C.8 beyond what mapping removes.
    let changes_display = matches!(code, 0x340 | 0x341);
    private_use || non_character || changes_display || character == char::REPLACEMENT_CHARACTER
}

/// The hyphens of RFC 4518 §2.6.3.
pub(super) fn is_hyphen(character: char) -> bool {
    matches!(
        character,
        '-' | '\u{58a}' | '\u{2010}' | '\u{2011}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}'
    )
}
