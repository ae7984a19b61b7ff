//! Single eigenvalues and singular values, and what is made of them by projectors with weights.
//!
//! A value that repeats is not differentiable: its cluster moves apart in ways that depend on the direction. A sum of functions
//! of the values that weighs all of a cluster alike is. So the derivative of the values is a linear map that refuses, when it
//! runs: forwards, directions in which a cluster moves apart; backwards, weights that differ within a cluster. At the
//! second order nothing that is known of the first one says how a cluster moves apart, and any cluster with a weight is
//! refused.

use std::borrow::Cow;
use std::ops::Range;

use super::spectral::{
    check_operands, derived, failed, for_each_matrix, frame_bytes, lanes, linear_place, pulled_masked, with_known,
    with_lane,
};
use super::spectral_core::{self, Coordinates, Local};
use super::spectral_frame::{Frame, Matrices, SpectralKind, frame_of};
use super::widened_bytes;
use crate::array::{Array, Type};
use crate::error::{Error, Misfit, misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Operand, OperandSet, Primitive,
    Reaches, Sample, Site, Tangents,
};
use crate::program::{Builder, Value};

/// Weights within this part of the largest one are alike: the sum of their roundings on the way.
const ALIKE: f64 = 4096.0 * f64::EPSILON;

// ---- what a cluster allows ----------------------------------------------------------------------

/// The clusters that have values of a range, without values alone.
fn clusters_of(frame: &Frame, range: &Range<usize>) -> Vec<Range<usize>> {
    let meets = |cluster: &Range<usize>| cluster.len() > 1 && cluster.start < range.end && range.start < cluster.end;
    frame.clusters().into_iter().filter(meets).collect()
}

/// The singular values of a range that count as 0.
fn zero_of(frame: &Frame, range: &Range<usize>) -> Option<usize> {
    let is_zero = |&k: &usize| frame.spectrum == SpectralKind::Singular && frame.values[k] <= frame.tolerance();
    range.clone().find(is_zero)
}

fn apart(frame: &Frame, cluster: &Range<usize>, how: &str) -> Misfit {
    let values = &frame.values[cluster.clone()];
    let spread = values.iter().fold(0.0f64, |spread, x| spread.max((x - values[0]).abs()));
    Misfit(format!(
        "the {}s {}..{} are all {:.6e} (to {spread:.1e}; gaps up to {:.1e}, 8 roundings of the norm for each row, are not told \
         apart), and {how}: one of them alone has no derivative; `sum` over all of them, `trace` and `map` have one of every \
         order",
        frame.spectrum.value(),
        cluster.start,
        cluster.end,
        values[0],
        frame.tolerance()
    ))
}

fn kink(frame: &Frame, k: usize) -> Misfit {
    Misfit(format!(
        "the singular value {k} is {:.1e}, which is not above {:.1e} (8 roundings of the norm for each row) and counts as 0, \
         where it has no derivative; an even `trace` and an odd `map` have one",
        frame.values[k],
        frame.tolerance()
    ))
}

/// The weights of all values, of which those in `range` are given.
fn all_weights(frame: &Frame, range: &Range<usize>, weights: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; frame.count()];
    all[range.clone()].copy_from_slice(weights);
    all
}

/// That weights determine a derivative.
fn check_weights(frame: &Frame, range: &Range<usize>, all: &[f64], order: usize) -> Result<(), Misfit> {
    let largest = all.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    for cluster in clusters_of(frame, range) {
        let own = &all[cluster.clone()];
        if order > 0 && own.iter().any(|&x| x != 0.0) {
            return Err(apart(frame, &cluster, "a second derivative asks how they move apart"));
        }
        if own.iter().any(|x| (x - own[0]).abs() > ALIKE * largest) {
            return Err(apart(frame, &cluster, "what flows back to them differs"));
        }
    }
    match zero_of(frame, range).filter(|&k| all[k].abs() > ALIKE * largest) {
        Some(k) => Err(kink(frame, k)),
        None => Ok(()),
    }
}

/// Labels for each value on its own, and of a singular one for its negative, where a function counts.
fn own_labels(counts: impl Iterator<Item = bool>) -> Vec<[usize; 2]> {
    counts.enumerate().map(|(k, counts)| if counts { [2 * k + 1, 2 * k + 2] } else { [0, 0] }).collect()
}

// ---- values -------------------------------------------------------------------------------------

/// `spectral_values(A, frame)`: the values with the numbers of a range, in order.
///
/// The tangent is the [`SpectralForm`] of the direction, which says where values that repeat have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpectralValues {
    /// Of which kind.
    pub spectrum: SpectralKind,
    /// The first.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

