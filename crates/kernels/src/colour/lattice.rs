//! Colours by a formula, for patterns whose rows are moved copies of each other: stencils on grids, bands, blocks.
//!
//! The colour of column `j` is `(b_0 j + b_1 ⌊j / s_1⌋ + b_2 ⌊j / s_2⌋ + …) mod k`, where the strides divide each other and the
//! number of columns: those of a grid with one or several numbers at each of its points. For the five points of a star this is
//! the perfect code `(x + 2 y) mod 5` (Golomb and Welch 1970), which greedy colouring does not find. Nothing is known about the
//! grid: strides are the distances of columns in a few rows, and factors are searched so that these rows are told apart. What is
//! found is checked in all rows; the first that it fails joins the few, and the search goes on. So a formula is never wrong, and
//! where there is none, that is known soon.

use super::Colours;
use crate::pattern::Pattern;

/// Masks of colours are words.
const MOST_COLOURS: u32 = 64;
/// Grids have this many axes at most, counting numbers at one point as an axis.
const AXES: usize = 4;
/// How many distances are tried as strides.
const STRIDES: usize = 16;

/// What colours must tell apart.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// All columns of a row.
    Distance2,
    /// Of a symmetric pattern, neighbours; and no cycle has two colours alone.
    Acyclic,
}

/// The search of a formula, with what it has learnt.
pub(super) struct Lattice<'a> {
    by_row: &'a Pattern,
    rule: Rule,
    /// Rows that every formula must tell apart.
    rows: Vec<usize>,
    chains: Vec<Vec<usize>>,
    /// How many colours of entries may still be computed.
    budget: usize,
}

/// What is wrong with a formula.
enum Clash {
    /// Colours of this row.
    Row(usize),
    Cycle,
}

impl<'a> Lattice<'a> {
    pub(super) fn new(by_row: &'a Pattern, rule: Rule) -> Lattice<'a> {
        let (rows, middle) = (by_row.rows(), by_row.rows() / 2);
        let most = longest(by_row);
        // Of the longest rows one behind the middle: less is special there than at the ends.
        let whole = (middle..rows).chain(0..middle).find(|&row| by_row.row(row).len() == most);
        let mut chosen: Vec<usize> = whole.into_iter().chain((0..12.min(rows)).map(|part| part * rows / 12)).collect();
        chosen.dedup();
        let chains = chains(&strides(by_row, &chosen), by_row.cols());
        Lattice { by_row, rule, rows: chosen, chains, budget: 4 * by_row.nnz() + 1_000_000 }
    }

    /// Colours of the columns by a formula with this many colours, if one is found.
    pub(super) fn colours(&mut self, count: u32) -> Option<Colours> {
        let elements = self.by_row.rows() as u64 * u64::from(count);
        if count > MOST_COLOURS || count == 0 || elements > u64::from(u32::MAX) {
            return None;
        }
        (0..self.chains.len()).find_map(|chain| self.along(&self.chains[chain].clone(), count))
    }

    /// The search along one chain of strides.
    fn along(&mut self, strides: &[usize], count: u32) -> Option<Colours> {
        let mut digits = self.digits(strides, count);
        let mut factors = [0; AXES];
        // The last axis would be none with the factor 0; the first has 1 most of the time.
        factors[0] = 1;
        factors[strides.len() - 1] = 1;
        loop {
            if self.tells_apart(&digits, &factors, count)? {
                let of = fill(self.by_row.cols(), strides, &factors, count);
                match self.clash(&of, count)? {
                    None => return Some(Colours { of: of.into_iter().map(u32::from).collect(), count }),
                    Some(Clash::Cycle) => {}
                    Some(Clash::Row(row)) => {
                        self.rows.push(row);
                        digits = self.digits(strides, count);
                    }
                }
            }
            if !advance(&mut factors[..strides.len()], count) {
                return None;
            }
        }
    }

    /// For each of the rows, for each of its columns, `⌊j / s⌋ mod k` for all strides; the number of the row first where it counts.
    fn digits(&self, strides: &[usize], count: u32) -> Vec<Vec<[u32; AXES]>> {
        let digits = |col: u32| {
            let mut digits = [0; AXES];
            for (digit, stride) in digits.iter_mut().zip(strides) {
                *digit = (col as usize / stride % count as usize) as u32;
            }
            digits
        };
        let row = |&row: &usize| {
            let own = self.by_row.row(row).iter().copied();
            match self.rule {
                Rule::Distance2 => own.map(digits).collect(),
                Rule::Acyclic => {
                    [row as u32].into_iter().chain(own.filter(|&col| col as usize != row)).map(digits).collect()
                }
            }
        };
        self.rows.iter().map(row).collect()
    }

    /// Whether the rule holds in each of the rows; `None` if the budget is used up.
    fn tells_apart(&mut self, rows: &[Vec<[u32; AXES]>], factors: &[u32; AXES], count: u32) -> Option<bool> {
        for row in rows {
            self.budget = self.budget.checked_sub(row.len())?;
            let (mut taken, mut own) = (0_u64, 0);
            for (place, digits) in row.iter().enumerate() {
                let sum: u32 = digits.iter().zip(factors).map(|(digit, factor)| digit * factor).sum();
                let bit = 1 << (sum % count);
                own = if place == 0 { bit } else { own };
                let forbidden = if self.rule == Rule::Distance2 { taken } else { own & taken };
                if forbidden & bit != 0 {
                    return Some(false);
                }
                taken |= bit;
            }
        }
        Some(true)
    }

    /// The first place where colours break the rule, if there is one; `None` if the budget is used up.
    fn clash(&mut self, of: &[u8], count: u32) -> Option<Option<Clash>> {
        self.budget = self.budget.checked_sub(of.len() / 2)?;
        let (row, clash) = match self.rule {
            Rule::Distance2 => distance2_clash(self.by_row, of),
            Rule::Acyclic => acyclic_clash(self.by_row, of, count as usize),
        };
        if clash.is_some() {
            self.budget = self.budget.checked_sub(self.by_row.starts()[row])?;
        }
        Some(clash)
    }
}

/// How many entries the longest row has.
pub(super) fn longest(by_row: &Pattern) -> usize {
    by_row.starts().windows(2).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0)
}

