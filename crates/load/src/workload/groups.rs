//! Group churn: one member is added to a group and removed again, in groups of 1,000 members and more.

use std::sync::Arc;

use ironbark_ldap_proto::ModifyOperation;

use super::{Next, RequestClass, Requests, Workload, WorkloadError, sample::encode_modify};
use crate::{
    generate::{self, DataSet, MEMBERS_OF_SMALLEST},
    wire::RequestSlot,
};

/// The workload.
#[derive(Debug)]
pub struct Groups {
    kinds: Vec<RequestClass>,
    /// Names of the groups, the smallest first.
    names: Arc<[String]>,
    suffix: String,
    tag: u64,
}

impl Groups {
    /// Churn in the groups of the data set whose size is from `smallest` to `largest`. The names of members contain
    /// `tag`, which differs from run to run. So members left by an interrupted run do no harm.
    ///
    /// # Errors
    /// The data set is not `groups`, or no group has a size in this range.
    pub fn new(set: &DataSet, smallest: u64, largest: u64, tag: u64) -> Result<Self, WorkloadError> {
        if set.kind() != generate::DataSetKind::Groups {
            return Err(WorkloadError("this workload is for the data set groups".to_owned()));
        }
        let mut groups = Vec::new();
        let mut kinds = Vec::new();
        let mut size = MEMBERS_OF_SMALLEST;
        for number in 0..100 {
            if size > largest {
                break;
            }
            if size >= smallest {
                groups.push(set.name(number).dn);
                kinds.push(RequestClass::new(format!("add to {size}")));
                kinds.push(RequestClass::new(format!("delete from {size}")));
            }
            size = size.saturating_mul(10);
        }
        if groups.is_empty() {
            let text = format!(
                "groups have {MEMBERS_OF_SMALLEST} members and ten times as many each; none has {smallest} to {largest}"
            );
            return Err(WorkloadError(text));
        }
        Ok(Self {
            kinds,
            names: groups.into(),
            suffix: set.suffix().to_owned(),
            tag,
        })
    }
}

impl Workload for Groups {
    fn name(&self) -> String {
        "groups".to_owned()
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            groups: self.names.clone(),
            suffix: format!("-{number}-{},ou=people,{}", self.tag, self.suffix),
            count: 0,
            adding: Vec::new(),
            added: Vec::new(),
        })
    }
}

struct Stream {
    groups: Arc<[String]>,
    suffix: String,
    count: usize,
    adding: Vec<(RequestSlot, Member)>,
    added: Vec<Member>,
}

struct Member {
    group: usize,
    dn: String,
}

impl Stream {
    fn change(&self, operation: ModifyOperation, member: &Member, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let Some(group) = self.groups.get(member.group) else {
            return Next::End;
        };
        encode_modify(group.as_bytes(), operation, "member", member.dn.as_bytes(), slot, out);
        let kind = 2 * member.group + usize::from(operation == ModifyOperation::Delete);
        Next::Sent(u8::try_from(kind).unwrap_or(u8::MAX))
    }
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        if let Some(member) = self.added.pop() {
            return self.change(ModifyOperation::Delete, &member, slot, out);
        }
        self.count += 1;
        let member = Member {
            group: self.count % self.groups.len(),
            dn: format!("uid=churn{}{}", self.count, self.suffix),
        };
        let next = self.change(ModifyOperation::Add, &member, slot, out);
        self.adding.push((slot, member));
        next
    }

    fn answered(&mut self, slot: RequestSlot, kind: u8, code: u32) {
        if kind.is_multiple_of(2) {
            let found = self.adding.iter().position(|(its_slot, _)| *its_slot == slot);
            let member = found.map(|index| self.adding.swap_remove(index).1);
            self.added.extend(member.filter(|_| code == 0));
        }
    }
}
