//! Changes: as requests of a client and as LDIF.

use std::{collections::BTreeSet, fmt::Write as _};

use ironbark_client::{
    Change as Modification, Client, ClientError, ReceivedResult,
    proto::{
        EncodeControl, Filter, ModifyDnRequest, ModifyOperation,
        controls::{AssertionControl, Control},
    },
};

use crate::turns::{
    Random,
    model::{BASE, Model, text_of},
};

/// A change of one entry.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Add {
        entry: u8,
        values: BTreeSet<u8>,
    },
    Replace {
        entry: u8,
        values: BTreeSet<u8>,
    },
    Insert {
        entry: u8,
        value: u8,
    },
    Remove {
        entry: u8,
        value: u8,
    },
    Delete {
        entry: u8,
    },
    Rename {
        entry: u8,
        to: u8,
    },
    /// Replaces the values, and then does what must be refused.
    Refused {
        entry: u8,
        values: BTreeSet<u8>,
        why: Why,
    },
}

/// Why a change is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It deletes an attribute that is missing.
    Missing,
    Syntax,
    Schema,
    Assertion,
}

const ENTRIES: u8 = 24;

impl Change {
    /// Any change.
    pub(crate) fn random(random: &mut Random) -> Self {
        let entry = random.below(ENTRIES);
        let value = random.below(6);
        let values: BTreeSet<u8> = [value, random.below(6)].into();
        match random.below(16) {
            0..5 => Self::Add { entry, values },
            5..8 => Self::Replace { entry, values },
            8 => Self::Insert { entry, value },
            9 => Self::Remove { entry, value },
            10 => Self::Delete { entry },
            11 => Self::Rename {
                entry,
                to: (entry + 1 + random.below(ENTRIES - 1)) % ENTRIES,
            },
            number => {
                let all = [Why::Missing, Why::Syntax, Why::Schema, Why::Assertion];
                let why = all[usize::from(number - 12)];
                Self::Refused { entry, values, why }
            }
        }
    }

    /// A change that LDIF can say.
    pub(crate) fn random_record(random: &mut Random) -> Self {
        loop {
            match Self::random(random) {
                Self::Refused {
                    why: Why::Assertion, ..
                } => {}
                other => return other,
            }
        }
    }

    /// A change that is made.
    pub(crate) fn random_made(random: &mut Random, model: &Model) -> Self {
        loop {
            let change = Self::random_record(random);
            if model.clone().make(&change).is_ok() {
                return change;
            }
        }
    }

    pub(crate) fn entry(&self) -> u8 {
        match self {
            Self::Add { entry, .. }
            | Self::Replace { entry, .. }
            | Self::Insert { entry, .. }
            | Self::Remove { entry, .. }
            | Self::Delete { entry }
            | Self::Rename { entry, .. }
            | Self::Refused { entry, .. } => *entry,
        }
    }

    /// Whether a value has not the syntax of its attribute.
    pub(crate) fn is_malformed(&self) -> bool {
        matches!(self, Self::Refused { why: Why::Syntax, .. })
    }

    /// The values that it is about.
    pub(crate) fn values(&self) -> BTreeSet<u8> {
        match self {
            Self::Add { values, .. } | Self::Replace { values, .. } | Self::Refused { values, .. } => values.clone(),
            _ => [self.entry() % 6].into(),
        }
    }

