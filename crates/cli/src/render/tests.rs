//! Every format for one small program.
