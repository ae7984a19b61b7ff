//! Hand tracking: distances between observed points and a posed hand, and their narrow dense Jacobian, ADBench's HAND.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon (2018), after Taylor, Stebbing, Ramakrishna, Keskin, Shotton, Izadi,
//! Hertzmann and Fitzgibbon, "User-specific hand modeling from monocular depth sequences" (2014): a kinematic chain and
//! linear blend skinning.

use std::sync::Arc;

use wengert::prelude::*;
use wengert::{Compile, Error, Real};

/// Parameters of a pose: rotation (3), translation (3), four angles for each of five fingers.
pub const POSE: usize = 26;

/// Fingers, in the order thumb, index, middle, ring, pinky.
const FINGERS: usize = 5;
/// Angles of a finger, and the parameter that is the first of the first.
const ANGLES: usize = 4;
const FIRST_ANGLE: usize = 6;

/// Bones that the pose moves: the wrist, and four for each finger.
pub const MOVED: usize = 21;

/// The hand at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The bone each one hangs on, which stands before it; none for a root.
    pub parents: Vec<Option<usize>>,
    /// Each bone relative to its parent: 4 × 4, row by row.
    pub base_relatives: Vec<[f64; 16]>,
    /// The inverse of where each one is at rest.
    pub inverse_base_absolutes: Vec<[f64; 16]>,
    /// Homogeneous coordinates of the vertices.
    pub vertices: Vec<[f64; 4]>,
    /// For every vertex the bones that move it, each with its weight.
    pub weights: Vec<Vec<(usize, f64)>>,
    /// The vertices of each triangle.
    pub triangles: Vec<[usize; 3]>,
}

/// The numbers of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The hand at rest.
    pub model: Model,
    /// What each observed point corresponds to: a vertex, or in the complicated case a triangle.
    pub correspondences: Vec<usize>,
    /// The observed points.
    pub points: Vec<[f64; 3]>,
    /// In the complicated case, the place of each point in its triangle.
    pub us: Option<Vec<[f64; 2]>>,
    /// The pose.
    pub theta: [f64; POSE],
}

impl Data {
    /// The places in the triangles, `[N, 2]`; of no use in the simple case, where there are none: `[0, 2]`.
    pub fn places(&self) -> Tensor {
        let us = self.us.as_deref().unwrap_or_default();
        Tensor::from_vec(&[us.len(), 2], us.concat())
    }
}

/// Where the bones take points at rest, as the first stage, of the pose alone: numbers, recorded once and run as
/// straight-line code. For every bone, every column `c` of its transform after the global rotation and every row `r` a
/// number: `4 bones` rows of 3.
///
/// The translation is left out: it is added to every vertex, whatever its weights sum up to.
pub fn bones<R: Real>(theta: &[R; POSE], model: &Model) -> Vec<R> {
    let whole = rotation(&[theta[0], theta[1], theta[2]]);
    let mut absolute: Vec<Affine<R>> = Vec::with_capacity(model.parents.len());
    let mut turned = Vec::with_capacity(12 * model.parents.len());
    for (bone, parent) in model.parents.iter().enumerate() {
        let own = relative(theta, bone, &model.base_relatives[bone]);
        let own = parent.map_or(own, |parent| absolute[parent].times(|k, c| own.0[k][c]));
        let back = &model.inverse_base_absolutes[bone];
        let placed = own.times(|k, c| R::constant(back[4 * k + c]));
        absolute.push(own);
        for c in 0..4 {
            turned.extend(whole.map(|row| dot(row, [placed.0[0][c], placed.0[1][c], placed.0[2][c]])));
        }
    }
    turned
}

/// The first three rows of an affine map.
#[derive(Clone, Copy)]
struct Affine<R>([[R; 4]; 3]);

impl<R: Real> Affine<R> {
    /// The product with another affine map, given by its entries in the first three rows.
    fn times(&self, other: impl Fn(usize, usize) -> R) -> Self {
        Affine(self.0.map(|row| {
            std::array::from_fn(|c| {
                let sum = dot([row[0], row[1], row[2]], [other(0, c), other(1, c), other(2, c)]);
                if c == 3 { sum + row[3] } else { sum }
            })
        }))
    }
}

fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A bone's base times `Rz Rx`; the angle about y is zero for every bone.
fn relative<R: Real>(theta: &[R; POSE], bone: usize, base: &[f64; 16]) -> Affine<R> {
    let (about_x, about_z) = angles(bone);
    Affine(std::array::from_fn(|r| {
        let b: [f64; 4] = std::array::from_fn(|c| base[4 * r + c]);
        let b = b.map(R::constant);
        let (turned, across) = match about_z.map(|k| (theta[k].sin(), theta[k].cos())) {
            Some((s, c)) => (b[0] * c + b[1] * s, b[1] * c - b[0] * s),
            None => (b[0], b[1]),
        };
        match about_x.map(|k| (theta[k].sin(), theta[k].cos())) {
            Some((s, c)) => [turned, across * c + b[2] * s, b[2] * c - across * s, b[3]],
            None => [turned, across, b[2], b[3]],
        }
    }))
}

/// The parameters that are the angles of a bone about x and z: only the last three bones of a finger have any.
fn angles(bone: usize) -> (Option<usize>, Option<usize>) {
    if bone == 0 || bone >= MOVED {
        return (None, None);
    }
    let first = FIRST_ANGLE + ANGLES * ((bone - 1) / 4);
    match (bone - 1) % 4 {
        0 => (None, None),
        1 => (Some(first), Some(first + 1)),
        2 => (Some(first + 2), None),
        _ => (Some(first + 3), None),
    }
}