/// Options that these operations share, with the number of directions beside the first.
fn range_attributes(spectrum: SpectralKind, start: usize, end: usize) -> Attributes {
    Attributes::default().with("of", spectrum.word()).with("start", start).with("end", end)
}

fn check_range(of: &Matrices, spectrum: SpectralKind, start: usize, end: usize) -> Result<(), Misfit> {
    if start > end || end > of.values() {
        misfit!("there are {} {}s, and no range {start}..{end} of them", of.values(), spectrum.value());
    }
    Ok(())
}

impl Primitive for SpectralValues {
    fn name(&self) -> Cow<'static, str> {
        "spectral_values".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let of = check_operands(args, self.spectrum, 0, 0)?;
        check_range(&of, self.spectrum, self.start, self.end)?;
        Ok(vec![args[0].with_shape(of.shape(&[self.end - self.start]))])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let range = self.start..self.end;
        let result =
            for_each_matrix(args, self.spectrum, &[range.len()], |_, frame| Ok(frame.values[range.clone()].to_vec()));
        Ok(vec![result?])
    }
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        frame_bytes(args, self.spectrum)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        failed("values", why, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let SpectralValues { spectrum, start, end } = *self;
        let form = SpectralForm { spectrum, start, end, order: 0 };
        Ok(vec![tangents[0].map(|tangent| b.op(form, &[args, &[tangent]].concat()))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        range_attributes(self.spectrum, self.start, self.end)
    }
}

impl Family for SpectralValues {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_values").then(|| {
            let spectrum = fields.one_of("of", &SpectralKind::WORDS)?;
            Ok(SpectralValues { spectrum, start: fields.integer("start")?, end: fields.integer("end")? })
        })
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, start, end, a: Array| {
            let frame = frame_of(&a, spectrum);
            Sample::new(SpectralValues { spectrum, start, end }, &[a, frame])
        };
        vec![
            sample(SpectralKind::Symmetric, 0, 3, numbers(1, &[3, 3])),
            sample(SpectralKind::Symmetric, 1, 2, numbers_f32(2, &[2, 2, 2])),
            sample(SpectralKind::Singular, 0, 2, numbers(3, &[3, 2])),
            sample(SpectralKind::Singular, 0, 0, numbers(4, &[2, 0])),
        ]
    }
}

// ---- weights ------------------------------------------------------------------------------------

/// `spectral_combination(A, frame, c, E_1, …, E_k)`: the k-th Fréchet derivative of the sum of projectors onto the vectors
/// of a range of values, each times its weight, in the directions `E`: of order 0 `V diag(c) V^T`, or `U diag(c) V^T`.
///
/// Linear in the weights and in each direction. The transpose in the weights is the [`SpectralForm`] of the cotangent and the
/// directions. Weights have to agree within clusters, and to be 0 there beside directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpectralCombination {
    /// Of which kind.
    pub spectrum: SpectralKind,
    /// The first value.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
    /// How many directions there are.
    pub order: usize,
}

impl SpectralCombination {
    fn of(self, frame: &Frame, weights: &[f64], directions: &[&[f64]]) -> Result<Vec<f64>, Misfit> {
        let range = self.start..self.end;
        let all = all_weights(frame, &range, weights);
        check_weights(frame, &range, &all, self.order)?;
        let labels = own_labels(all.iter().map(|&weight| weight != 0.0));
        let coordinates = Coordinates::new(frame, &labels, directions, self.order);
        let local = |label: usize| {
            let weight = all[(label - 1) / 2];
            Local::Constant(if label % 2 == 1 { weight } else { -weight })
        };
        let derivative = coordinates.assembled(&coordinates.derivative(&local));
        Ok(derivative.into_iter().map(|x| coordinates.units().told(x, self.order)).collect())
    }
}

