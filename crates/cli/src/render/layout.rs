//! Places the boxes and the edges of a drawing, from top to bottom in layers.
//!
//! The method is that of Sugiyama, Tagawa and Toda ("Methods for visual understanding of
//! hierarchical system structures", 1981). The layers are made here: a row stands below all its
//! operands, and between two layers of rows lies one of edge labels. An edge becomes a chain of
//! small boxes, one in every layer it crosses, so that the library keeps room for it and for its
//! label. The library orders the layers and places the boxes.

use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};

/// Room to the left, right, top and bottom of the drawing, and between its parts.
pub(super) const MARGIN: f64 = 24.0;
/// The least room between boxes.
const GAP: f64 = 18.0;
/// The least and the most room between layers, and how much of it an edge gets for each unit that
/// it runs to the side.
const LEAST_GAP: f64 = 12.0;
const MOST_GAP: f64 = 64.0;
const SLOPE: f64 = 0.12;
/// The width of an edge without a label.
pub(super) const LANE: f64 = 6.0;

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
    let mut levels = layers.clone();
    for (index, edge) in edges.iter().enumerate() {
        levels.extend(layers[edge.from] + 1..layers[edge.to]);
        chains.push(chain(&mut graph, &layers, index, *edge));
    }
    for (index, layer) in layers.iter().enumerate() {
        levels.extend(hang(&mut graph, index, *layer));
    }
    let size = |vertex: Vertex| match vertex {
        Vertex::Box(index) => boxes[index],
        Vertex::Label(index) => edges[index].label,
        Vertex::Lane => Size { width: LANE, height: LANE },
    };
    let mut places = across(&graph, size);
    down(&graph, size, &levels, &mut places);
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

/// The layer of each box: even, and below those of its operands, but no deeper than needed.
fn layers(count: usize, edges: &[Edge]) -> Vec<usize> {
    let mut layers = vec![0; count];
    let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in edges {
        incoming[edge.to].push(edge.from);
    }
    for to in 0..count {
        layers[to] = incoming[to].iter().map(|from| layers[*from] + 2).max().unwrap_or(0);
    }
    // A box without operands goes down to right above the first box that uses it.
    let mut first_use: Vec<Option<usize>> = vec![None; count];
    for edge in edges {
        let layer = layers[edge.to];
        first_use[edge.from] = Some(first_use[edge.from].map_or(layer, |first| first.min(layer)));
    }
    for (index, from) in incoming.iter().enumerate() {
        if let (true, Some(first)) = (from.is_empty(), first_use[index]) {
            layers[index] = first - 2;
        }
    }
    layers
}

/// Hangs a box without operands at its layer, by a chain of pieces from the first one; the
/// library would put it at the top. Gives the layers of the pieces.
fn hang(graph: &mut StableDiGraph<Vertex, ()>, index: usize, layer: usize) -> Vec<usize> {
    let mut last = NodeIndex::new(index);
    if graph.neighbors_directed(last, Direction::Incoming).next().is_some() {
        return Vec::new();
    }
    let above = (0..layer).rev();
    for _ in above.clone() {
        let piece = graph.add_node(Vertex::Lane);
        graph.add_edge(piece, last, ());
        last = piece;
    }
    above.collect()
}

/// Adds the pieces of an edge, one in each layer between its boxes.
fn chain(graph: &mut StableDiGraph<Vertex, ()>, layers: &[usize], index: usize, edge: Edge) -> Vec<NodeIndex> {
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

/// Where every vertex is from the left; the disconnected parts of the graph stand
/// side by side.
fn across(graph: &StableDiGraph<Vertex, ()>, size: impl Fn(Vertex) -> Size + Copy) -> Vec<Point> {
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
        let ends = part.iter().map(|(vertex, (x, _))| {
            let half = size(graph[*vertex]).width / 2.0;
            (x - half, x + half)
        });
        let (start, end) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (a, b)| (low.min(a), high.max(b)));
        for (vertex, (x, _)) in &part {
            places[vertex.index()].x = left + x - start;
        }
        left += end - start + 2.0 * GAP;
    }
    places
}

/// Sets how far down every vertex is. Where edges run far to the side, the layers stand farther
/// apart, so that the edges do not lie flat on each other.
fn down(graph: &StableDiGraph<Vertex, ()>, size: impl Fn(Vertex) -> Size, levels: &[usize], places: &mut [Point]) {
    let count = levels.iter().max().map_or(0, |last| last + 1);
    let mut heights = vec![0.0_f64; count];
    let mut gaps = vec![LEAST_GAP; count];
    for vertex in graph.node_indices() {
        let index = vertex.index();
        let level = levels[index];
        heights[level] = heights[level].max(size(graph[vertex]).height);
        for next in graph.neighbors(vertex) {
            let aside = (places[next.index()].x - places[index].x).abs();
            gaps[level] = gaps[level].max((LEAST_GAP + SLOPE * aside).min(MOST_GAP));
        }
    }
    let mut middles = Vec::with_capacity(count);
    let mut top = MARGIN;
    for (height, gap) in heights.iter().zip(&gaps) {
        middles.push(top + height / 2.0);
        top += height + gap;
    }
    for (place, level) in places.iter_mut().zip(levels) {
        place.y = middles[*level];
    }
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
            let lane = Size { width: LANE, height: LANE };
            let lanes = layout.paths.iter().flat_map(|path| &path[..path.len() - 1]);
            all.extend(lanes.map(|p| (*p, lane)));
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
