//! A recording within a limit of memory: its loops ask here which carries they keep.

use super::{LIST, Mode, Scope, TAPE};
use crate::tape::block::{BYTES_OF_CONSTANT, BYTES_OF_RECORD, Keeping, LoopSize, Thinning};

impl Scope {
    /// Has the loops of this recording keep carries so. Only of an outermost one.
    pub(crate) fn thin(&self, thinning: Thinning) {
        debug_assert!(self.is_outermost(), "a limit is that of a whole recording");
        LIST.with_borrow_mut(|list| list.thinning = Some(thinning));
    }

    /// The loops of this recording, and bytes of all else and of its sweep. From now on they keep what they ask for.
    pub(crate) fn thinned(&self) -> (Vec<LoopSize>, usize) {
        LIST.with_borrow_mut(|list| {
            let loops = list.thinning.take().map_or(Vec::new(), |thinning| thinning.loops);
            let (records, constants) = TAPE.with(|tape| (tape.index(), tape.next_constant.get()));
            (loops, records as usize * BYTES_OF_RECORD + constants as usize * BYTES_OF_CONSTANT)
        })
    }
}

/// What a loop in the innermost level keeps, if that has a limit; a loop in a step of another one has none.
pub(crate) fn keeping(carry: usize, every: usize) -> Option<Keeping> {
    LIST.with_borrow_mut(|list| {
        let [level] = list.levels[..] else { return None };
        let thinning = list.thinning.as_mut().filter(|_| level.mode == Mode::Once)?;
        Some(thinning.next(carry, every))
    })
}

/// Notes what a loop came to that asked.
pub(crate) fn note_loop(number: usize, size: LoopSize) {
    LIST.with_borrow_mut(|list| {
        if let Some(place) = list.thinning.as_mut().and_then(|thinning| thinning.loops.get_mut(number)) {
            *place = size;
        }
    });
}