/// The first row in which two columns have the same colour.
fn distance2_clash(by_row: &Pattern, of: &[u8]) -> (usize, Option<Clash>) {
    for (row, bounds) in by_row.starts().windows(2).enumerate() {
        let (mut taken, mut twice) = (0_u64, 0);
        for &col in &by_row.columns()[bounds[0]..bounds[1]] {
            let bit = 1 << of[col as usize];
            twice |= taken & bit;
            taken |= bit;
        }
        if twice != 0 {
            return (row, Some(Clash::Row(row)));
        }
    }
    (by_row.rows(), None)
}

/// The first row in which a neighbour has the colour of the row, or an edge closes a cycle of two colours: each vertex is one
/// element for each colour around it, and edges join disjoint sets of elements.
fn acyclic_clash(pattern: &Pattern, of: &[u8], count: usize) -> (usize, Option<Clash>) {
    let mut sets = Sets { links: vec![0; pattern.rows() * count] };
    for row in 0..pattern.rows() {
        for col in pattern.row(row).iter().map(|&col| col as usize).filter(|&col| col < row) {
            if of[row] == of[col] {
                return (row, Some(Clash::Row(row)));
            }
            if !sets.join(row * count + of[col] as usize, col * count + of[row] as usize) {
                return (row, Some(Clash::Cycle));
            }
        }
    }
    (pattern.rows(), None)
}

/// Disjoint sets (Tarjan 1975).
struct Sets {
    /// The exclusive or of each element and its parent: zeros, which cost nothing before they are touched, are roots.
    links: Vec<u32>,
}

impl Sets {
    /// Makes the sets of two elements one; false if they were.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.links[a.max(b)] = (a ^ b) as u32;
        a != b
    }

    /// The root of a set; on the way every link is shortened.
    fn root(&mut self, from: usize) -> usize {
        let mut at = from;
        while self.links[at] != 0 {
            let parent = at ^ self.links[at] as usize;
            let next = parent ^ self.links[parent] as usize;
            self.links[at] = (at ^ next) as u32;
            at = next;
        }
        at
    }
}

/// Distances of columns within these rows that divide the number of columns, the most frequent first.
fn strides(by_row: &Pattern, rows: &[usize]) -> Vec<usize> {
    let mut distances = Vec::new();
    for row in rows.iter().map(|&row| by_row.row(row)).filter(|row| row.len() <= MOST_COLOURS as usize) {
        for (place, &col) in row.iter().enumerate() {
            distances.extend(row[..place].iter().map(|&other| (col - other) as usize));
        }
    }
    distances.retain(|&distance| distance > 1 && distance < by_row.cols() && by_row.cols().is_multiple_of(distance));
    distances.sort_unstable();
    let mut counted: Vec<(usize, usize)> = distances.chunk_by(|a, b| a == b).map(|own| (own.len(), own[0])).collect();
    counted.sort_by_key(|&(times, distance)| (std::cmp::Reverse(times), distance));
    counted.into_iter().take(STRIDES).map(|(_, distance)| distance).collect()
}

/// Lists of strides that divide each other, from 1 on, the shortest lists first.
fn chains(strides: &[usize], cols: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![1]];
    let mut from = 0;
    for _ in 1..AXES {
        let until = all.len();
        for chain in from..until {
            let last = *all[chain].last().expect("chains begin with 1");
            for &stride in
                strides.iter().filter(|&&stride| stride > last && stride.is_multiple_of(last) && stride < cols)
            {
                all.push(all[chain].iter().copied().chain([stride]).collect());
            }
        }
        from = until;
    }
    all
}

/// The next factors below `count`, none of which is 0 at either end; false behind the last.
fn advance(factors: &mut [u32], count: u32) -> bool {
    let last = factors.len() - 1;
    // The first factor is turned last.
    for axis in (1..=last).chain([0]) {
        factors[axis] += 1;
        if factors[axis] < count {
            return true;
        }
        factors[axis] = u32::from(axis == 0 || axis == last);
    }
    false
}

/// The colours of all columns.
fn fill(cols: usize, strides: &[usize], factors: &[u32; AXES], count: u32) -> Vec<u8> {
    let run = strides.get(1).copied().unwrap_or(cols.max(1));
    let mut of = Vec::with_capacity(cols);
    for start in (0..cols).step_by(run) {
        let sum = strides.iter().zip(factors).map(|(stride, &factor)| (start / stride) as u64 * u64::from(factor));
        let mut colour = (sum.sum::<u64>() % u64::from(count)) as u32;
        for _ in start..(start + run).min(cols) {
            of.push(colour as u8);
            colour += factors[0];
            if colour >= count {
                colour -= count;
            }
        }
    }
    of
}
