//! [`Case`]: a Program at a point with the operands that move, and its derivatives there.

use wengert::{Array, Program, Type};

use crate::support::{Random, coarsest, combine, flat, program_of, scaled, widened, widened_array};
use wengert::primitives::Sample;

/// A Program at a point, differentiated in some of its operands.
pub(crate) struct Case {
    /// For messages.
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) args: Vec<Array>,
    /// The operands that move.
    pub(crate) active: Vec<bool>,
    /// Whether the results are jointly linear in the operands that move.
    pub(crate) linear: bool,
    /// Whether the derivative is severed on purpose: it is zero and not that of the value.
    pub(crate) severed: bool,
    pub(crate) jvp: Program,
    pub(crate) vjp: Program,
    /// For each number among the real results, the sizes of its derivatives.
    sizes: Vec<Vec<f64>>,
}

impl Case {
    pub(crate) fn new(name: &str, program: Program, args: Vec<Array>, active: Vec<bool>) -> Result<Case, String> {
        let jvp = program.jvp(&active).map_err(|error| format!("{name}: jvp: {error}"))?;
        let vjp = program.vjp(&active).map_err(|error| format!("{name}: vjp: {error}"))?;
        let name = format!("{name}, moving {active:?}");
        let mut case = Case { name, program, args, active, linear: false, severed: false, jvp, vjp, sizes: Vec::new() };
        case.sizes = case.derivative_sizes()?;
        Ok(case)
    }

    fn derivative_sizes(&self) -> Result<Vec<Vec<f64>>, String> {
        let zeros: Vec<Array> = self.moving().map(|arg| Array::zeros(arg.ty())).collect();
        let mut columns = Vec::new();
        for (k, zero) in zeros.iter().enumerate() {
            for place in 0..zero.size() {
                let mut basis = zeros.clone();
                let mut unit = vec![0.0; zero.size()];
                unit[place] = 1.0;
                basis[k] = crate::support::array(zero.ty(), &unit);
                columns.push(flat(&self.push(&basis)?));
            }
        }
        let rows: usize = self.real_results().iter().map(Type::size).sum();
        Ok((0..rows).map(|row| columns.iter().map(|column| column[row].abs()).collect()).collect())
    }

    /// The operands that move.
    pub(crate) fn moving(&self) -> impl Iterator<Item = &Array> {
        self.args
            .iter()
            .zip(&self.active)
            .filter(|(arg, active)| **active && arg.dtype().is_float())
            .map(|(arg, _)| arg)
    }

    /// The types of the real results.
    pub(crate) fn real_results(&self) -> Vec<Type> {
        self.program.output_types().into_iter().filter(|ty| ty.dtype.is_float()).collect()
    }

    /// A direction for every operand that moves.
    pub(crate) fn tangents(&self, random: &mut Random) -> Vec<Array> {
        self.moving().map(|arg| random.directions(arg.ty())).collect()
    }

    /// A cotangent for every real result.
    pub(crate) fn cotangents(&self, random: &mut Random) -> Vec<Array> {
        self.real_results().iter().map(|ty| random.directions(ty)).collect()
    }

    /// `J t`: the tangents of the real results.
    pub(crate) fn push(&self, tangents: &[Array]) -> Result<Vec<Array>, String> {
        let operands: Vec<Array> = self.args.iter().chain(tangents).cloned().collect();
        let outs = self.jvp.run_reference(&operands).map_err(|error| format!("{}: jvp: {error}", self.name))?;
        let dots = outs[self.program.outputs().len()..].iter();
        Ok(dots.filter(|dot| dot.dtype().is_float()).cloned().collect())
    }

    /// `J^T c`: the cotangents of the operands that move.
    pub(crate) fn pull(&self, cotangents: &[Array]) -> Result<Vec<Array>, String> {
        let operands: Vec<Array> = self.args.iter().chain(cotangents).cloned().collect();
        let outs = self.vjp.run_reference(&operands).map_err(|error| format!("{}: vjp: {error}", self.name))?;
        Ok(outs[self.program.outputs().len()..].to_vec())
    }

    /// The real results at these operands.
    pub(crate) fn value(&self, args: &[Array]) -> Result<Vec<f64>, String> {
        let outs = self.program.run_reference(args).map_err(|error| format!("{}: {error}", self.name))?;
        Ok(outs.iter().filter(|out| out.dtype().is_float()).flat_map(Array::to_f64).collect())
    }

