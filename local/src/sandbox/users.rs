//! The users of a sandbox: `/etc/passwd` and `/etc/group`, read without the C library's plug-ins, and what they hold
//! at the start.

use std::fs;
use std::path::PathBuf;

/// User and group id of `user`, whose home is `/home/user`.
pub(crate) const USER_ID: u32 = 1000;

/// One line of the password database, with the groups its user belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Supplementary groups, the primary one included.
    pub(crate) groups: Vec<u32>,
    pub(crate) home: PathBuf,
}

/// Where users are looked up.
#[derive(Debug, Clone)]
pub(crate) enum Users {
    /// The sandbox's own `/etc/passwd` and `/etc/group`; packages may have added to them.
    Files,
    /// `user` and `root` are one and the same user of the host, with these ids and homes. Without namespaces, or when
    /// only one user could be mapped.
    One { uid: u32, gid: u32, user_home: PathBuf, root_home: PathBuf },
}

impl Users {
    /// The user called `name`.
    pub(crate) fn by_name(&self, name: &str) -> Option<User> {
        match self {
            Users::Files => {
                let passwd = fs::read_to_string("/etc/passwd").ok()?;
                let group = fs::read_to_string("/etc/group").unwrap_or_default();
                find_user(&passwd, &group, name)
            }
            Users::One { uid, gid, user_home, root_home } => {
                let home = match name {
                    "user" => user_home,
                    "root" => root_home,
                    _ => return None,
                };
                Some(User { name: name.into(), uid: *uid, gid: *gid, groups: vec![*gid], home: home.clone() })
            }
        }
    }

    /// The name for `uid` as a directory listing shows it, or the number.
    pub(crate) fn user_name(&self, uid: u32) -> String {
        match self {
            Users::One { uid: own, .. } if *own == uid => "user".into(),
            _ => name_of("/etc/passwd", uid),
        }
    }

    /// The name for `gid`, or the number.
    pub(crate) fn group_name(&self, gid: u32) -> String {
        match self {
            Users::One { gid: own, .. } if *own == gid => "user".into(),
            _ => name_of("/etc/group", gid),
        }
    }
}

fn find_user(passwd: &str, group: &str, name: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    let home = PathBuf::from(fields.nth(1)?);
    let mut groups = vec![gid];
    for line in group.lines() {
        let mut fields = line.split(':').skip(2);
        let (Some(id), Some(members)) = (fields.next().and_then(|id| id.parse().ok()), fields.next()) else { continue };
        if id != gid && members.split(',').any(|member| member == name) {
            groups.push(id);
        }
    }
    Some(User { name: name.into(), uid, gid, groups, home })
}

fn name_of(database: &str, id: u32) -> String {
    let text = fs::read_to_string(database).unwrap_or_default();
    let number = id.to_string();
    text.lines()
        .find(|line| line.split(':').nth(2) == Some(&number))
        .and_then(|line| line.split(':').next())
        .map_or(number.clone(), str::to_owned)
}

/// The host's system accounts, and `user`. People who have an account on the host are nobody's business inside.
pub(crate) fn sandbox_passwd(host: &str) -> String {
    let mut text = String::from("root:x:0:0:root:/root:/bin/bash\n");
    for line in system_accounts(host) {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&format!("user:x:{USER_ID}:{USER_ID}::/home/user:/bin/bash\n"));
    text
}

/// The host's system groups without their members, and `user`.
pub(crate) fn sandbox_group(host: &str) -> String {
    let mut text = String::from("root:x:0:\n");
    for line in system_accounts(host) {
        let mut fields: Vec<_> = line.split(':').take(3).collect();
        let members = if fields.first() == Some(&"sudo") { "user" } else { "" };
        fields.push(members);
        text.push_str(&fields.join(":"));
        text.push('\n');
    }
    text.push_str(&format!("user:x:{USER_ID}:\n"));
    text
}

fn system_accounts(database: &str) -> impl Iterator<Item = &str> {
    database.lines().filter(|line| {
        let mut fields = line.split(':');
        let name = fields.next().unwrap_or("");
        let id = fields.nth(1).and_then(|id| id.parse::<u32>().ok());
        !matches!(name, "" | "root" | "user") && id.is_some_and(|id| (1..1000).contains(&id) || id == 65534)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/zsh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
        alice:x:1000:1000:Alice:/home/alice:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\nbroken\n";
    const GROUP: &str = "root:x:0:\nsudo:x:27:alice\naudio:x:29:alice\nalice:x:1000:\n";

    #[test]
    fn people_of_the_host_are_not_inside() {
        let passwd = sandbox_passwd(PASSWD);
        assert!(!passwd.contains("alice"), "{passwd}");
        assert_eq!(passwd.lines().count(), 4, "{passwd}");
        let group = sandbox_group(GROUP);
        assert_eq!(group, "root:x:0:\nsudo:x:27:user\naudio:x:29:\nuser:x:1000:\n");
    }

    #[test]
    fn users_come_with_their_groups() {
        let found = find_user(&sandbox_passwd(PASSWD), &sandbox_group(GROUP), "user").unwrap();
        let expected =
            User { name: "user".into(), uid: 1000, gid: 1000, groups: vec![1000, 27], home: "/home/user".into() };
        assert_eq!(found, expected);
        assert_eq!(find_user(PASSWD, GROUP, "nouser"), None);
        assert_eq!(find_user(PASSWD, GROUP, "broken"), None);
        assert_eq!(find_user(PASSWD, GROUP, ""), None);
    }
}