impl Primitive for SpectralCombination {
    fn name(&self) -> Cow<'static, str> {
        "spectral_combination".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let of = check_operands(args, self.spectrum, 1, self.order)?;
        check_range(&of, self.spectrum, self.start, self.end)?;
        let wanted = args[0].with_shape(of.shape(&[self.end - self.start]));
        if *args[2] != wanted {
            misfit!("the weights are {}, and have to be {wanted}", args[2]);
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let of = Matrices::of(args[0].ty(), self.spectrum)?;
        let parts = lanes(&args[2..], &of);
        let result = for_each_matrix(args, self.spectrum, &[of.rows, of.columns], |lane, frame| {
            let (weights, directions) = parts[lane].split_first().expect("there are weights");
            self.of(frame, weights, &directions.iter().map(|e| &e[..]).collect::<Vec<&[f64]>>())
        });
        Ok(vec![result?])
    }
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let own = |of: Matrices| spectral_core::bytes(self.spectrum, [of.rows, of.columns], self.order);
        widened_bytes(args) + widened_bytes(&args[..1]) + Matrices::of(args[0], self.spectrum).map_or(0, own)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        failed("values", why, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        (2..args).map(|k| vec![k]).collect()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let next = SpectralCombination { order: self.order + 1, ..*self };
        derived(b, [(*self).into(), next.into()], args, tangents)
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let place = linear_place(args);
        let mut pulled = vec![None; args.len()];
        pulled[place] = cotangents[0].map(|ct| {
            // The cotangent takes the place of the weights, or of the direction: a form of it in the one case.
            let operands = with_known(args, place, ct);
            let SpectralCombination { spectrum, start, end, order } = *self;
            if place == 2 {
                b.op(SpectralForm { spectrum, start, end, order }, &operands)
            } else {
                b.op(*self, &operands)
            }
        });
        Ok(pulled)
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(pulled_masked(self, b, cotangents, args))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        range_attributes(self.spectrum, self.start, self.end).with("order", self.order)
    }
}

/// Directions for samples.
fn directions(a: &Array, count: usize) -> Vec<Array> {
    let direction = |k: usize| match a.dtype() {
        crate::array::DType::F32 => numbers_f32(30 + k as u64, a.shape()),
        _ => numbers(30 + k as u64, a.shape()),
    };
    (0..count).map(direction).collect()
}

impl Family for SpectralCombination {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_combination").then(|| {
            Ok(SpectralCombination {
                spectrum: fields.one_of("of", &SpectralKind::WORDS)?,
                start: fields.integer("start")?,
                end: fields.integer("end")?,
                order: fields.integer("order")?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, (start, end), a: Array, order| {
            let op = SpectralCombination { spectrum, start, end, order };
            let mut weights = a.shape()[..a.shape().len() - 2].to_vec();
            weights.push(end - start);
            let weights = match a.dtype() {
                crate::array::DType::F32 => numbers_f32(9, &weights),
                _ => numbers(9, &weights),
            };
            let (frame, directions) = (frame_of(&a, spectrum), directions(&a, order));
            Sample::new(op, &[&[a, frame, weights][..], &directions].concat())
        };
        vec![
            sample(SpectralKind::Symmetric, (0, 3), numbers(1, &[3, 3]), 0),
            sample(SpectralKind::Symmetric, (0, 1), numbers(2, &[2, 2]), 1),
            sample(SpectralKind::Symmetric, (0, 2), numbers_f32(3, &[2, 2, 2]), 0),
            sample(SpectralKind::Singular, (0, 2), numbers(4, &[3, 2]), 0),
            sample(SpectralKind::Singular, (0, 1), numbers(5, &[2, 2]), 1),
        ]
    }
}

// ---- directions ---------------------------------------------------------------------------------

/// `spectral_form(A, frame, E_0, …, E_k)`: for each value of a range, `<E_0, D^k P(A)[E_1, …, E_k]>` with `P` the projector onto
/// its vector: of order 0 `v^T E_0 v`, or `u^T E_0 v`.
///
/// Linear in each direction; the transpose in one is the [`SpectralCombination`] with the cotangent as weights. Clusters in the
/// range must not move apart in the direction, if there is one alone; beside others there must be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpectralForm {
    /// Of which kind.
    pub spectrum: SpectralKind,
    /// The first value.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
    /// How many directions there are beside the first.
    pub order: usize,
}

impl SpectralForm {
    fn of(self, frame: &Frame, directions: &[&[f64]]) -> Result<Vec<f64>, Misfit> {
        let range = self.start..self.end;
        let labels = own_labels((0..frame.count()).map(|k| range.contains(&k)));
        let coordinates = Coordinates::new(frame, &labels, directions, self.order);
        if self.order == 0 {
            self.check_direction(frame, &coordinates)?;
            return Ok(range.map(|k| coordinates.between(0, k, k)).collect());
        }
        if let Some(cluster) = clusters_of(frame, &range).first() {
            return Err(apart(frame, cluster, "a second derivative asks how they move apart"));
        }
        if let Some(k) = zero_of(frame, &range) {
            return Err(kink(frame, k));
        }
        let mut forms = vec![0.0; range.len()];
        // A form of the matrix with both blocks beside its diagonal is twice that of one.
        let half = if frame.spectrum == SpectralKind::Symmetric { 1.0 } else { 0.5 };
        coordinates.form(&mut |tuple, walk| {
            for label in coordinates.labels_in(tuple) {
                let mirrored = frame.spectrum == SpectralKind::Singular && label % 2 == 0;
                let local = Local::Constant(if mirrored { -half } else { half });
                forms[(label - 1) / 2 - range.start] += coordinates.part(tuple, label, &local) * walk;
            }
        });
        Ok(forms.into_iter().map(|x| coordinates.units().told(x, self.order)).collect())
    }

