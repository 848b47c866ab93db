//! Names of people in several languages and scripts, each with an ASCII form for addresses and user names.
//!
//! The lists begin with the frequent names. Names near the front are drawn more often.

use super::random::Random;

/// A name as written and its ASCII form.
pub(super) type Word = (&'static str, &'static str);

/// Given name and surname of one person.
#[derive(Clone, Copy)]
pub(super) struct Person {
    pub(super) given: Word,
    pub(super) surname: Word,
    /// Language tag of the name.
    pub(super) language: &'static str,
}

/// Draws a person: seven of ten have ASCII names.
pub(super) fn person(random: &mut Random) -> Person {
    let (given, surname, language) = if random.percent(70) {
        let given = random.pick_skewed(GIVEN);
        let surname = random.pick_skewed(SURNAMES);
        ((given, given), (surname, surname), "en")
    } else {
        let (language, given, surnames) = random.pick(OTHERS);
        (random.pick_skewed(given), random.pick_skewed(surnames), language)
    };
    Person {
        given,
        surname,
        language,
    }
}

/// Appends the ASCII letters of a name in lower case.
pub(super) fn push_lower(text: &mut String, name: &str) {
    text.extend(
        name.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase()),
    );
}

const GIVEN: &[&str] = &[
    "James",
    "Mary",
    "Robert",
    "Patricia",
    "John",
    "Jennifer",
    "Michael",
    "Linda",
    "David",
    "Elizabeth",
    "William",
    "Barbara",
    "Richard",
    "Susan",
    "Joseph",
    "Jessica",
    "Thomas",
    "Sarah",
    "Christopher",
    "Karen",
    "Charles",
    "Lisa",
    "Daniel",
    "Nancy",
    "Matthew",
    "Betty",
    "Anthony",
    "Sandra",
    "Mark",
    "Margaret",
    "Donald",
    "Ashley",
    "Steven",
    "Kimberly",
    "Andrew",
    "Emily",
    "Paul",
    "Donna",
    "Joshua",
    "Michelle",
    "Kenneth",
    "Carol",
    "Kevin",
    "Amanda",
    "Brian",
    "Melissa",
    "George",
    "Deborah",
    "Timothy",
    "Stephanie",
    "Ronald",
    "Rebecca",
    "Jason",
    "Laura",
    "Edward",
    "Helen",
    "Jeffrey",
    "Sharon",
    "Ryan",
    "Cynthia",
    "Jacob",
    "Kathleen",
    "Gary",
    "Amy",
    "Nicholas",
    "Angela",
    "Eric",
    "Anna",
    "Jonathan",
    "Ruth",
    "Stephen",
    "Brenda",
    "Larry",
    "Pamela",
    "Justin",
    "Nicole",
    "Scott",
    "Katherine",
    "Brandon",
    "Samantha",
    "Benjamin",
    "Christine",
    "Samuel",
    "Emma",
    "Gregory",
    "Catherine",
    "Frank",
    "Virginia",
    "Alexander",
    "Rachel",
    "Raymond",
    "Carolyn",
    "Patrick",
    "Janet",
    "Jack",
    "Maria",
    "Dennis",
    "Heather",
    "Jerry",
    "Diane",
    "Tyler",
    "Julie",
    "Aaron",
    "Joyce",
    "Henry",
    "Victoria",
    "Peter",
    "Kelly",
    "Arjun",
    "Priya",
    "Ravi",
    "Lakshmi",
    "Marco",
    "Giulia",
    "Luca",
    "Chiara",
    "Jan",
    "Sanne",
    "Emeka",
    "Ngozi",
    "Kwame",
    "Ama",
];

const SURNAMES: &[&str] = &[
    "Smith",
    "Johnson",
    "Williams",
    "Brown",
    "Jones",
    "Garcia",
    "Miller",
    "Davis",
    "Rodriguez",
    "Martinez",
    "Wilson",
    "Anderson",
    "Taylor",
    "Thomas",
    "Moore",
    "Jackson",
    "Martin",
    "Lee",
    "Thompson",
    "White",
    "Harris",
    "Clark",
    "Lewis",
    "Robinson",
    "Walker",
    "Young",
    "Allen",
    "King",
    "Wright",
    "Scott",
    "Hill",
    "Green",
    "Adams",
    "Nelson",
    "Baker",
    "Hall",
    "Campbell",
    "Mitchell",
    "Carter",
    "Roberts",
    "Phillips",
    "Evans",
    "Turner",
    "Parker",
    "Collins",
    "Edwards",
    "Stewart",
    "Morris",
    "Murphy",
    "Cook",
    "Rogers",
    "Morgan",
    "Peterson",
    "Cooper",
    "Reed",
    "Bailey",
    "Bell",
    "Kelly",
    "Howard",
    "Ward",
    "Cox",
    "Richardson",
    "Wood",
    "Watson",
    "Brooks",
    "Bennett",
    "Gray",
    "Hughes",
    "Price",
    "Myers",
    "Long",
    "Foster",
    "Sanders",
    "Ross",
    "Powell",
    "Sullivan",
    "Russell",
    "Jenkins",
    "Perry",
    "Butler",
    "Barnes",
    "Fisher",
    "Henderson",
    "Coleman",
    "Simmons",
    "Patterson",
    "Jordan",
    "Reynolds",
    "Hamilton",
    "Graham",
    "Wallace",
    "Cole",
    "West",
    "Hayes",
    "Gibson",
    "Ellis",
    "Stevens",
    "Murray",
    "Ford",
    "Marshall",
    "Owens",
    "McDonald",
    "Harrison",
    "Kennedy",
    "Wells",
    "Woods",
    "Chapman",
    "Mason",
    "Hunt",
    "Webb",
    "Palmer",
    "Fraser",
    "Patel",
    "Sharma",
    "Gupta",
    "Rossi",
    "Ricci",
    "Conti",
    "Bakker",
    "Visser",
    "Okafor",
    "Adeyemi",
    "Mensah",
];

