//! Checks of a new password: the lengths of the policy, and our own checks: kinds of characters, a dictionary, words of
//! the entry.

use std::{borrow::Cow, collections::HashSet, fs::File, io::Read as _, path::Path};

use ironbark_config::SettingError;
use ironbark_directory::password::{self, Scheme};
use ironbark_ldap_proto::controls::PasswordPolicyError;
use ironbark_model::{AttributeDescription, Entry, Schema};

use super::{
    policy::Policy,
    ppm::{self, Ppm},
    settings::PpolicyConfig,
};

/// Our own checks, as configured.
pub(super) struct Quality {
    classes: u32,
    characters: usize,
    dictionary: HashSet<Box<str>>,
    forbidden: Vec<AttributeDescription>,
    is_configured: bool,
    /// Whether ppm judges for policies that ask for a module.
    loads_ppm: bool,
    /// Its rules for policies without.
    ppm: Option<Ppm>,
}

/// Why a password is refused, and the text for the client; an empty text means slapd's usual one.
pub(super) type Fault = (PasswordPolicyError, Cow<'static, str>);

const MAX_DICTIONARY_OCTETS: u64 = 64 << 20;
/// Shorter words of an entry may occur in a password by chance.
const MIN_FORBIDDEN_CHARACTERS: usize = 3;

impl Quality {
    /// # Errors
    /// The dictionary cannot be read, or the schema lacks an attribute.
    pub(super) fn new(settings: &PpolicyConfig, schema: &Schema) -> Result<Self, SettingError> {
        let dictionary = match &settings.quality_dictionary {
            Some(path) => read_dictionary(path)?,
            None => HashSet::new(),
        };
        let describe = |name: &String| {
            let found = schema.attribute_description(name.as_bytes());
            found.map_err(|error| format!("ppolicy_quality_forbid: {name}: {error}"))
        };
        let ppm = settings.ppm_file.as_deref().map(read_ppm).transpose()?;
        Ok(Self {
            loads_ppm: settings.check_module.is_some(),
            ppm,
            classes: settings.quality_classes,
            characters: usize::try_from(settings.quality_characters).unwrap_or(usize::MAX),
            dictionary,
            forbidden: settings.quality_forbid.iter().map(describe).collect::<Result<_, _>>()?,
            is_configured: settings.quality_classes > 0
                || settings.quality_characters > 0
                || settings.quality_dictionary.is_some()
                || !settings.quality_forbid.is_empty(),
        })
    }

    /// Checks a password as the client sent it, in the clear or hashed.
    pub(super) fn check(&self, schema: &Schema, policy: &Policy, presented: &[u8], entry: &Entry) -> Result<(), Fault> {
        let length = i64::try_from(presented.len()).unwrap_or(i64::MAX);
        if presented.is_empty() || length < policy.min_length {
            return Err((PasswordPolicyError::PasswordTooShort, "".into()));
        }
        if policy.max_length > 0 && length > policy.max_length {
            return Err((PasswordPolicyError::PasswordTooLong, "".into()));
        }
        let clear = match password::split(presented) {
            (None | Some(Scheme::Cleartext), clear) => clear,
            (Some(_), _) if policy.check_quality == 2 => {
                return Err((PasswordPolicyError::InsufficientPasswordQuality, "".into()));
            }
            (Some(_), _) => return Ok(()),
        };
        let is_of_ppm = policy.names_ppm || (policy.use_check_module && self.loads_ppm);
        if is_of_ppm {
            self.check_by_ppm(schema, policy, &String::from_utf8_lossy(clear), entry)
                .map_err(|text| (PasswordPolicyError::InsufficientPasswordQuality, text))?;
        } else if policy.use_check_module && !self.is_configured {
            return Err((PasswordPolicyError::InsufficientPasswordQuality, "".into()));
        }
        self.check_clear(&String::from_utf8_lossy(clear), entry)
            .map_err(|text| (PasswordPolicyError::InsufficientPasswordQuality, text.into()))
    }

    /// By the rules of the policy, or of the file.
    fn check_by_ppm(
        &self,
        schema: &Schema,
        policy: &Policy,
        clear: &str,
        entry: &Entry,
    ) -> Result<(), Cow<'static, str>> {
        let unusable = |reason: &str| {
            tracing::error!(target: "any", "overlay ppolicy: ppm refuses all passwords: {reason}");
            Cow::from("Error while checking password")
        };
        let rules = match (&policy.module_argument, &self.ppm) {
            (Some(text), _) => Ppm::parse(text).map_err(|error| unusable(&error.to_string()))?,
            (None, Some(rules)) => rules.clone(),
            (None, None) => return Err(unusable("the policy has no pwdCheckModuleArg")),
        };
        if rules.asks_dictionary && self.dictionary.is_empty() {
            return Err(unusable("useCracklib needs ppolicy_quality_dictionary"));
        }
        rules.check(schema, clear, entry)
    }

    fn check_clear(&self, clear: &str, entry: &Entry) -> Result<(), &'static str> {
        if clear.chars().count() < self.characters {
            return Err("Password has too few characters");
        }
        if classes_of(clear) < self.classes {
            return Err("Password has too few kinds of characters");
        }
        let lower = clear.to_lowercase();
        let word = lower.trim_matches(|character: char| !character.is_alphabetic());
        if self.dictionary.contains(lower.as_str()) || self.dictionary.contains(word) {
            return Err("Password is a word of the dictionary");
        }
        let named = self.forbidden.iter().filter_map(|name| entry.attribute(name));
        let mut values = named.flat_map(|held| &held.values);
        if values.any(|value| contains_word_of(&lower, &String::from_utf8_lossy(value).to_lowercase())) {
            return Err("Password contains a part of the entry");
        }
        Ok(())
    }
}

/// Capital letters, small letters, digits, others.
fn classes_of(clear: &str) -> u32 {
    let kinds: [fn(char) -> bool; 4] = [char::is_uppercase, char::is_lowercase, char::is_numeric, |character| {
        !(character.is_uppercase() || character.is_lowercase() || character.is_numeric())
    }];
    kinds.into_iter().map(|is| u32::from(clear.chars().any(is))).sum()
}

fn contains_word_of(password: &str, value: &str) -> bool {
    let words = value.split(|character: char| !character.is_alphanumeric());
    let mut forbidden = words.chain([value]);
    forbidden.any(|word| word.chars().count() >= MIN_FORBIDDEN_CHARACTERS && password.contains(word))
}

fn read_ppm(path: &Path) -> Result<Ppm, SettingError> {
    let failed = |error: &dyn std::fmt::Display| {
        SettingError::Unavailable(format!("ppolicy_ppm_file {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut octets = Vec::new();
    let read = file.take(ppm::MOST_OCTETS as u64 + 1).read_to_end(&mut octets);
    read.map_err(|error| failed(&error))?;
    Ppm::parse(&octets).map_err(|error| failed(&error.to_string()))
}

fn read_dictionary(path: &Path) -> Result<HashSet<Box<str>>, SettingError> {
    let failed = |error: &dyn std::fmt::Display| {
        SettingError::Unavailable(format!("ppolicy_quality_dictionary {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut octets = Vec::new();
    let read = file.take(MAX_DICTIONARY_OCTETS + 1).read_to_end(&mut octets);
    read.map_err(|error| failed(&error))?;
    if octets.len() as u64 > MAX_DICTIONARY_OCTETS {
        return Err(failed(&"is bigger than 64 MiB"));
    }
    let text = String::from_utf8_lossy(&octets);
    let words = text.lines().map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(|word| word.to_lowercase().into_boxed_str()).collect())
}
