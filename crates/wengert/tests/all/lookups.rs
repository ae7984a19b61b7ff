//! Rows of arrays at indices, inside of what is computed from them: messages along the edges of a graph.

use wengert::plan::Detail;
use wengert::prelude::*;
use wengert::{Compile, DType};

use crate::support::Random;

/// Nodes with some numbers each, and edges between them.
struct Graph {
    nodes: Tensor,
    weights: Tensor,
    ends: [Vec<i64>; 2],
}

impl Graph {
    fn new(nodes: usize, edges: usize, columns: usize, seed: u64) -> Graph {
        let mut random = Random::new(seed);
        let mut numbers = |count: usize| (0..count).map(|_| random.direction()).collect::<Vec<f64>>();
        let (own, weights) = (numbers(nodes * columns), numbers(edges));
        let mut ends = || (0..edges).map(|_| random.below(nodes) as i64).collect();
        Graph {
            nodes: Tensor::from_vec(&[nodes, columns], own),
            weights: Tensor::from_vec(&[edges, 1], weights),
            ends: [ends(), ends()],
        }
    }

    /// A number of the messages `tanh(w x - y)` along all edges.
    fn energy(&self, nodes: &Tensor, weights: &Tensor) -> Tensor {
        let [from, to] = self.ends.each_ref().map(|ends| nodes.take(&Tensor::from(ends.clone()), 0));
        let messages = (from * weights - &to).tanh();
        (&messages * to).sum()
            + messages.segment_sum(&Tensor::from(self.ends[1].clone()), nodes.shape()[0]).square().sum()
    }

    /// The same with its derivatives, edge by edge.
    fn by_hand(&self) -> (f64, Vec<f64>, Vec<f64>) {
        let columns = self.nodes.shape()[1];
        let (x, w) = (self.nodes.to_vec(), self.weights.to_vec());
        let at = |end: usize, edge: usize, k: usize| self.ends[end][edge] as usize * columns + k;
        let all = || (0..w.len()).flat_map(|edge| (0..columns).map(move |k| (edge, k)));
        let message = |edge, k| (x[at(0, edge, k)] * w[edge] - x[at(1, edge, k)]).tanh();
        let mut sums = vec![0.0; x.len()];
        all().for_each(|(edge, k)| sums[at(1, edge, k)] += message(edge, k));
        let mut value: f64 = sums.iter().map(|sum| sum * sum).sum();
        let (mut nodes, mut weights) = (vec![0.0; x.len()], vec![0.0; w.len()]);
        for (edge, k) in all() {
            let (from, to, m) = (at(0, edge, k), at(1, edge, k), message(edge, k));
            value += m * x[to];
            let slope = (x[to] + 2.0 * sums[to]) * (1.0 - m * m);
            nodes[to] += m - slope;
            nodes[from] += slope * w[edge];
            weights[edge] += slope * x[from];
        }
        (value, nodes, weights)
    }
}

#[track_caller]
fn close(got: &Tensor, wanted: &[f64], tolerance: f64) {
    let scale = wanted.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (k, (got, wanted)) in got.to_vec().into_iter().zip(wanted).enumerate() {
        assert!((got - wanted).abs() <= tolerance * scale, "{k}: {got} and {wanted}");
    }
}

#[test]
fn messages_along_edges_have_the_derivatives_of_each_edge() {
    for (nodes, edges, columns) in [(5, 9, 1), (40, 300, 3), (700, 9_000, 2), (300, 5_000, 8), (50, 2_000, 17)] {
        let graph = Graph::new(nodes, edges, columns, nodes as u64);
        let (value, wanted, weights) = graph.by_hand();
        let operands = (graph.nodes.clone(), graph.weights.clone());
        let mut first: Option<(Tensor, (Tensor, Tensor))> = None;
        for threads in [1, 2, 3] {
            let at = &graph;
            let function = Compile::new().threads(threads).function(move |(nodes, weights): (Tensor, Tensor)| {
                value_and_grad((&nodes, &weights), |(nodes, weights)| at.energy(&nodes, &weights))
            });
            let got = function.call(operands.clone());
            close(&got.0, &[value], 1e-12);
            close(&got.1.0, &wanted, 1e-12);
            close(&got.1.1, &weights, 1e-12);
            let plan = function.plan(&operands).expect("it is planned").explain(Detail::Instructions);
            assert!(plan.contains("rows of in"), "{plan}");
            let first = first.get_or_insert_with(|| got.clone());
            assert_eq!(got.0.to_vec(), first.0.to_vec(), "{threads} threads");
            assert_eq!((got.1.0.to_vec(), got.1.1.to_vec()), (first.1.0.to_vec(), first.1.1.to_vec()));
        }
        // Without a plan for the whole, mapped, and in single precision.
        let at = |nodes: Tensor| graph.energy(&nodes, &graph.weights);
        close(&grad(&graph.nodes, at), &wanted, 1e-12);
        let twice = Tensor::stack(&[&graph.nodes, &graph.nodes], 0);
        close(&vmap(&twice, |nodes| grad(&nodes, at)), &[&wanted[..], &wanted[..]].concat(), 1e-12);
        let single = grad(&graph.nodes.to_f32(), |nodes| graph.energy(&nodes, &graph.weights.to_f32()));
        assert_eq!(single.dtype(), DType::F32);
        close(&single, &wanted, 2e-5);
        let direction = (&graph.nodes * 3.0).cos();
        let ahead = jvp(&graph.nodes, &direction, at).1.item();
        let back: f64 = wanted.iter().zip(direction.to_vec()).map(|(x, d)| x * d).sum();
        assert!((ahead - back).abs() <= 1e-11 * wanted.iter().map(|x| x.abs()).sum::<f64>(), "{ahead} and {back}");
    }
}

#[test]
fn an_index_without_a_row_is_an_error_with_the_line_of_its_lookup() {
    let doubled = |rows: Tensor| (rows * 2.0).tanh();
    let line = line!() + 1;
    let function = compile(|(x, at): (Tensor, Tensor)| doubled(x.exp().take(&at, 0)));
    let x = Tensor::ones(&[7, 3]);
    let at = |index: i64| Tensor::from([0i64, 6, index, 3]);
    assert!(function.try_call((x.clone(), at(5))).is_ok());
    for index in [7, -1, i64::MIN, i64::MAX] {
        let why = function.try_call((x.clone(), at(index))).expect_err("there is no such row").to_string();
        let wanted = format!("the index {index} is out of range for an axis that is 7 long");
        assert!(why.contains(&wanted) && why.contains("f64[7,3]"), "{why}");
        assert!(why.contains(&format!("lookups.rs:{line}:")), "{why}");
    }
}
