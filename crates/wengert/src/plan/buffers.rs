//! Where values lie: every buffer is placed before anything runs.

/// A value that lives in the arena, from the step that writes it to the last that reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// Lines of 64 bytes.
    pub(super) lines: usize,
    /// The step that writes it.
    pub(super) first: usize,
    /// The last step that reads it.
    pub(super) last: usize,
}

/// The first line of each value, and how many lines there are in all: values that live at the same time do not overlap.
///
/// Largest first, each at the lowest place that is free all its life (as in Pisarchyk and Lee, *Efficient memory
/// management for deep neural net inference*, 2020, "greedy by size").
pub(super) fn place(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&k| (std::cmp::Reverse(lives[k].lines), lives[k].first));
    let mut places = vec![0usize; lives.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(lives.len());
    let mut total = 0usize;
    for k in order {
        let life = lives[k];
        let meets = |other: &&usize| lives[**other].first <= life.last && life.first <= lives[**other].last;
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(meets)
            .map(|&other| (places[other], places[other].saturating_add(lives[other].lines)))
            .collect();
        taken.sort_unstable();
        let mut at = 0usize;
        for (start, end) in taken {
            if start >= at.saturating_add(life.lines) {
                break;
            }
            at = at.max(end);
        }
        places[k] = at;
        total = total.max(at.saturating_add(life.lines));
        placed.push(k);
    }
    (places, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_live_together_do_not_overlap() {
        let mut state = 1u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..50 {
            let lives: Vec<Life> = (0..40)
                .map(|_| {
                    let first = next(30) as usize;
                    Life { lines: next(20) as usize, first, last: first + next(8) as usize }
                })
                .collect();
            let (places, total) = place(&lives);
            for (a, x) in lives.iter().enumerate() {
                assert!(places[a] + x.lines <= total);
                for (b, y) in lives.iter().enumerate().filter(|(b, _)| *b != a) {
                    let together = x.first <= y.last && y.first <= x.last;
                    let apart = places[a] + x.lines <= places[b] || places[b] + y.lines <= places[a];
                    assert!(!together || apart || x.lines == 0 || y.lines == 0);
                }
            }
        }
    }

    #[test]
    fn memory_is_used_again() {
        let chain: Vec<Life> = (0..10).map(|k| Life { lines: 4, first: k, last: k + 1 }).collect();
        assert_eq!(place(&chain).1, 8);
    }
}