/// Language, given names, surnames.
type Names = (&'static str, &'static [Word], &'static [Word]);

const OTHERS: &[Names] = &[
    (
        "de",
        &[
            ("Jürgen", "Juergen"),
            ("Käthe", "Kaethe"),
            ("Björn", "Bjoern"),
            ("Anneliese", "Anneliese"),
            ("Jörg", "Joerg"),
        ],
        &[
            ("Müller", "Mueller"),
            ("Schäfer", "Schaefer"),
            ("Weiß", "Weiss"),
            ("Krämer", "Kraemer"),
            ("Böhm", "Boehm"),
        ],
    ),
    (
        "fr",
        &[
            ("François", "Francois"),
            ("Élodie", "Elodie"),
            ("Zoé", "Zoe"),
            ("Jérôme", "Jerome"),
            ("Hélène", "Helene"),
        ],
        &[
            ("Lefèvre", "Lefevre"),
            ("Bézier", "Bezier"),
            ("Gérard", "Gerard"),
            ("Noël", "Noel"),
            ("Mathé", "Mathe"),
        ],
    ),
    (
        "es",
        &[
            ("José", "Jose"),
            ("María", "Maria"),
            ("Jesús", "Jesus"),
            ("Íñigo", "Inigo"),
            ("Lucía", "Lucia"),
        ],
        &[
            ("Núñez", "Nunez"),
            ("Muñoz", "Munoz"),
            ("Gómez", "Gomez"),
            ("Ibáñez", "Ibanez"),
            ("Peña", "Pena"),
        ],
    ),
    (
        "pl",
        &[
            ("Łukasz", "Lukasz"),
            ("Małgorzata", "Malgorzata"),
            ("Paweł", "Pawel"),
            ("Bożena", "Bozena"),
        ],
        &[
            ("Wójcik", "Wojcik"),
            ("Kamiński", "Kaminski"),
            ("Dąbrowski", "Dabrowski"),
            ("Łęcki", "Lecki"),
        ],
    ),
    (
        "el",
        &[
            ("Γεώργιος", "Georgios"),
            ("Μαρία", "Maria"),
            ("Δημήτριος", "Dimitrios"),
            ("Ελένη", "Eleni"),
            ("Νίκος", "Nikos"),
        ],
        &[
            ("Παπαδόπουλος", "Papadopoulos"),
            ("Νικολάου", "Nikolaou"),
            ("Οικονόμου", "Oikonomou"),
            ("Γεωργίου", "Georgiou"),
        ],
    ),
    (
        "ru",
        &[
            ("Александр", "Aleksandr"),
            ("Ольга", "Olga"),
            ("Дмитрий", "Dmitry"),
            ("Наталья", "Natalya"),
            ("Сергей", "Sergey"),
        ],
        &[
            ("Иваненко", "Ivanenko"),
            ("Шевчук", "Shevchuk"),
            ("Черных", "Chernykh"),
            ("Ткаченко", "Tkachenko"),
        ],
    ),
    (
        "zh",
        &[
            ("伟", "Wei"),
            ("芳", "Fang"),
            ("秀英", "Xiuying"),
            ("敏", "Min"),
            ("强", "Qiang"),
            ("静", "Jing"),
        ],
        &[
            ("王", "Wang"),
            ("李", "Li"),
            ("张", "Zhang"),
            ("刘", "Liu"),
            ("陈", "Chen"),
            ("欧阳", "Ouyang"),
        ],
    ),
    (
        "ja",
        &[
            ("陽子", "Yoko"),
            ("健太", "Kenta"),
            ("さくら", "Sakura"),
            ("翔", "Sho"),
            ("美咲", "Misaki"),
        ],
        &[
            ("佐藤", "Sato"),
            ("鈴木", "Suzuki"),
            ("高橋", "Takahashi"),
            ("渡辺", "Watanabe"),
        ],
    ),
    (
        "ar",
        &[
            ("محمد", "Mohammed"),
            ("فاطمة", "Fatima"),
            ("أحمد", "Ahmed"),
            ("ليلى", "Layla"),
        ],
        &[("الخطيب", "Alkhatib"), ("حداد", "Haddad"), ("منصور", "Mansour")],
    ),
    (
        "tr",
        &[
            ("Gökçe", "Gokce"),
            ("Şeyma", "Seyma"),
            ("Oğuz", "Oguz"),
            ("İbrahim", "Ibrahim"),
        ],
        &[
            ("Yılmaz", "Yilmaz"),
            ("Çelik", "Celik"),
            ("Öztürk", "Ozturk"),
            ("Şahin", "Sahin"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_forms_are_ascii_and_names_need_no_escape_in_a_dn() {
        let plain = GIVEN.iter().chain(SURNAMES).map(|name| (*name, *name));
        let others = OTHERS
            .iter()
            .flat_map(|(_, given, surnames)| given.iter().chain(*surnames))
            .copied();
        for (name, ascii) in plain.chain(others) {
            assert!(ascii.bytes().all(|byte| byte.is_ascii_alphabetic()), "{name}");
            assert!(
                !name.contains([',', '+', '"', '\\', '<', '>', ';', '=', '#', ' ']),
                "{name}"
            );
        }
    }
}
