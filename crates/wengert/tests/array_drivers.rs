//! Drivers at points of tensors: against closed forms, nested, and with captures of every kind.
use wengert::prelude::*;
