//! Places, streets, titles, departments and text for generated entries.

use super::ldif::push_number;
use super::random::Random;

/// Town, state, country name.
pub(super) type Place = (&'static str, &'static str, &'static str);

/// Appends a sentence of `count` words.
pub(super) fn push_sentence(text: &mut String, random: &mut Random, count: u64) {
    let mut first = true;
    for _ in 0..count {
        let word = random.pick(WORDS);
        if first {
            text.extend(word.chars().next().map(|letter| letter.to_ascii_uppercase()));
            text.extend(word.chars().skip(1));
            first = false;
        } else {
            text.push(' ');
            text.push_str(word);
        }
    }
    text.push('.');
}

/// Appends a telephone number in international form.
pub(super) fn push_telephone(text: &mut String, random: &mut Random) {
    text.push_str(random.pick(COUNTRY_CODES));
    text.push(' ');
    push_number(text, 200 + random.below(800), 3);
    text.push(' ');
    push_number(text, random.below(1000), 3);
    text.push(' ');
    push_number(text, random.below(10_000), 4);
}

/// Appends a house number and street.
pub(super) fn push_street(text: &mut String, random: &mut Random) {
    push_number(text, 1 + random.below(420), 1);
    text.push(' ');
    text.push_str(random.pick(STREETS));
}

pub(super) const PLACES: &[Place] = &[
    ("Sunnyvale", "California", "United States"),
    ("Palo Alto", "California", "United States"),
    ("Austin", "Texas", "United States"),
    ("Portland", "Oregon", "United States"),
    ("Chicago", "Illinois", "United States"),
    ("Toronto", "Ontario", "Canada"),
    ("London", "England", "United Kingdom"),
    ("Edinburgh", "Scotland", "United Kingdom"),
    ("Dublin", "Leinster", "Ireland"),
    ("Berlin", "Berlin", "Germany"),
    ("München", "Bayern", "Germany"),
    ("Paris", "Île-de-France", "France"),
    ("Αθήνα", "Αττική", "Greece"),
    ("Zürich", "Zürich", "Switzerland"),
    ("Kraków", "Małopolskie", "Poland"),
    ("東京", "東京都", "Japan"),
    ("Bengaluru", "Karnataka", "India"),
    ("Sydney", "New South Wales", "Australia"),
    ("São Paulo", "São Paulo", "Brazil"),
    ("Nairobi", "Nairobi", "Kenya"),
];

pub(super) const TITLES: &[&str] = &[
    "Engineer",
    "Senior Engineer",
    "Manager",
    "Account Manager",
    "Analyst",
    "Administrator",
    "Architect",
    "Director",
    "Consultant",
    "Accountant",
    "Technician",
    "Assistant",
    "Sales Representative",
    "Product Manager",
    "Writer",
    "Vice President",
    "Chief Janitor",
    "Fellow",
    "Visionary",
    "Artist",
];

pub(super) const DEPARTMENTS: &[&str] = &[
    "Architecture",
    "Astronomy",
    "Biology",
    "Chemistry",
    "Civil Engineering",
    "Computer Science",
    "Economics",
    "Electrical Engineering",
    "Geology",
    "History",
    "Law",
    "Library",
    "Linguistics",
    "Mathematics",
    "Mechanical Engineering",
    "Medicine",
    "Mining Engineering",
    "Naval Engineering",
    "Network Operations Center",
    "Philosophy",
    "Physics",
    "Psychology",
    "Registry",
    "Surveying",
];

const COUNTRY_CODES: &[&str] = &[
    "+1", "+1", "+1", "+44", "+49", "+33", "+30", "+48", "+81", "+86", "+91", "+61",
];

const STREETS: &[&str] = &[
    "Main Street",
    "High Street",
    "Park Avenue",
    "Oak Lane",
    "Maple Drive",
    "Station Road",
    "Church Street",
    "Mill Road",
    "Victoria Street",
    "Lake View",
    "Bahnhofstraße",
    "Rue de la République",
    "Calle Mayor",
    "University Road",
    "Mathilda Avenue",
    "Elm Court",
    "Harbour Quay",
    "King's Road",
    "Orchard Close",
    "Ridge Way",
];

const WORDS: &[&str] = &[
    "about", "after", "again", "always", "answer", "around", "before", "between", "bring", "carry", "change", "city",
    "close", "country", "course", "direct", "each", "early", "every", "family", "field", "figure", "follow", "forest",
    "garden", "great", "green", "group", "half", "happen", "house", "idea", "island", "keep", "kind", "large", "late",
    "learn", "letter", "light", "little", "machine", "market", "measure", "money", "morning", "mountain", "music",
    "never", "night", "north", "note", "number", "ocean", "often", "open", "order", "paper", "pattern", "people",
    "place", "plan", "point", "power", "present", "problem", "question", "quick", "reach", "record", "remember",
    "river", "round", "school", "science", "second", "send", "sentence", "several", "short", "simple", "sound",
    "south", "stand", "state", "story", "street", "study", "summer", "system", "table", "thing", "time", "together",
    "town", "travel", "under", "vowel", "water", "weather", "week", "winter", "wonder", "world", "write", "year",
];
