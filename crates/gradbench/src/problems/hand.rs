//! Hand tracking: distances between observed points and a posed hand, and their narrow dense Jacobian, ADBench's HAND.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon (2018), after Taylor, Stebbing, Ramakrishna, Keskin, Shotton, Izadi,
//! Hertzmann and Fitzgibbon, "User-specific hand modeling from monocular depth sequences" (2014): a kinematic chain and
//! linear blend skinning.

use wengert::Compile;
use wengert::prelude::*;

/// Parameters of a pose: rotation (3), translation (3), four angles for each of five fingers.
pub const POSE: usize = 26;

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
    /// The pose, 26 numbers.
    pub theta: Vec<f64>,
}

impl Data {
    /// The pose, `[26]`.
    pub fn pose(&self) -> Tensor {
        Tensor::from_vec(&[POSE], self.theta.clone())
    }

    /// The places in the triangles, `[N, 2]`; of no use in the simple case, where there are none: `[0, 2]`.
    pub fn places(&self) -> Tensor {
        let us = self.us.as_deref().unwrap_or_default();
        Tensor::from_vec(&[us.len(), 2], us.concat())
    }
}

/// What is constant, as tensors. Bones are sorted by their distance from the root, and vertices that correspond to nothing
/// are left out.
#[derive(Clone, Debug)]
pub struct Rig {
    chain: Chain,
    /// Weight times coordinate: `[vertices, 4 bones]`.
    skin: Tensor,
    /// The rows of the skin of the corners of each point's triangle, in the complicated case.
    corners: Option<[Tensor; 3]>,
    /// `[N, 3]`.
    points: Tensor,
}

/// The bones, those with as many ancestors one after the other.
#[derive(Clone, Debug)]
struct Chain {
    /// For each angle about x and z the place in the pose, or behind its end if the angle is zero: `[bones]`.
    about_x: Tensor,
    about_z: Tensor,
    /// The columns of the relative transforms, each `[bones, 4]`.
    base: [Tensor; 4],
    /// `[bones, 4, 4]`.
    inverse: Tensor,
    /// For each generation, its bones as a range, and the parents by their place in the generation before.
    generations: Vec<(isize, isize, Option<Tensor>)>,
}

impl Rig {
    /// Of a problem.
    pub fn new(data: &Data) -> Self {
        let (chain, order) = Chain::new(&data.model);
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut rows =
            Rows { model: &data.model, place: &place, known: vec![None; data.model.vertices.len()], used: vec![] };
        let (corners, used) = match &data.us {
            None => (None, data.correspondences.clone()),
            Some(_) => {
                let triangles: Vec<[usize; 3]> =
                    data.correspondences.iter().map(|&t| data.model.triangles[t]).collect();
                let corner = |k: usize, rows: &mut Rows<'_>| {
                    let rows: Vec<i64> = triangles.iter().map(|triangle| rows.row(triangle[k])).collect();
                    Tensor::from_vec(&[rows.len()], rows)
                };
                let corners = [corner(0, &mut rows), corner(1, &mut rows), corner(2, &mut rows)];
                (Some(corners), std::mem::take(&mut rows.used))
            }
        };
        let points = Tensor::from_vec(&[data.points.len(), 3], data.points.concat());
        Rig { chain, skin: rows.skin(&used), corners, points }
    }
}

/// The vertices that are used, each once.
struct Rows<'a> {
    model: &'a Model,
    /// Of each bone in the chain.
    place: &'a [usize],
    known: Vec<Option<i64>>,
    used: Vec<usize>,
}

impl Rows<'_> {
    fn row(&mut self, vertex: usize) -> i64 {
        *self.known[vertex].get_or_insert_with(|| {
            self.used.push(vertex);
            self.used.len() as i64 - 1
        })
    }

    fn skin(&self, vertices: &[usize]) -> Tensor {
        let width = 4 * self.place.len();
        let mut skin = vec![0.0; vertices.len() * width];
        for (row, &vertex) in skin.chunks_exact_mut(width.max(1)).zip(vertices) {
            for &(bone, weight) in &self.model.weights[vertex] {
                for (c, x) in self.model.vertices[vertex].iter().enumerate() {
                    row[4 * self.place[bone] + c] += weight * x;
                }
            }
        }
        Tensor::from_vec(&[vertices.len(), width], skin)
    }
}

