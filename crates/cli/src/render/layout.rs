//! Places the boxes and the edges of a drawing, from top to bottom in layers.
//!
//! The method is that of Sugiyama, Tagawa and Toda ("Methods for visual understanding of
//! hierarchical system structures", 1981). The layers are made here: a row stands below all its
//! operands, and between two layers of rows lies one of edge labels. An edge becomes a chain of
//! small boxes, one in every layer it crosses, so that the library keeps room for it and for its
//! label. The library orders the layers and places the boxes.

use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};

/// Room to the left, right, top and bottom of the drawing, and between its parts.
pub(super) const MARGIN: f64 = 24.0;
/// The least room between boxes.
const GAP: f64 = 18.0;
/// The width of an edge without a label.
const LANE: f64 = 6.0;

/// Width and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    /// Width.
    pub(super) width: f64,
    /// Height.
    pub(super) height: f64,
}

/// A place, from the left and from the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// From the left.
    pub(super) x: f64,
    /// From the top.
    pub(super) y: f64,
}

const ORIGIN: Point = Point { x: 0.0, y: 0.0 };

/// An edge between two boxes, with the size of its label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The box above.
    pub(super) from: usize,
    /// The box below.
    pub(super) to: usize,
    /// The size of the label.
    pub(super) label: Size,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The size of the whole.
    pub(super) size: Size,
    /// The middle of each box.
    pub(super) boxes: Vec<Point>,
    /// The middles of the pieces of each edge, from top to bottom.
    pub(super) paths: Vec<Vec<Point>>,
    /// The middle of the label of each edge.
    pub(super) labels: Vec<Point>,
}

/// A vertex of the graph that is laid out.
#[derive(Clone, Copy)]
enum Vertex {
    Box(usize),
    /// The label of an edge.
    Label(usize),
    /// A piece of an edge that passes through a layer.
    Lane,
}

/// How many boxes, labels and pieces of edges there are to place.
pub(super) fn pieces(boxes: usize, edges: &[Edge]) -> usize {
    let layers = layers(boxes, edges);
    boxes + edges.iter().map(|edge| layers[edge.to] - layers[edge.from] - 1).sum::<usize>()
}

/// Places `boxes` and `edges`. An edge leads from an earlier box to a later one.
pub(super) fn layout(boxes: &[Size], edges: &[Edge]) -> Layout {
    let layers = layers(boxes.len(), edges);
    let mut graph: StableDiGraph<Vertex, ()> = StableDiGraph::new();
    for index in 0..boxes.len() {
        graph.add_node(Vertex::Box(index));
    }
    let mut chains = Vec::with_capacity(edges.len());
    for (index, edge) in edges.iter().enumerate() {
        chains.push(chain(&mut graph, &layers, index, *edge));
    }
    let size = |vertex: Vertex| match vertex {
        Vertex::Box(index) => boxes[index],
        Vertex::Label(index) => edges[index].label,
        Vertex::Lane => Size { width: LANE, height: LANE },
    };
    let places = places(&graph, size);
    let place = |vertex: &NodeIndex| places[vertex.index()];
    let paths = chains.iter().map(|chain| chain.iter().map(place).collect());
    // The label is the last piece before the box below.
    let labels = chains.iter().map(|chain| chain.last().map_or(ORIGIN, place));
    let vertices = || graph.node_indices().map(|vertex| (places[vertex.index()], size(graph[vertex])));
    Layout {
        size: Size {
            width: vertices().map(|(p, s)| p.x + s.width / 2.0).fold(0.0, f64::max) + MARGIN,
            height: vertices().map(|(p, s)| p.y + s.height / 2.0).fold(0.0, f64::max) + MARGIN,
        },
        boxes: places[..boxes.len()].to_vec(),
        paths: paths.collect(),
        labels: labels.collect(),
    }
}

/// The layer of each box: even, and below those of its operands.
fn layers(count: usize, edges: &[Edge]) -> Vec<usize> {
    let mut layers = vec![0; count];
    let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in edges {
        incoming[edge.to].push(edge.from);
    }
    for to in 0..count {
        layers[to] = incoming[to].iter().map(|from| layers[*from] + 2).max().unwrap_or(0);
    }
    layers
}

