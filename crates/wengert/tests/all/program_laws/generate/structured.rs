//! Random uses of the operations that need operands of their own making: indexing, blocks at computed
//! starts, contraction, convolution, sorting and random numbers.

use wengert::ops::{Binary, Unary};
use wengert::primitives::{
    ArgSort, Broadcast, Conv, DynamicSlice, DynamicUpdate, Einsum, Extreme, Fold, Gather, Op, OutOfBounds, Primitive,
    RandomBits, RandomKind, Reshape, Scatter, ScatterReduce, Update, WindowArg, Write,
};
use wengert::{DType, Type};

use super::{Generator, Item};

impl Generator {
    pub(super) fn structured(&mut self, family: &str) -> Option<Vec<Item>> {
        match family {
            "gather" => self.indexing(None),
            "scatter" => {
                let write = if self.random.below(2) == 0 { Write::Add } else { Write::Set };
                let scatter = |Gather { batch, axes, mode }| Scatter { batch, axes, mode, write };
                self.indexing(Some(&|places| scatter(places).into()))
            }
            "scatter_reduce" => {
                let (fold, include) = (Fold::ALL[self.random.below(3)], self.random.below(2) == 0);
                let reduce = |Gather { batch, axes, mode }| ScatterReduce { batch, axes, mode, fold, include };
                self.indexing(Some(&|places| reduce(places).into()))
            }
            "dynamic_slice" | "dynamic_update" => self.block(family),
            "update" => self.update(),
            "einsum" => self.einsum(),
            "conv" => self.conv(),
            "window_arg" => self.window(),
            "arg_sort" => {
                let dtype = DType::ALL[self.random.below(4)];
                let x = self.pick_of(dtype)?;
                let axis = self.random.below(x.array.ty().rank().max(1));
                let descending = self.random.below(2) == 0;
                let length = x.array.shape().get(axis).copied().unwrap_or(0);
                let count = (self.random.below(2) == 0).then(|| self.random.below(length + 1));
                self.emit(ArgSort { axis, descending, count }, &[&x])
            }
            _ => self.random_numbers(),
        }
    }

    /// Any number of an element type: real ones most often.
    fn pick_any(&mut self) -> Option<Item> {
        let dtype = [DType::Bool, DType::I64, DType::F32, DType::F64, DType::F64, DType::F64][self.random.below(6)];
        self.pick_of(dtype)
    }

    fn random_numbers(&mut self) -> Option<Vec<Item>> {
        let keys = if self.random.below(2) == 0 { vec![2] } else { vec![self.random.below(3), 2] };
        let words = self.pick_of(DType::I64)?;
        let key = self.coerced(&words, &Type::new(DType::I64, &keys))?;
        let kind = [RandomKind::Bits, RandomKind::Uniform(self.allowed(DType::F32)), RandomKind::Uniform(DType::F64)];
        let kind = kind[self.random.below(3)];
        let shape: Vec<usize> = (0..self.random.below(4)).map(|_| self.random.below(4)).collect();
        self.emit(RandomBits { shape, kind }, &[&key])
    }

    /// A gather, or what writes at the places that one reads.
    fn indexing(&mut self, write: Option<&dyn Fn(Gather) -> Op>) -> Option<Vec<Item>> {
        let x = self.pick_any()?;
        let shape = x.array.shape().to_vec();
        let batch = if shape.is_empty() { 0 } else { self.random.below(2) };
        let axes: Vec<usize> = (batch..shape.len()).filter(|_| self.random.below(2) == 0).collect();
        let mode = OutOfBounds::ALL[self.random.below(3)];
        let indices = self.indices(&shape, batch, &axes, mode)?;
        let gather = Gather { batch, axes, mode };
        let Some(write) = write else { return self.emit(gather, &[&x, &indices]) };
        let ty = gather.infer(&[x.array.ty(), indices.array.ty()]).ok()?.pop()?;
        if ty.size() > self.scale.largest {
            return None;
        }
        let updates = self.like(&ty)?;
        self.emit(write(gather), &[&x, &indices, &updates])
    }

    /// A value of this type, or one made of another.
    fn like(&mut self, ty: &Type) -> Option<Item> {
        if let Some(item) = self.pick(|other| other == ty) {
            return Some(item);
        }
        // The elements of a value with as many, or a sum everywhere.
        let same_size = self.pick(|other| other.dtype == ty.dtype && other.size() == ty.size());
        match same_size {
            Some(item) => self.one(Reshape::new(&ty.shape), &[&item]),
            None => {
                let item = self.pick(|_| true)?;
                self.coerced(&item, ty)
            }
        }
    }

    /// Index vectors for these axes, within their lengths where others are an error.
    fn indices(&mut self, shape: &[usize], batch: usize, axes: &[usize], mode: OutOfBounds) -> Option<Item> {
        let numbers = self.pick_of(DType::I64)?;
        let size = numbers.array.size();
        let flat = self.one(Reshape::new(&[size]), &[&numbers])?;
        let numbers = if mode == OutOfBounds::Error {
            let shortest = axes.iter().map(|&axis| shape[axis]).min().unwrap_or(1);
            if shortest == 0 {
                return None;
            }
            let square = self.one(Unary::Square, &[&flat])?;
            let shortest = self.full(shortest as f64, square.array.ty())?;
            self.one(Binary::Rem, &[&square, &shortest])?
        } else {
            flat
        };
        let mut indices = [&shape[..batch], &[size, axes.len()]].concat();
        if indices.iter().product::<usize>() > self.scale.largest {
            return None;
        }
        let place = indices.len() - 2;
        if axes.len() > 1 && size.is_multiple_of(axes.len()) && batch == 0 {
            indices[place] = size / axes.len();
            return self.one(Reshape::new(&indices), &[&numbers]);
        }
        self.one(Broadcast::new(&indices, &[place]), &[&numbers])
    }