impl Chain {
    /// Of a model, with the bones in the order of the chain.
    fn new(model: &Model) -> (Self, Vec<usize>) {
        let bones = model.parents.len();
        let mut ancestors = vec![0; bones];
        for bone in 0..bones {
            ancestors[bone] = model.parents[bone].map_or(0, |parent| ancestors[parent] + 1);
        }
        let mut order: Vec<usize> = (0..bones).collect();
        order.sort_by_key(|&bone| ancestors[bone]);
        let mut generations: Vec<(isize, isize, Option<Tensor>)> = Vec::new();
        let mut before: &[usize] = &[];
        for generation in order.chunk_by(|&a, &b| ancestors[a] == ancestors[b]) {
            let start = generations.last().map_or(0, |(_, end, _)| *end);
            let parents: Option<Vec<i64>> = generation
                .iter()
                .map(|&bone| {
                    model.parents[bone].map(|parent| before.iter().position(|&b| b == parent).expect("is there") as i64)
                })
                .collect();
            let parents = parents.map(|parents| Tensor::from_vec(&[parents.len()], parents));
            generations.push((start, start + generation.len() as isize, parents));
            before = generation;
        }
        let angle = |of: fn(usize) -> Option<usize>| {
            let places = order.iter().map(|&bone| of(bone).unwrap_or(POSE) as i64).collect();
            Tensor::from_vec(&[bones], places)
        };
        let column = |c: usize| {
            let column = order.iter().flat_map(|&bone| (0..4).map(move |r| model.base_relatives[bone][4 * r + c]));
            Tensor::from_vec(&[bones, 4], column.collect())
        };
        let inverse: Vec<f64> = order.iter().flat_map(|&bone| model.inverse_base_absolutes[bone]).collect();
        let chain = Chain {
            about_x: angle(angle_about_x),
            about_z: angle(angle_about_z),
            base: std::array::from_fn(column),
            inverse: Tensor::from_vec(&[bones, 4, 4], inverse),
            generations,
        };
        (chain, order)
    }

    /// Where each bone takes a point that is at rest, `[bones, 4, 4]`.
    fn transforms(&self, theta: &Tensor) -> Tensor {
        let angles = Tensor::concat(&[theta, &Tensor::zeros(&[1])], 0);
        let angle = |places: &Tensor| angles.take(places, 0).expand_dims(1);
        let (x, z) = (angle(&self.about_x), angle(&self.about_z));
        let ((sx, cx), (sz, cz)) = ((x.sin(), x.cos()), (z.sin(), z.cos()));
        // The base times Rz Rx; the angle about y is zero for every bone.
        let [b0, b1, b2, b3] = &self.base;
        let (turned, across) = (b0 * &cz + b1 * &sz, b1 * &cz - b0 * &sz);
        let columns = [turned, &across * &cx + b2 * &sx, b2 * &cx - &across * &sx, b3.clone()];
        let relative = Tensor::stack(&columns.each_ref(), 2);
        let mut absolute: Vec<Tensor> = Vec::new();
        for (start, end, parents) in &self.generations {
            let own = relative.slice(*start..*end);
            absolute.push(match (parents, absolute.last()) {
                (Some(parents), Some(before)) => Tensor::einsum("bij,bjk->bik", &[&before.take(parents, 0), &own]),
                _ => own,
            });
        }
        let absolute = Tensor::concat(&absolute.iter().collect::<Vec<_>>(), 0);
        Tensor::einsum("bij,bjk->bik", &[&absolute, &self.inverse])
    }
}

/// The parameter that is the angle of a bone about the x axis: those of a finger's second, third and fourth bone.
fn angle_about_x(bone: usize) -> Option<usize> {
    let (finger, joint) = (bone.checked_sub(1)? / 4, (bone - 1) % 4);
    [None, Some(0), Some(2), Some(3)][joint].filter(|_| bone < MOVED).map(|k| 6 + 4 * finger + k)
}

/// The parameter that is the angle of a bone about the z axis: that of a finger's second bone.
fn angle_about_z(bone: usize) -> Option<usize> {
    let (finger, joint) = (bone.checked_sub(1)? / 4, (bone - 1) % 4);
    (joint == 1 && bone < MOVED).then_some(7 + 4 * finger)
}

