//! Plain linear algebra of small matrices: the definitions that operations are computed by where nothing faster is.

pub(crate) mod jacobi;