    /// For each number of the real results, the sum of the sizes of what `J t` adds up.
    pub(crate) fn push_sizes(&self, tangents: &[Array]) -> Vec<f64> {
        let t = flat(tangents);
        let size = |row: &Vec<f64>| row.iter().zip(&t).map(|(j, t)| j * t.abs()).sum();
        self.sizes.iter().map(size).collect()
    }

    /// For each number of the operands that move, the sum of the sizes of what `J^T c` adds up.
    pub(crate) fn pull_sizes(&self, cotangents: &[Array]) -> Vec<f64> {
        let c = flat(cotangents);
        let count = self.moving().map(Array::size).sum();
        (0..count).map(|k| self.sizes.iter().zip(&c).map(|(row, c)| row[k] * c.abs()).sum()).collect()
    }

    /// What relative rounding error a derivative may have: every function is right to 4 units in
    /// the last place, a rule has a handful of them, and a sum of n terms adds n roundings.
    pub(crate) fn rounding(&self) -> f64 {
        let terms = self.sizes.len().max(self.sizes.first().map_or(0, Vec::len));
        coarsest(&self.jvp) * (32 + terms) as f64
    }

    /// The same case in double precision, for differences of single-precision functions.
    pub(crate) fn wide(&self) -> Option<(Program, Vec<Array>)> {
        Some((widened(&self.program)?, self.args.iter().map(widened_array).collect()))
    }
}

/// Every case of a sample: all real operands together, each alone, each set in which the operation
/// declares that it is linear.
pub(crate) fn cases(sample: &Sample) -> Result<Vec<Case>, String> {
    let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
    let program = program_of(&sample.op, &types)?;
    let real: Vec<bool> = types.iter().map(|ty| ty.dtype.is_float()).collect();
    let only = |set: &[usize]| (0..real.len()).map(|k| real[k] && set.contains(&k)).collect::<Vec<bool>>();
    let sets: Vec<Vec<bool>> = sample.op.linear_in(types.len()).iter().map(|set| only(set)).collect();
    let mut actives = vec![real.clone()];
    actives.extend((0..real.len()).map(|k| only(&[k])));
    actives.extend(sets.clone());
    let mut seen: Vec<Vec<bool>> = Vec::new();
    let mut cases = Vec::new();
    for active in actives {
        if !active.contains(&true) || seen.contains(&active) {
            continue;
        }
        seen.push(active.clone());
        let mut case = Case::new(&name(sample), program.clone(), sample.args.clone(), active.clone())?;
        let within = |set: &Vec<bool>| active.iter().zip(set).all(|(active, set)| *set || !active);
        case.linear = sets.iter().any(within);
        case.severed = matches!(sample.op, wengert::primitives::Op::Unary(wengert::ops::Unary::Detach));
        cases.push(case);
    }
    Ok(cases)
}

/// The tangent program of a case as a case of its own: in everything real, and in the tangents
/// alone, in which it is linear.
pub(crate) fn tangent_cases(case: &Case, random: &mut Random) -> Result<Vec<Case>, String> {
    let tangents = case.tangents(random);
    let args: Vec<Array> = case.args.iter().chain(&tangents).cloned().collect();
    let everything: Vec<bool> = case.active.iter().copied().chain(tangents.iter().map(|_| true)).collect();
    let alone: Vec<bool> = case.args.iter().map(|_| false).chain(tangents.iter().map(|_| true)).collect();
    let name = format!("tangent of {}", case.name);
    let mut second = vec![
        Case::new(&name, case.jvp.clone(), args.clone(), everything)?,
        Case::new(&name, case.jvp.clone(), args, alone)?,
    ];
    second[1].linear = true;
    second.iter_mut().for_each(|second| second.severed = case.severed);
    Ok(second)
}

/// An operation with its options and the types of its operands.
pub(crate) fn name(sample: &Sample) -> String {
    let types: Vec<String> = sample.args.iter().map(|arg| arg.ty().to_string()).collect();
    format!("{:?} of {}", sample.op, types.join(" and "))
}

/// The operands with those that move at `x + step t`.
pub(crate) fn displaced(args: &[Array], active: &[bool], tangents: &[Array], step: f64) -> Vec<Array> {
    let mut tangents = tangents.iter();
    let moves = |(arg, active): (&Array, &bool)| {
        if *active && arg.dtype().is_float() {
            combine(1.0, arg, step, tangents.next().expect("one for every operand that moves"))
        } else {
            arg.clone()
        }
    };
    args.iter().zip(active).map(moves).collect()
}

/// Tangents at another length.
pub(crate) fn times(a: f64, arrays: &[Array]) -> Vec<Array> {
    arrays.iter().map(|array| scaled(a, array)).collect()
}
