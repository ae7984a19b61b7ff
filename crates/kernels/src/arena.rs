//! stub
/// stub
#[repr(C, align(64))] #[derive(Clone, Copy, Debug)] pub struct Line(pub [u8; 64]);
