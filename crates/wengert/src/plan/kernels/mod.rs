//! temp
use super::kernel::*;
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::primitives::{Op, Primitive};
use wengert_kernels::region::{Slice, SliceMut};
#[derive(Debug)]
struct Reference(Op, Vec<Type>);
impl Kernel for Reference {
    fn name(&self) -> String { self.0.name().into_owned() }
    fn operations(&self) -> usize { 1 }
    fn run(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        let arrays: Vec<Array> = call.args.iter().zip(&self.1).map(|(s, t)| match s {
            Slice::U8(x) => Array::new(&t.shape, x.iter().map(|&x| x != 0).collect::<Vec<bool>>()),
            Slice::I64(x) => Array::new(&t.shape, x.to_vec()),
            Slice::F32(x) => Array::new(&t.shape, x.to_vec()),
            Slice::F64(x) => Array::new(&t.shape, x.to_vec()),
            _ => unreachable!(),
        }).collect();
        let refs: Vec<&Array> = arrays.iter().collect();
        for (r, o) in self.0.eval(&refs)?.iter().zip(call.outs) {
            match o {
                SliceMut::U8(o) => o.iter_mut().zip(r.known::<bool>()).for_each(|(o, &x)| *o = u8::from(x)),
                SliceMut::I64(o) => o.copy_from_slice(r.known()),
                SliceMut::F32(o) => o.copy_from_slice(r.known()),
                SliceMut::F64(o) => o.copy_from_slice(r.known()),
            }
        }
        Ok(())
    }
}
pub(crate) fn kernel(op: &Op, args: &[&Type], _outs: &[Type]) -> Box<dyn Kernel> {
    Box::new(Reference(op.clone(), args.iter().map(|&t| t.clone()).collect()))
}