    /// Sends the request.
    pub(crate) fn send(
        &self,
        client: &Client,
        controls: &[&dyn EncodeControl],
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<ReceivedResult, ClientError>>>> {
        let dn = dn_of(self.entry());
        let texts = |values: &BTreeSet<u8>| -> Vec<String> { values.iter().map(|value| text_of(*value)).collect() };
        let modify = |operation, values: &BTreeSet<u8>, bad: Option<Modification<'_>>| {
            let texts = texts(values);
            let values: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let good = Modification {
                operation,
                attribute: "description",
                values: &values,
            };
            let is_asserted = matches!(
                self,
                Self::Refused {
                    why: Why::Assertion,
                    ..
                }
            );
            let assertion = Control::critical(AssertionControl(Filter::Present(b"seeAlso".into())));
            let mut controls = controls.to_vec();
            if is_asserted {
                controls.push(&assertion);
            }
            let changes: Vec<_> = [good].into_iter().chain(bad).collect();
            client.modify(&dn, &changes, &controls)
        };
        match self {
            Self::Add { values, .. } => {
                let (name, texts) = (format!("e{}", self.entry()), texts(values));
                let descriptions: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
                let attributes: [(&str, &[&[u8]]); 4] = [
                    ("objectClass", &[b"person"]),
                    ("cn", &[name.as_bytes()]),
                    ("sn", &[b"x"]),
                    ("description", &descriptions),
                ];
                Box::pin(client.add(&dn, &attributes, controls))
            }
            Self::Replace { values, .. } => Box::pin(modify(ModifyOperation::Replace, values, None)),
            Self::Insert { value, .. } => Box::pin(modify(ModifyOperation::Add, &[*value].into(), None)),
            Self::Remove { value, .. } => Box::pin(modify(ModifyOperation::Delete, &[*value].into(), None)),
            Self::Delete { .. } => Box::pin(client.delete(&dn, controls)),
            Self::Rename { to, .. } => {
                let new_rdn = format!("cn=e{to}");
                let request = ModifyDnRequest {
                    entry: dn.as_bytes(),
                    new_rdn: new_rdn.as_bytes(),
                    delete_old_rdn: true,
                    new_superior: None,
                };
                Box::pin(client.modify_dn(&request, controls))
            }
            Self::Refused { values, why, .. } => Box::pin(modify(ModifyOperation::Replace, values, why.modification())),
        }
    }

    /// The record for slapmodify.
    pub(crate) fn record(&self) -> String {
        let mut text = format!("dn: {}\n", dn_of(self.entry()));
        let modify = |text: &mut String, act: &str, values: &BTreeSet<u8>| {
            write!(text, "changetype: modify\n{act}: description\n{}-\n", lines(values)).unwrap();
        };
        match self {
            Self::Add { entry, values } => {
                let class = "changetype: add\nobjectClass: person";
                write!(text, "{class}\ncn: e{entry}\nsn: x\n{}", lines(values)).unwrap();
            }
            Self::Replace { values, .. } => modify(&mut text, "replace", values),
            Self::Insert { value, .. } => modify(&mut text, "add", &[*value].into()),
            Self::Remove { value, .. } => modify(&mut text, "delete", &[*value].into()),
            Self::Delete { .. } => text += "changetype: delete\n",
            Self::Rename { to, .. } => {
                write!(text, "changetype: modrdn\nnewrdn: cn=e{to}\ndeleteoldrdn: 1\n").unwrap();
            }
            Self::Refused { values, why, .. } => {
                modify(&mut text, "replace", values);
                text += match why {
                    Why::Missing | Why::Assertion => "delete: seeAlso\n-\n",
                    Why::Syntax => "add: seeAlso\nseeAlso: nonsense\n-\n",
                    Why::Schema => "delete: sn\n-\n",
                };
            }
        }
        text + "\n"
    }
}

impl Why {
    fn modification(self) -> Option<Modification<'static>> {
        let (operation, attribute, values): (_, _, &[&[u8]]) = match self {
            Self::Assertion => return None,
            Self::Missing => (ModifyOperation::Delete, "seeAlso", &[]),
            Self::Syntax => (ModifyOperation::Add, "seeAlso", &[b"nonsense"]),
            Self::Schema => (ModifyOperation::Delete, "sn", &[]),
        };
        Some(Modification {
            operation,
            attribute,
            values,
        })
    }
}

/// The entry for slapadd.
pub(crate) fn ldif_entry(entry: u8, values: &BTreeSet<u8>) -> String {
    let lines = lines(values);
    format!(
        "dn: {}\nobjectClass: person\ncn: e{entry}\nsn: x\n{lines}\n",
        dn_of(entry)
    )
}

pub(crate) fn dn_of(entry: u8) -> String {
    format!("cn=e{entry},{BASE}")
}

fn lines(values: &BTreeSet<u8>) -> String {
    let mut text = String::new();
    for value in values {
        writeln!(text, "description: {}", text_of(*value)).unwrap();
    }
    text
}