/// The rotation about an axis by an angle, both given as `r`, of length `|r|`; none where that is below 1e-4.
fn rotation<R: Real>(r: &[R; 3]) -> [[R; 3]; 3] {
    let square = dot(*r, *r);
    let [zero, one] = [0.0, 1.0].map(R::constant);
    // Both sides are computed, and one is chosen, so that one recording serves all poses. The square root is never taken
    // of a zero: its derivative is infinite there.
    let turns = !square.less(R::constant(1e-8));
    let angle = R::select(turns, square, one).sqrt();
    let [x, y, z] = r.map(|r| r / angle);
    let (s, c) = (angle.sin(), angle.cos());
    let v = one - c;
    let rows = [
        [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
        [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
        [x * z * v - y * s, z * y * v + x * s, z * z * v + c],
    ];
    std::array::from_fn(|i| std::array::from_fn(|j| R::select(turns, rows[i][j], if i == j { one } else { zero })))
}

/// What is constant of the second stage, from the bones to the distances. Vertices that correspond to nothing are left out.
#[derive(Clone, Debug)]
struct Rig {
    /// Weight times coordinate: `[vertices, 4 bones]`.
    skin: Tensor,
    /// For every finger the rows of the bones that its angles move, `[4 moved]`, and the columns of the skin that belong to
    /// them, `[vertices, 4 moved]`.
    fingers: Vec<(Tensor, Tensor)>,
    /// The rows of the skin of the corners of each point's triangle, in the complicated case.
    corners: Option<[Tensor; 3]>,
    /// `[N, 3]`.
    points: Tensor,
    /// The derivatives by the translation, `[3, N, 3]`.
    by_translation: Tensor,
}

impl Rig {
    fn new(data: &Data) -> Self {
        let model = &data.model;
        let mut rows = Rows { known: vec![None; model.vertices.len()], used: vec![] };
        let (corners, used) = match &data.us {
            None => (None, data.correspondences.clone()),
            Some(_) => {
                let mut corner = |k: usize| {
                    let corner: Vec<i64> =
                        data.correspondences.iter().map(|&t| rows.row(model.triangles[t][k])).collect();
                    Tensor::from_vec(&[corner.len()], corner)
                };
                let corners = [corner(0), corner(1), corner(2)];
                (Some(corners), rows.used)
            }
        };
        let width = 4 * model.parents.len();
        let skin = Tensor::from_vec(&[used.len(), width], skin(model, &used));
        let fingers = (0..FINGERS).map(|finger| {
            let columns: Vec<i64> = moved_by(model, finger).flat_map(|bone| 4 * bone..4 * bone + 4).collect();
            let columns = Tensor::from_vec(&[columns.len()], columns);
            (columns.clone(), skin.take(&columns, 1))
        });
        let (fingers, count) = (fingers.collect(), data.points.len());
        let by_translation = -Tensor::eye(3).expand_dims(1).broadcast_to(&[3, count, 3]);
        let points = Tensor::from_vec(&[count, 3], data.points.concat());
        Rig { skin, fingers, corners, points, by_translation }
    }

    /// What each point corresponds to, from numbers of the used vertices, `[vertices, any]`: `[N, any]`. In the complicated
    /// case that is `u1 a + u2 b + (1 - u1 - u2) c`.
    fn seen(&self, vertices: &Tensor, us: &Tensor) -> Tensor {
        let Some(corners) = &self.corners else { return vertices.clone() };
        let [a, b, c] = corners.each_ref().map(|rows| vertices.take(rows, 0));
        let (u1, u2) = (us.slice((.., ..1)), us.slice((.., 1..2)));
        &u1 * a + &u2 * b + (1.0 - &u1 - &u2) * c
    }

    /// Observed points minus those of the hand, `[N, 3]`, from the bones, `[4 bones, 3]`, and the translation, `[3]`.
    fn distances(&self, bones: &Tensor, translation: &Tensor, us: &Tensor) -> Tensor {
        &self.points - self.seen(&(self.skin.matmul(bones) + translation), us)
    }

    /// The derivatives by parameters, `[parameters, N, 3]`, from those of bones, `[4 bones, 3, parameters]`, and the columns
    /// of the skin that belong to these bones: the distances are linear in the bones.
    fn by_parameters(&self, skin: &Tensor, by: &Tensor, us: &Tensor) -> Tensor {
        let (rows, parameters) = (by.shape()[0] as isize, by.shape()[2] as isize);
        let vertices = skin.matmul(&by.reshape(&[rows, 3 * parameters]));
        -self.seen(&vertices, us).reshape(&[-1, 3, parameters]).permute(&[2, 0, 1])
    }

    /// The Jacobian column by column, `[columns, N, 3]`: in the complicated case first the derivatives of each point's
    /// distances by its own two places, then those by the pose. `by_pose` is the derivative of the bones,
    /// `[4 bones, 3, 26]`.
    fn columns(&self, bones: &Tensor, by_pose: &Tensor, translation: &Tensor, us: &Tensor) -> Tensor {
        let mut columns = Vec::new();
        if self.corners.is_some() {
            // Each point depends on its own places alone: one direction for the first of all points, one for the second.
            let places = Tensor::eye(2).expand_dims(1).broadcast_to(&[2, us.shape()[0], 2]);
            columns
                .push(vmap(&places, |direction| jvp(us, &direction, |us| self.distances(bones, translation, &us)).1));
        }
        columns.push(self.by_parameters(&self.skin, &by_pose.slice((.., .., ..3)), us));
        columns.push(self.by_translation.clone());
        for (finger, (rows, skin)) in self.fingers.iter().enumerate() {
            if rows.size() == 0 {
                // A hand that lacks the bones of this finger.
                columns.push(Tensor::zeros(&[ANGLES, self.points.shape()[0], 3]));
                continue;
            }
            let first = (FIRST_ANGLE + ANGLES * finger) as isize;
            let by_finger = by_pose.slice((.., .., first..first + ANGLES as isize)).take(rows, 0);
            columns.push(self.by_parameters(skin, &by_finger, us));
        }
        Tensor::concat(&columns.iter().collect::<Vec<_>>(), 0)
    }
}

/// The vertices that are used, each once.
struct Rows {
    known: Vec<Option<i64>>,
    used: Vec<usize>,
}

impl Rows {
    fn row(&mut self, vertex: usize) -> i64 {
        *self.known[vertex].get_or_insert_with(|| {
            self.used.push(vertex);
            self.used.len() as i64 - 1
        })
    }
}

/// Weight times coordinate of these vertices, for every bone four numbers.
fn skin(model: &Model, vertices: &[usize]) -> Vec<f64> {
    let width = 4 * model.parents.len();
    let mut skin = vec![0.0; vertices.len() * width];
    for (row, &vertex) in skin.chunks_exact_mut(width).zip(vertices) {
        for &(bone, weight) in &model.weights[vertex] {
            for (c, x) in model.vertices[vertex].iter().enumerate() {
                row[4 * bone + c] += weight * x;
            }
        }
    }
    skin
}

/// The bones that the angles of a finger move: those that have one, and all that hang on them.
fn moved_by(model: &Model, finger: usize) -> impl Iterator<Item = i64> {
    let first = 1 + 4 * finger;
    let mut moved = vec![false; model.parents.len()];
    for bone in 0..moved.len() {
        moved[bone] = (first + 1..first + 4).contains(&bone) || model.parents[bone].is_some_and(|parent| moved[parent]);
    }
    moved.into_iter().enumerate().filter_map(|(bone, moved)| moved.then_some(bone as i64))
}

/// A function of the bones, the translation and the places.
type Distances = Box<dyn Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor, Error> + Send + Sync>;

/// A function of the bones, their derivatives, the translation and the places.
type Columns = Box<dyn Fn(&Tensor, &Tensor, &Tensor, &Tensor) -> Result<Tensor, Error> + Send + Sync>;

/// The bones of a pose, and their derivatives by it.
type Bones<T> = Box<dyn Fn(&[f64; POSE]) -> T + Send + Sync>;

/// The distances and their Jacobian, compiled for a model and its correspondences.
pub struct Compiled {
    bones: Bones<Vec<f64>>,
    by_pose: Bones<Vec<[f64; POSE]>>,
    distances: Distances,
    columns: Columns,
}

impl Compiled {
    /// For a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        Compiled::with(data, || Compile::new().threads(threads))
    }

    /// For a problem, with these options for both functions.
    pub fn with(data: &Data, compile: impl Fn() -> Compile) -> Self {
        let rig = Rig::new(data);
        let again = rig.clone();
        let distances = compile().function(move |(bones, translation, us): (Tensor, Tensor, Tensor)| {
            rig.distances(&bones, &translation, &us)
        });
        let columns = compile().function(move |(bones, by_pose, translation, us): (Tensor, Tensor, Tensor, Tensor)| {
            again.columns(&bones, &by_pose, &translation, &us)
        });
        let model = data.model.clone();
        let recorded = Arc::new(record([0.5; POSE], move |theta: [Var; POSE]| bones(&theta, &model)));
        let again = recorded.clone();
        Compiled {
            bones: Box::new(move |theta| recorded.value(*theta)),
            by_pose: Box::new(move |theta| again.jacobian(*theta)),
            distances: Box::new(move |bones, translation, us| distances.try_call((bones, translation, us))),
            columns: Box::new(move |bones, by_pose, translation, us| {
                columns.try_call((bones, by_pose, translation, us))
            }),
        }
    }

    /// Observed points minus those of the hand, `[N, 3]`: minus a vertex, or in the complicated case minus a place in a
    /// triangle, `u1 a + u2 b + (1 - u1 - u2) c`.
    ///
    /// # Errors
    /// If that needs more memory than the options allow.
    pub fn objective(&self, theta: &[f64; POSE], us: &Tensor) -> Result<Tensor, Error> {
        (self.distances)(&self.bones(theta), &translation(theta), us)
    }

    /// Their Jacobian column by column, `[columns, N, 3]`: in the complicated case first the derivatives of each point's
    /// distances by its own two places, then those by the pose.
    ///
    /// # Errors
    /// As [`Compiled::objective`].
    pub fn jacobian(&self, theta: &[f64; POSE], us: &Tensor) -> Result<Tensor, Error> {
        let by_pose = (self.by_pose)(theta).into_flattened();
        let rows = by_pose.len() / (3 * POSE);
        let by_pose = Tensor::from_vec(&[rows, 3, POSE], by_pose);
        (self.columns)(&self.bones(theta), &by_pose, &translation(theta), us)
    }

    fn bones(&self, theta: &[f64; POSE]) -> Tensor {
        let bones = (self.bones)(theta);
        Tensor::from_vec(&[bones.len() / 3, 3], bones)
    }
}

fn translation(theta: &[f64; POSE]) -> Tensor {
    Tensor::from_vec(&[3], theta[3..6].to_vec())
}
