//! The Connect protocol: status codes, envelopes and failures.

mod code;
mod envelope;
mod failure;

pub use code::Code;
pub use envelope::{DEFAULT_MAX_FRAME, Decoder, Frame, encode_envelope};
pub use failure::{Context, RpcError, end_of_stream, read_unary_error};
