//! The wire, without I/O: requests out as data, answers in as data.
//!
//! | module | what it knows |
//! |---|---|
//! | [`http`] | a request and the head of an answer, as data |
//! | [`url`] | percent-encoding, queries, origins |
//! | [`secret`] | credentials that cannot be printed by accident |
//! | [`connect`] | Connect: envelopes, codes, failures |
//! | [`rpc`] | which request a remote call becomes, and whether its answer is one |
//! | [`message`] | the two encodings of messages, described once per message |
//! | [`wire`], [`json`] | binary protobuf and lenient proto3 JSON |
//! | [`process`], [`filesystem`] | the two services of envd, the daemon inside a sandbox |
//! | [`spool`] | what the reader of a durable command's output writes |
//! | [`files`] | envd's plain HTTP routes: `/files` and `/health` |
//! | [`range`] | parts of files |
//! | [`control`] | the control plane: create, connect, list, kill … |
//! | [`volume`] | what the refusals of volumes mean |
//! | [`interpreter`] | the code interpreter: runs, contexts, results, charts |
//! | [`proxy`] | what the traffic proxy says when a sandbox or a port is not there |
//! | [`signature`] | signed file URLs |
//! | [`access_key`] | requests that are signed with an access key |
//! | [`broker_token`] | the tokens that a broker gives to its visitors |
//! | [`version`] | envd versions and what they can do |
//! | [`text`] | streaming UTF-8, excerpts |
//! | [`timestamp`] | points in time |

pub mod access_key;
pub mod broker_token;
pub mod connect;
pub mod control;
pub mod files;
pub mod filesystem;
pub mod http;
pub mod interpreter;
pub mod json;
pub mod message;
pub mod process;
pub mod proxy;
pub mod range;
pub mod rpc;
pub mod secret;
pub mod signature;
pub mod spool;
pub mod text;
pub mod timestamp;
pub mod url;
pub mod version;
pub mod volume;
pub mod wire;