    /// That clusters move as a whole in a direction.
    fn check_direction(self, frame: &Frame, coordinates: &Coordinates<'_>) -> Result<(), Misfit> {
        let range = self.start..self.end;
        let at = |i: usize, j: usize| coordinates.between(0, i, j);
        let all = (0..frame.count()).flat_map(|i| (0..frame.count()).map(move |j| (i, j)));
        let largest = all.fold(0.0f64, |largest, (i, j)| largest.max(at(i, j).abs()));
        let is_small = |x: f64| x.abs() <= ALIKE * largest;
        for cluster in clusters_of(frame, &range) {
            let first = at(cluster.start, cluster.start);
            let mut pairs = cluster.clone().flat_map(|i| cluster.clone().map(move |j| (i, j)));
            if !pairs.all(|(i, j)| is_small(at(i, j) - if i == j { first } else { 0.0 })) {
                return Err(apart(frame, &cluster, "they move apart in this direction"));
            }
        }
        match zero_of(frame, &range).filter(|&k| !is_small(at(k, k))) {
            Some(k) => Err(kink(frame, k)),
            None => Ok(()),
        }
    }
}

impl Primitive for SpectralForm {
    fn name(&self) -> Cow<'static, str> {
        "spectral_form".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let of = check_operands(args, self.spectrum, 0, self.order.saturating_add(1))?;
        check_range(&of, self.spectrum, self.start, self.end)?;
        Ok(vec![args[0].with_shape(of.shape(&[self.end - self.start]))])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let of = Matrices::of(args[0].ty(), self.spectrum)?;
        let parts = lanes(&args[2..], &of);
        let result = for_each_matrix(args, self.spectrum, &[self.end - self.start], |lane, frame| {
            self.of(frame, &parts[lane].iter().map(|e| &e[..]).collect::<Vec<&[f64]>>())
        });
        Ok(vec![result?])
    }
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let own = |of: Matrices| spectral_core::bytes(self.spectrum, [of.rows, of.columns], self.order + 1);
        widened_bytes(args) + widened_bytes(&args[..1]) + Matrices::of(args[0], self.spectrum).map_or(0, own)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        failed("values", why, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        (2..args).map(|k| vec![k]).collect()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let next = SpectralForm { order: self.order + 1, ..*self };
        derived(b, [(*self).into(), next.into()], args, tangents)
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let place = linear_place(args);
        let mut pulled = vec![None; args.len()];
        pulled[place] = cotangents[0].map(|ct| {
            let mut operands: Vec<Value> = (0..args.len()).filter(|&k| k != place).map(|k| args[k].known()).collect();
            operands.insert(2, ct);
            let SpectralForm { spectrum, start, end, order } = *self;
            b.op(SpectralCombination { spectrum, start, end, order }, &operands)
        });
        Ok(pulled)
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(pulled_masked(self, b, cotangents, args))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        range_attributes(self.spectrum, self.start, self.end).with("order", self.order)
    }
}

impl Family for SpectralForm {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_form").then(|| {
            Ok(SpectralForm {
                spectrum: fields.one_of("of", &SpectralKind::WORDS)?,
                start: fields.integer("start")?,
                end: fields.integer("end")?,
                order: fields.integer("order")?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, (start, end), a: Array, order| {
            let op = SpectralForm { spectrum, start, end, order };
            let (frame, directions) = (frame_of(&a, spectrum), directions(&a, order + 1));
            Sample::new(op, &[&[a, frame][..], &directions].concat())
        };
        vec![
            sample(SpectralKind::Symmetric, (0, 3), numbers(1, &[3, 3]), 0),
            sample(SpectralKind::Symmetric, (0, 2), numbers(2, &[2, 2]), 1),
            sample(SpectralKind::Symmetric, (1, 2), numbers_f32(3, &[2, 2, 2]), 0),
            sample(SpectralKind::Singular, (0, 2), numbers(4, &[2, 3]), 0),
            sample(SpectralKind::Singular, (0, 1), numbers(5, &[2, 2]), 1),
        ]
    }
}
