//! Settings of slapo-memberof(5).

use ironbark_config::overlay::OverlaySettings;
use ironbark_model::Dn;

/// How reverse group membership is kept.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberofConfig {
    /// `memberof-group-oc`: object class of groups.
    pub group_class: String,
    /// `memberof-member-ad`: attribute of groups.
    pub member_attribute: String,
    /// `memberof-memberof-ad`: attribute of members.
    pub memberof_attribute: String,
    /// `memberof-dn`: modifiersName of the overlay's changes; `None`: the rootdn.
    pub modifier: Option<Dn>,
    /// `memberof-dangling`.
    pub dangling: Dangling,
    /// `memberof-dangling-error`: LDAP result code.
    pub dangling_error: u32,
    /// `memberof-refint`: changes of members change their groups.
    pub referential_integrity: bool,
    /// `memberof-addcheck`: existing groups are searched for the name of a new entry.
    pub check_added: bool,
    /// `memberof-computed`: memberOf is derived, not stored.
    pub computed: bool,
    /// `memberof-maxread`: most entries of a database that may be read for want of an index; 0: no limit.
    pub max_read: u32,
}

/// What to do about a member that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dangling {
    /// Nothing.
    Ignore,
    /// Leave it out.
    Drop,
    /// Refuse the request.
    Error,
}

impl OverlaySettings for MemberofConfig {
    fn looked_up(&self) -> Vec<String> {
        let looks_up = self.check_added || self.computed;
        let member = looks_up.then(|| self.member_attribute.clone());
        member.into_iter().collect()
    }
}

impl Default for MemberofConfig {
    fn default() -> Self {
        Self {
            group_class: "groupOfNames".to_owned(),
            member_attribute: "member".to_owned(),
            memberof_attribute: "memberOf".to_owned(),
            modifier: None,
            dangling: Dangling::Ignore,
            dangling_error: CONSTRAINT_VIOLATION,
            referential_integrity: false,
            check_added: false,
            computed: false,
            max_read: 0,
        }
    }
}

const CONSTRAINT_VIOLATION: u32 = 19;