/// Adds the pieces of an edge, one in each layer between its boxes.
fn chain(
    graph: &mut StableDiGraph<Vertex, ()>,
    layers: &[usize],
    index: usize,
    edge: Edge,
) -> Vec<NodeIndex> {
    let between = layers[edge.from] + 1..layers[edge.to];
    let label = between.end - 1;
    let mut pieces = Vec::new();
    let mut last = NodeIndex::new(edge.from);
    for layer in between {
        let vertex = if layer == label { Vertex::Label(index) } else { Vertex::Lane };
        let piece = graph.add_node(vertex);
        graph.add_edge(last, piece, ());
        pieces.push(piece);
        last = piece;
    }
    graph.add_edge(last, NodeIndex::new(edge.to), ());
    pieces
}

/// The middle of every vertex; the parts of the graph that do not hang together side by side.
fn places(graph: &StableDiGraph<Vertex, ()>, size: impl Fn(Vertex) -> Size + Copy) -> Vec<Point> {
    let config = Config {
        minimum_length: 1,
        vertex_spacing: GAP,
        dummy_vertices: true,
        dummy_size: 1.0,
        ranking_type: RankingType::Up,
        c_minimization: CrossingMinimization::Barycenter,
        transpose: graph.node_count() < 600,
    };
    let sized = |_: NodeIndex, vertex: &Vertex| {
        let size = size(*vertex);
        (size.width, size.height)
    };
    let mut places = vec![ORIGIN; graph.node_count()];
    let mut left = MARGIN;
    for (part, _, _) in rust_sugiyama::from_graph(graph, &sized, &config) {
        let bounds = |side: fn(Size) -> f64, along: fn(&(f64, f64)) -> f64| {
            let ends = part.iter().map(move |(vertex, place)| {
                let half = side(size(graph[*vertex])) / 2.0;
                (along(place) - half, along(place) + half)
            });
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (start, end)| {
                (low.min(start), high.max(end))
            })
        };
        let (start, end) = bounds(|size| size.width, |place| place.0);
        let (top, _) = bounds(|size| size.height, |place| place.1);
        for (vertex, (x, y)) in &part {
            places[vertex.index()] = Point { x: left + x - start, y: MARGIN + y - top };
        }
        left += end - start + 2.0 * GAP;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOX: Size = Size { width: 120.0, height: 50.0 };
    const LABEL: Size = Size { width: 60.0, height: 30.0 };

    fn overlap(a: (Point, Size), b: (Point, Size)) -> bool {
        let ((p, s), (q, t)) = (a, b);
        // A thousandth of a pixel is the rounding of sums of coordinates.
        (p.x - q.x).abs() < f64::midpoint(s.width, t.width) - 1e-3
            && (p.y - q.y).abs() < f64::midpoint(s.height, t.height) - 1e-3
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Boxes and labels lie apart from each other, inside the drawing, and edges lead down.
        #[test]
        fn nothing_overlaps(
            edges in prop::collection::vec((1_usize..30, any::<prop::sample::Index>()), 0..50)
        ) {
            let edges: Vec<Edge> = edges
                .iter()
                .map(|(to, from)| Edge { from: from.index(*to), to: *to, label: LABEL })
                .collect();
            let layout = layout(&[BOX; 30], &edges);
            let mut all: Vec<(Point, Size)> = layout.boxes.iter().map(|p| (*p, BOX)).collect();
            all.extend(layout.labels.iter().map(|p| (*p, LABEL)));
            for (index, one) in all.iter().enumerate() {
                let (place, size) = *one;
                prop_assert!(place.x - size.width / 2.0 >= MARGIN - 1e-3);
                prop_assert!(place.x + size.width / 2.0 <= layout.size.width - MARGIN + 1e-3);
                prop_assert!(place.y - size.height / 2.0 >= MARGIN - 1e-3);
                prop_assert!(place.y + size.height / 2.0 <= layout.size.height - MARGIN + 1e-3);
                for other in &all[..index] {
                    prop_assert!(!overlap(*one, *other), "{one:?} {other:?}");
                }
            }
            for (edge, path) in edges.iter().zip(&layout.paths) {
                let mut last = layout.boxes[edge.from].y;
                for point in path {
                    prop_assert!(point.y > last);
                    last = point.y;
                }
                prop_assert!(layout.boxes[edge.to].y > last);
            }
        }
    }

    #[test]
    fn the_same_graph_is_placed_the_same() {
        let edge = |from, to| Edge { from, to, label: LABEL };
        let edges = [edge(0, 2), edge(1, 2), edge(0, 3), edge(2, 3), edge(2, 4), edge(2, 4)];
        let first = layout(&[BOX; 6], &edges);
        for _ in 0..5 {
            assert_eq!(layout(&[BOX; 6], &edges).boxes, first.boxes);
        }
    }
}
