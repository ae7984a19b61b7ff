//! stub
/// stub
#[derive(Debug)] pub struct Panicked { /// m
 pub message: String }
/// stub
#[derive(Debug)] pub struct Pool;
impl Pool { /// n
 pub fn new(_: usize) -> Pool { Pool } /// n
 pub fn threads(&self) -> usize { 1 } /// r
 pub fn run(&self, parts: usize, f: &(dyn Fn(usize, usize) + Sync)) -> Result<(), Panicked> { for k in 0..parts { f(k, 0) } Ok(()) } }