    fn block(&mut self, family: &str) -> Option<Vec<Item>> {
        let x = self.pick_any()?;
        let ty = x.array.ty().clone();
        let sizes: Vec<usize> = ty.shape.iter().map(|&length| self.random.below(length + 1)).collect();
        let start = self.like(&Type::new(DType::I64, &[ty.rank()]))?;
        if family == "dynamic_slice" {
            return self.emit(DynamicSlice::new(&sizes), &[&x, &start]);
        }
        let block = self.like(&ty.with_shape(sizes))?;
        self.emit(DynamicUpdate, &[&x, &block, &start])
    }

    fn update(&mut self) -> Option<Vec<Item>> {
        let x = self.pick_any()?;
        let ty = x.array.ty().clone();
        let write = if self.random.below(2) == 0 && ty.dtype != DType::Bool { Write::Add } else { Write::Set };
        let stride: Vec<usize> = ty.shape.iter().map(|_| 1 + self.random.below(2)).collect();
        let start: Vec<usize> = ty.shape.iter().map(|&length| self.random.below(length + 1)).collect();
        let room = |axis: usize| (ty.shape[axis] - start[axis]).div_ceil(stride[axis]);
        let sizes: Vec<usize> = (0..ty.rank()).map(|axis| self.random.below(room(axis) + 1)).collect();
        let block = self.like(&ty.with_shape(sizes))?;
        self.emit(Update { start, stride, write }, &[&x, &block])
    }

    fn einsum(&mut self) -> Option<Vec<Item>> {
        let dtype = [DType::I64, DType::F32, DType::F64, DType::F64][self.random.below(4)];
        let (x, y) = (self.pick_of(dtype)?, self.pick_of(dtype)?);
        let lhs: Vec<u8> = (b'a'..).take(x.array.ty().rank()).collect();
        let mut rhs: Vec<u8> = Vec::new();
        for (axis, length) in y.array.shape().iter().enumerate() {
            let fits = |k: &usize| x.array.shape()[*k] == *length && !rhs.contains(&lhs[*k]);
            let shared: Vec<usize> = (0..lhs.len()).filter(fits).collect();
            rhs.push(if shared.is_empty() || self.random.below(4) == 0 {
                b'p' + axis as u8
            } else {
                lhs[shared[self.random.below(shared.len())]]
            });
        }
        let mut out: Vec<u8> = lhs.iter().chain(rhs.iter().filter(|label| !lhs.contains(label))).copied().collect();
        out.retain(|_| self.random.below(2) == 0);
        (1..out.len()).rev().for_each(|k| out.swap(k, self.random.below(k + 1)));
        self.emit(Einsum::from_labels(&lhs, &rhs, &out).ok()?, &[&x, &y])
    }

    /// A shape of this rank with this many elements.
    fn factors(&mut self, mut size: usize, rank: usize) -> Vec<usize> {
        let mut shape = vec![1; rank];
        if size == 0 {
            shape[self.random.below(rank)] = 0;
            return shape;
        }
        for factor in [2, 3, 5, 7, 11, 13] {
            while size.is_multiple_of(factor) {
                shape[self.random.below(rank)] *= factor;
                size /= factor;
            }
        }
        shape
    }

    fn conv(&mut self) -> Option<Vec<Item>> {
        let dtype = [DType::I64, DType::F32, DType::F64, DType::F64][self.random.below(4)];
        let (x, w) = (self.pick_of(dtype)?, self.pick_of(dtype)?);
        let spatial = self.random.below(3);
        // Shapes of these sizes, until some fit.
        for _ in 0..20 {
            let x_shape = self.factors(x.array.size(), 2 + spatial);
            let w_shape = self.factors(w.array.size(), 2 + spatial);
            let mut conv = Conv::new(spatial);
            for axis in 0..spatial {
                conv.stride[axis] = 1 + self.random.below(2);
                conv.padding[axis] = (self.random.below(3) as i64 - 1, self.random.below(3) as i64);
                conv.input_dilation[axis] = 1 + self.random.below(2);
                conv.kernel_dilation[axis] = 1 + self.random.below(2);
            }
            conv.groups = x_shape[1].checked_div(w_shape[1]).unwrap_or(1).max(1);
            if conv.groups == 1 {
                conv.batch_groups = 1 + self.random.below(2);
            }
            let types = [Type::new(dtype, &x_shape), Type::new(dtype, &w_shape)];
            if conv.infer(&[&types[0], &types[1]]).is_ok() {
                let x = self.one(Reshape::new(&x_shape), &[&x])?;
                let w = self.one(Reshape::new(&w_shape), &[&w])?;
                return self.emit(conv, &[&x, &w]);
            }
        }
        None
    }

    fn window(&mut self) -> Option<Vec<Item>> {
        let dtype = [DType::I64, DType::F32, DType::F64][self.random.below(3)];
        let x = self.pick_of(dtype)?;
        let spatial = self.random.below(x.array.ty().rank() + 1);
        let mut op = WindowArg::new([Extreme::Max, Extreme::Min][self.random.below(2)], &vec![1; spatial]);
        for axis in 0..spatial {
            op.window[axis] = 1 + self.random.below(3);
            op.stride[axis] = 1 + self.random.below(2);
            op.padding[axis] = (self.random.below(2), self.random.below(2));
        }
        self.emit(op, &[&x])
    }
}