/// The rotation about an axis by an angle, both given as `r`, of length `|r|`; none where that is below 1e-4.
fn rotation(r: &Tensor) -> Tensor {
    let square = r.square().sum();
    let turns = square.ge(1e-8);
    // The square root is never taken of a zero: its derivative is infinite there.
    let angle = turns.where_(&square, 1.0).sqrt();
    let axis = r / &angle;
    let (s, c) = (angle.sin(), angle.cos());
    let [x, y, z]: [Tensor; 3] = std::array::from_fn(|k| axis.slice(k as isize));
    let v = 1.0 - &c;
    let rows = [
        [x.square() * &v + &c, &x * &y * &v - &z * &s, &x * &z * &v + &y * &s],
        [&x * &y * &v + &z * &s, y.square() * &v + &c, &y * &z * &v - &x * &s],
        [&x * &z * &v - &y * &s, &z * &y * &v + &x * &s, z.square() * &v + &c],
    ];
    let matrix = Tensor::stack(&rows.as_flattened().iter().collect::<Vec<_>>(), 0).reshape(&[3, 3]);
    turns.where_(matrix, Tensor::eye(3))
}

/// The vertices of the posed hand that are used, `[vertices, 3]`.
fn posed(theta: &Tensor, rig: &Rig) -> Tensor {
    let transforms = rig.chain.transforms(theta).slice((.., ..3));
    let turned = Tensor::einsum("ri,bic->bcr", &[&rotation(&theta.slice(..3)), &transforms]);
    rig.skin.matmul(&turned.reshape(&[-1, 3])) + theta.slice(3..6)
}

/// Observed points minus those of the hand, `[N, 3]`: minus a vertex, or in the complicated case minus a place in a
/// triangle, `u1 a + u2 b + (1 - u1 - u2) c`.
pub fn distances(theta: &Tensor, us: &Tensor, rig: &Rig) -> Tensor {
    let vertices = posed(theta, rig);
    let Some(corners) = &rig.corners else { return &rig.points - vertices };
    let [a, b, c] = corners.each_ref().map(|rows| vertices.take(rows, 0));
    let (u1, u2) = (us.slice((.., ..1)), us.slice((.., 1..2)));
    &rig.points - (&u1 * a + &u2 * b + (1.0 - &u1 - &u2) * c)
}

/// The Jacobian column by column, `[columns, N, 3]`: in the complicated case first the derivatives of each point's distances
/// by its own two places, then those by the pose.
pub fn columns(theta: &Tensor, us: &Tensor, rig: &Rig) -> Tensor {
    let by_pose = vmap(&Tensor::eye(POSE), |direction| jvp(theta, &direction, |theta| distances(&theta, us, rig)).1);
    if rig.corners.is_none() {
        return by_pose;
    }
    // Each point depends on its own places alone: one direction for the first of all points, one for the second.
    let places = Tensor::eye(2).expand_dims(1).broadcast_to(&[2, us.shape()[0], 2]);
    let by_place = vmap(&places, |direction| jvp(us, &direction, |us| distances(theta, &us, rig)).1);
    Tensor::concat(&[&by_place, &by_pose], 0)
}

/// A function of the pose and the places.
type Function = Box<dyn Fn(&Tensor, &Tensor) -> Tensor + Send + Sync>;

/// The distances and their Jacobian, compiled for a model and its correspondences.
pub struct Compiled {
    objective: Function,
    jacobian: Function,
}

impl Compiled {
    /// For a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        let rig = Rig::new(data);
        let again = rig.clone();
        let objective =
            Compile::new().threads(threads).function(move |(theta, us): (Tensor, Tensor)| distances(&theta, &us, &rig));
        let jacobian =
            Compile::new().threads(threads).function(move |(theta, us): (Tensor, Tensor)| columns(&theta, &us, &again));
        Compiled {
            objective: Box::new(move |theta, us| objective.call((theta, us))),
            jacobian: Box::new(move |theta, us| jacobian.call((theta, us))),
        }
    }

    /// The distances, `[N, 3]`.
    pub fn objective(&self, theta: &Tensor, us: &Tensor) -> Tensor {
        (self.objective)(theta, us)
    }

    /// Their Jacobian column by column, `[columns, N, 3]`.
    pub fn jacobian(&self, theta: &Tensor, us: &Tensor) -> Tensor {
        (self.jacobian)(theta, us)
    }
}
