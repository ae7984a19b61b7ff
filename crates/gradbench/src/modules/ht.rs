//! `ht`: distances between observed points and a posed hand, and their Jacobian.

use serde::Deserialize;
use wengert::Tensor;

use super::input::{Matrix, check_work, read};
use super::{Failure, Measured, Output, Settings, measure};
use crate::problems::hand::{Compiled, Data, Model, POSE};

#[derive(Deserialize)]
struct Input {
    theta: Vec<f64>,
    us: Matrix,
    data: Observed,
}

#[derive(Deserialize)]
struct Observed {
    correspondences: Vec<usize>,
    points: Matrix,
    model: Hand,
}

/// The names of the bones are of no use here.
#[derive(Deserialize)]
struct Hand {
    bone_count: usize,
    parents: Vec<i64>,
    base_relatives: Vec<[[f64; 4]; 4]>,
    inverse_base_absolutes: Vec<[[f64; 4]; 4]>,
    base_positions: Vec<[f64; 4]>,
    weights: Matrix,
    triangles: Vec<[usize; 3]>,
    is_mirrored: bool,
}

/// More bones than these are no hand: each generation of them is a part of the Program.
const MOST_BONES: usize = 1000;

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (input, runs) = read::<Input>(input)?;
    let data = input.checked()?;
    let (theta, us) = (data.theta, data.places());
    // The first call records and plans.
    let prepared = || Compiled::with(&data, || settings.compile());
    if function == "objective" {
        let prepare = || {
            let prepared = prepared();
            prepared.objective(&theta, &us)?;
            Ok(prepared)
        };
        measure(&runs, prepare, |p| Ok(p.objective(&theta, &us)?), |distances| Output::Numbers(distances.to_vec()))
    } else {
        let prepare = || {
            let prepared = prepared();
            prepared.jacobian(&theta, &us)?;
            Ok(prepared)
        };
        measure(&runs, prepare, |p| Ok(p.jacobian(&theta, &us)?), rows)
    }
}

/// The rows of a Jacobian that is there column by column, `[columns, N, 3]`.
fn rows(columns: Tensor) -> Output {
    let (width, numbers) = (columns.shape()[0], columns.to_vec());
    let height = numbers.len() / width.max(1);
    let row = |row: usize| numbers[row..].iter().step_by(height).copied();
    Output::Rows(width, (0..height).flat_map(row).collect())
}

impl Input {
    fn checked(self) -> Result<Data, Failure> {
        let Observed { correspondences, points, model } = self.data;
        let n = correspondences.len();
        if n == 0 {
            return Err(Failure::new("correspondences is empty"));
        }
        let numbers = self.theta.len();
        let wrong = |_| Failure::new(format!("theta has {numbers} numbers, and a pose has {POSE}"));
        let theta: [f64; POSE] = self.theta.try_into().map_err(wrong)?;
        points.check("points", n, 3)?;
        let is_simple = self.us.rows == 0;
        if !is_simple {
            self.us.check("us", n, 2)?;
        }
        let model = model.checked()?;
        let (what, count) =
            if is_simple { ("vertices", model.vertices.len()) } else { ("triangles", model.triangles.len()) };
        if let Some((k, to)) = correspondences.iter().enumerate().find(|&(_, &to)| to >= count) {
            return Err(Failure::new(format!("correspondence {k} is {to}, and there are {count} {what}")));
        }
        check_work("this hand", (n as u64).checked_mul(4 * model.parents.len() as u64))?;
        let us = (!is_simple).then(|| self.us.into_numbers().as_chunks().0.to_vec());
        let points = points.into_numbers().as_chunks().0.to_vec();
        Ok(Data { model, correspondences, points, us, theta })
    }
}

impl Hand {
    fn checked(self) -> Result<Model, Failure> {
        let (bones, vertices) = (self.bone_count, self.base_positions.len());
        if !(1..=MOST_BONES).contains(&bones) {
            return Err(Failure::new(format!("bone_count is {bones}, and is from 1 to {MOST_BONES}")));
        }
        let lengths = [
            ("parents", self.parents.len()),
            ("base_relatives", self.base_relatives.len()),
            ("inverse_base_absolutes", self.inverse_base_absolutes.len()),
        ];
        if let Some((name, length)) = lengths.iter().find(|&&(_, length)| length != bones) {
            return Err(Failure::new(format!("{name} has {length} entries, and bone_count is {bones}")));
        }
        self.weights.check("weights", vertices, bones)?;
        let parent = |(bone, &parent): (usize, &i64)| match usize::try_from(parent) {
            _ if parent == -1 => Ok(None),
            Ok(parent) if parent < bone => Ok(Some(parent)),
            _ => Err(Failure::new(format!("the parent of bone {bone} is {parent}, which does not stand before it"))),
        };
        let parents = self.parents.iter().enumerate().map(parent).collect::<Result<Vec<_>, _>>()?;
        let outside = |&(_, corners): &(usize, &[usize; 3])| corners.iter().any(|&vertex| vertex >= vertices);
        if let Some((k, corners)) = self.triangles.iter().enumerate().find(outside) {
            return Err(Failure::new(format!("triangle {k} is {corners:?}, and there are {vertices} vertices")));
        }
        let flat = |matrix: &[[f64; 4]; 4]| std::array::from_fn(|k| matrix[k / 4][k % 4]);
        let mut base_relatives: Vec<[f64; 16]> = self.base_relatives.iter().map(flat).collect();
        if self.is_mirrored {
            // What a root turns to the other side, all that hangs on it is turned to.
            let roots = base_relatives.iter_mut().zip(&parents).filter(|(_, parent)| parent.is_none());
            roots.for_each(|(base, _)| base[..4].iter_mut().for_each(|x| *x = -*x));
        }
        let weights = self.weights.into_numbers();
        let used = |row: &[f64]| row.iter().copied().enumerate().filter(|&(_, weight)| weight != 0.0).collect();
        Ok(Model {
            parents,
            base_relatives,
            inverse_base_absolutes: self.inverse_base_absolutes.iter().map(flat).collect(),
            vertices: self.base_positions,
            weights: weights.chunks_exact(bones).map(used).collect(),
            triangles: self.triangles,
        })
    }
}
