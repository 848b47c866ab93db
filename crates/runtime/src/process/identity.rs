//! Giving up root: the user and group that a server runs as.

use std::ffi::CString;

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getgrouplist, setgid, setgroups, setuid};

/// A user and groups to run as, looked up but not yet assumed.
///
/// The look-up is a separate step, because a chroot cannot reach the user database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    uid: Option<Uid>,
    gid: Option<Gid>,
    /// The user's groups in addition to `gid`; `None` leaves the groups unchanged.
    groups: Option<Vec<Gid>>,
}

/// Why the identity of the process cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The command line is at fault.
    #[error("no user {0} in the user database")]
    UnknownUser(String),
    /// The command line is at fault.
    #[error("no group {0} in the group database")]
    UnknownGroup(String),
    /// The user or group database could not be read.
    #[error("cannot look up {name}: {source}")]
    LookUp {
        /// The user or group that was asked for.
        name: String,
        /// What the operating system says.
        source: Errno,
    },
    /// The operating system refused; usually the process is not root.
    #[error("cannot {step}: {source}")]
    Refused {
        /// The attempted step.
        step: &'static str,
        /// What the operating system says.
        source: Errno,
    },
    /// The change did not hold: the process could become root again.
    #[error("root privileges could be regained after they were dropped")]
    NotDropped,
}

/// From now on all threads of the process run as `user` and `group`, each a name or a number.
///
/// Without `group` the user's own group is used. The user's further groups are set too. `None` for both changes
/// nothing.
pub fn drop_privileges(user: Option<&str>, group: Option<&str>) -> Result<(), IdentityError> {
    ProcessIdentity::look_up(user, group)?.assume()
}

impl ProcessIdentity {
    /// Looks up `user` and `group`, each a name or a number that the databases know.
    pub fn look_up(user: Option<&str>, group: Option<&str>) -> Result<Self, IdentityError> {
        let user = user.map(look_up_user).transpose()?;
        let group = group.map(look_up_group).transpose()?;
        let gid = group.map(|group| group.gid).or(user.as_ref().map(|user| user.gid));
        let groups = match (&user, gid) {
            (Some(user), Some(gid)) => Some(groups_of(user, gid)?),
            _ => None,
        };
        Ok(Self {
            uid: user.map(|user| user.uid),
            gid,
            groups,
        })
    }

    /// The numbers of user and group. Files are given to them before the change.
    pub fn ids(&self) -> (Option<u32>, Option<u32>) {
        (self.uid.map(Uid::as_raw), self.gid.map(Gid::as_raw))
    }

    /// Assumes the identity, for all threads of the process, permanently.
    pub fn assume(&self) -> Result<(), IdentityError> {
        let refused = |step| move |source| IdentityError::Refused { step, source };
        if let Some(groups) = &self.groups
            && Uid::effective().is_root()
        {
            setgroups(groups).map_err(refused("set the supplementary groups"))?;
        }
        if let Some(gid) = self.gid {
            setgid(gid).map_err(refused("set the group"))?;
        }
        if let Some(uid) = self.uid {
            setuid(uid).map_err(refused("set the user"))?;
            if !uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
                return Err(IdentityError::NotDropped);
            }
        }
        Ok(())
    }
}

/// Name services have several ways to say that a name is unknown (getpwnam(3)), or that the service is not running.
fn means_unknown(error: Errno) -> bool {
    [Errno::ENOENT, Errno::ESRCH, Errno::EBADF, Errno::EPERM].contains(&error)
}

fn look_up_user(name: &str) -> Result<User, IdentityError> {
    let found = match number(name) {
        Some(uid) => User::from_uid(Uid::from_raw(uid)),
        None => User::from_name(name),
    };
    match found {
        Ok(Some(user)) => Ok(user),
        Ok(None) => Err(IdentityError::UnknownUser(name.to_owned())),
        Err(source) if means_unknown(source) => Err(IdentityError::UnknownUser(name.to_owned())),
        Err(source) => Err(IdentityError::LookUp {
            name: name.to_owned(),
            source,
        }),
    }
}

fn look_up_group(name: &str) -> Result<Group, IdentityError> {
    let found = match number(name) {
        Some(gid) => Group::from_gid(Gid::from_raw(gid)),
        None => Group::from_name(name),
    };
    match found {
        Ok(Some(group)) => Ok(group),
        Ok(None) => Err(IdentityError::UnknownGroup(name.to_owned())),
        Err(source) if means_unknown(source) => Err(IdentityError::UnknownGroup(name.to_owned())),
        Err(source) => Err(IdentityError::LookUp {
            name: name.to_owned(),
            source,
        }),
    }
}

fn groups_of(user: &User, gid: Gid) -> Result<Vec<Gid>, IdentityError> {
    let failed = |source| IdentityError::LookUp {
        name: user.name.clone(),
        source,
    };
    let name = CString::new(user.name.as_str()).map_err(|_| failed(Errno::EINVAL))?;
    getgrouplist(&name, gid).map_err(failed)
}

fn number(name: &str) -> Option<u32> {
    name.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| name.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_the_same_identity() {
        let by_name = ProcessIdentity::look_up(Some("root"), None).unwrap();
        assert_eq!(by_name, ProcessIdentity::look_up(Some("0"), None).unwrap());
        assert_eq!(by_name.ids(), (Some(0), Some(0)));
    }

    #[test]
    fn a_group_overrides_the_group_of_the_user() {
        let identity = ProcessIdentity::look_up(Some("root"), Some("daemon")).unwrap();
        let daemon = Group::from_name("daemon").unwrap().unwrap().gid.as_raw();
        assert_eq!(identity.ids(), (Some(0), Some(daemon)));
        assert!(identity.groups.unwrap().contains(&Gid::from_raw(daemon)));
    }

    #[test]
    fn a_group_alone_leaves_user_and_other_groups() {
        let identity = ProcessIdentity::look_up(None, Some("daemon")).unwrap();
        assert_eq!((identity.uid, identity.groups), (None, None));
    }

    #[test]
    fn who_is_unknown_is_named() {
        // A name service that is configured and not running answers otherwise than one that knows of nobody.
        let refusal = |user, group| ProcessIdentity::look_up(user, group).unwrap_err().to_string();
        assert!(refusal(Some("no such user"), None).contains("no such user"));
        assert!(refusal(None, Some("4294967290")).contains("4294967290"));
        assert!(refusal(Some("99999999999"), None).contains("99999999999"));
        assert!(ProcessIdentity::look_up(Some(""), None).is_err());
    }

    #[test]
    fn nobody_asked_for_changes_nothing() {
        drop_privileges(None, None).unwrap();
    }
}
