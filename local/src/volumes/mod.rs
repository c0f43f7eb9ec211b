//! Volumes: directories that sandboxes share, and whose content has an API of its own.
//!
//! All of them belong to one process, the keeper, which the server starts with the first volume. It has namespaces like
//! a sandbox's and nothing of the host in sight: each volume is a tmpfs of its own there, whose owners are the
//! sandboxes' users by number. Like a sandbox's files they are in memory and vanish with the last process that has them
//! mounted, whoever owns them: there is nothing to clean up.
//!
//! | module | what it is for |
//! |---|---|
//! | `keeper` | the process: makes, lends and drops volumes for the server |
//! | `content` | the API over HTTP, which the server relays to the keeper |
//! | `tree` | the files of one volume, reached so that nothing in them leads out |
//! | `removal` | removing directories of any depth |
//! | `refusal` | what the API answers when it does not do what it was asked |
//!
//! What the server knows of volumes is in [`crate::sandbox::volumes`].

mod content;
pub(crate) mod keeper;
mod refusal;
mod removal;
mod tree;

pub(crate) use refusal::Refusal;
