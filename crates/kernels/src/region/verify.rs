//! The checks that make a region safe to run.

use super::accumulate::{self, Span};
use super::code::{Binary, Instr, Join, Kind, Op, Unary};
use super::columns::together;
use super::{Blocks, Division, Granularity, Needs, Parts, Pattern, Place, Region, Transfer, Width};
use crate::arena::LINE;

/// Why a region, or straight-line code, cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// The level of a place of the table.
pub(super) fn level(parts: &Parts, place: u16) -> Granularity {
    let place = usize::from(place);
    match place.checked_sub(parts.slots.len()) {
        None => parts.slots[place].level,
        Some(direct) => parts.directs[direct].level,
    }
}

/// Columns of a row at most: with it, the bytes of all slots and partial results are a number of bytes.
const MAX_COLS: usize = u32::MAX as usize;

fn lines(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE)
}

impl Region {
    /// Checks the parts and decides how the region is divided.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn new(parts: Parts) -> Result<Region, Invalid> {
        let count = |level| parts.space.count(level);
        let total = parts.space.groups.checked_mul(parts.space.rows).and_then(|n| n.checked_mul(parts.space.cols));
        if total.is_none_or(|n| n > isize::MAX as usize / 8) {
            return Err(Invalid("the space has too many elements".into()));
        }
        if parts.space.cols > MAX_COLS {
            return Err(Invalid("the rows are too long".into()));
        }
        if total == Some(0) {
            return Err(Invalid("the space has no elements".into()));
        }
        if parts.slots.len() + parts.directs.len() > usize::from(u16::MAX) {
            return Err(Invalid("there are more places than an instruction can name".into()));
        }
        let mut needs = (vec![None; parts.inputs], vec![None; parts.outputs]);
        let mut need = |place: Place, kind: Kind, end: usize| {
            let (list, k) = match place {
                Place::Input(k) => (&mut needs.0, k),
                Place::Output(k) => (&mut needs.1, k),
            };
            match list.get_mut(usize::from(k)) {
                None => Err(Invalid(format!("there is no {place:?}"))),
                Some(Some((other, _))) if *other != kind => Err(Invalid(format!("{place:?} has two kinds"))),
                Some(entry) => {
                    let before = entry.map_or(0, |(_, end)| end);
                    *entry = Some((kind, before.max(end)));
                    Ok(())
                }
            }
        };
        for direct in &parts.directs {
            let end = direct.offset.checked_add(count(direct.level)).filter(|&end| end <= isize::MAX as usize / 8);
            need(direct.place, direct.kind, end.ok_or(Invalid(format!("{:?} starts too late", direct.place)))?)?;
        }
        let transfers = parts.loads.iter().map(|t| (Place::Input(t.operand), t));
        for (place, t) in transfers.chain(parts.stores.iter().map(|t| (Place::Output(t.operand), t))) {
            check_transfer(&parts, place, t)?;
            need(place, t.kind, t.pattern.end())?;
        }
        for blocks in &parts.blocks {
            if blocks.count() != count(blocks.level()) {
                return Err(Invalid(format!(
                    "blocks of {} elements for a value of {}",
                    blocks.count(),
                    count(blocks.level())
                )));
            }
            blocks.needs().try_for_each(|(operand, end)| need(Place::Input(operand), blocks.kind(), end))?;
        }
        for take in &parts.takes {
            let [array, indices] =
                take.ends(&parts.space).ok_or(Invalid("a lookup has no whole rows, or reaches too far".into()))?;
            need(Place::Input(take.array), take.kind, array)?;
            need(Place::Input(take.indices), Kind::I64, indices)?;
        }
        for acc in &parts.accumulators {
            let width = if acc.width == Width::Cols { parts.space.cols } else { 1 };
            if acc.width == Width::Cols && acc.level != Granularity::Full {
                return Err(Invalid("an accumulator of columns needs every column".into()));
            }
            check_join(acc.join, acc.kind)?;
            need(Place::Output(acc.output), acc.kind, parts.space.groups * width)?;
        }
        check_writers(&parts)?;
        let none = || vec![false; parts.slots.len()];
        Checker { parts: &parts, written: none(), fixed: none(), constant: none() }.check()?;
        check_accumulated(&parts)?;
        Ok(Region::laid_out(parts, needs))
    }

    /// Places slots, accumulators and partial results.
    fn laid_out(parts: Parts, needs: Needs) -> Region {
        let division = Division::of(&parts);
        let mut at = 0;
        let mut place = |bytes: usize| {
            let start = at;
            at += lines(bytes);
            start
        };
        let elements = |level| match level {
            Granularity::Full => division.chunk * parts.space.cols,
            Granularity::Row => division.chunk,
        };
        let addresses_at = place((parts.slots.len() + parts.directs.len()) * size_of::<*mut u8>());
        let offsets = parts.slots.iter().map(|slot| place(slot.kind.size() * elements(slot.level))).collect();
        let spans: Vec<Span> =
            parts.accumulators.iter().map(|acc| Span::new(&division, &parts.space, acc.level)).collect();
        let accumulators = || parts.accumulators.iter().zip(&spans);
        let accumulators_at =
            accumulators().map(|(acc, span)| place(accumulate::scratch_bytes(acc, span, &parts.space))).collect();
        let scratch = at;
        let mut partials = 0;
        let split = division.parts_of_group > 1;
        let mut partial = |(acc, span)| {
            let start = partials;
            partials += if split { lines(accumulate::partial_bytes(acc, span, &parts.space, &division)) } else { 0 };
            start
        };
        let partials_at = accumulators().map(&mut partial).collect();
        let in_place = in_place(&parts);
        let together = together(&parts);
        Region {
            addresses_at,
            offsets,
            accumulators_at,
            scratch,
            partials_at,
            partials,
            spans,
            division,
            in_place,
            needs,
            together,
            parts,
        }
    }
}

/// Pairs of an input and an output that may be one piece of memory.
fn in_place(parts: &Parts) -> Vec<(u16, u16)> {
    let first = parts.slots.len();
    let plain = |t: &Transfer| t.level == Granularity::Full && t.pattern.is_contiguous() && t.pattern.offset() == 0;
    let direct = |place: u16| usize::from(place).checked_sub(first).map(|k| &parts.directs[k]);
    let reads = |instr: &Instr, input: u16| match instr.op {
        Op::Load(k) => parts.loads[usize::from(k)].operand == input,
        _ => [instr.a, instr.b, instr.c].iter().any(|&p| direct(p).is_some_and(|d| d.place == Place::Input(input))),
    };
    let fits = |input: u16, output: u16| {
        let mut loads = parts.loads.iter().filter(|t| t.operand == input);
        let mut directs = parts.directs.iter();
        let mut stores = parts.stores.iter().enumerate().filter(|(_, t)| t.operand == output);
        let (Some((store, to)), None) = (stores.next(), stores.next()) else { return false };
        let elsewhere = parts.blocks.iter().flat_map(Blocks::blocks).any(|block| block.operand == input)
            || parts.takes.iter().any(|take| [take.array, take.indices].contains(&input));
        let other_writes = parts.accumulators.iter().any(|acc| acc.output == output)
            || parts.directs.iter().any(|d| d.place == Place::Output(output));
        let same_elements = loads.all(|t| plain(t) && t.kind == to.kind)
            && directs.all(|d| {
                d.place != Place::Input(input) || (d.level == Granularity::Full && d.offset == 0 && d.kind == to.kind)
            });
        let last_read = parts.code.iter().rposition(|instr| reads(instr, input));
        let first_write =
            parts.code.iter().position(|instr| matches!(instr.op, Op::Store(k) if usize::from(k) == store));
        !other_writes && !elsewhere && plain(to) && same_elements && last_read < first_write
    };
    let (inputs, outputs) = (parts.inputs as u16, parts.outputs as u16);
    (0..inputs).flat_map(|i| (0..outputs).map(move |o| (i, o))).filter(|&(i, o)| fits(i, o)).collect()
}

fn check_transfer(parts: &Parts, place: Place, t: &Transfer) -> Result<(), Invalid> {
    if t.pattern.count() != parts.space.count(t.level) {
        return Err(Invalid(format!(
            "{place:?}: {} elements for a value of {}",
            t.pattern.count(),
            parts.space.count(t.level)
        )));
    }
    if t.pattern.dims().len() > Pattern::MAX_DIMS {
        return Err(Invalid(format!("{place:?} has too many axes")));
    }
    if matches!(place, Place::Output(_)) && !t.pattern.is_injective() {
        return Err(Invalid(format!("{place:?} would be written twice at one place")));
    }
    Ok(())
}

/// Checks that no element of an output has two writers: parts run at the same time and would write to the same memory.
/// Several stores may fill one output, each its own elements.
fn check_writers(parts: &Parts) -> Result<(), Invalid> {
    let mut whole = vec![false; parts.outputs];
    let mut patterns: Vec<Vec<Pattern>> = vec![Vec::new(); parts.outputs];
    for acc in &parts.accumulators {
        if std::mem::replace(&mut whole[usize::from(acc.output)], true) {
            return Err(Invalid(format!("output {} is written in two ways", acc.output)));
        }
    }
    for direct in &parts.directs {
        if let Place::Output(k) = direct.place {
            let elements = Pattern::new(direct.offset, &[parts.space.count(direct.level)], &[1]);
            patterns[usize::from(k)].push(elements.ok_or(Invalid(format!("output {k} is written out of reach")))?);
        }
    }
    parts.stores.iter().for_each(|store| patterns[usize::from(store.operand)].push(store.pattern.clone()));
    let conflict = |k: &usize| match &patterns[*k][..] {
        [] => false,
        own => whole[*k] || !are_disjoint(&mut own.iter().collect::<Vec<_>>()),
    };
    match (0..parts.outputs).find(conflict) {
        Some(k) => Err(Invalid(format!("output {k} is written in two ways"))),
        None => Ok(()),
    }
}

/// Checks that every accumulator joins the elements of a chunk once: its trees are built in the order of the elements.
fn check_accumulated(parts: &Parts) -> Result<(), Invalid> {
    let mut times = vec![0; parts.accumulators.len()];
    for instr in &parts.code {
        if let Op::Accumulate(k) | Op::AccumulateProduct(k) = instr.op {
            times[usize::from(k)] += 1;
        }
    }
    match times.iter().position(|&times| times != 1) {
        Some(k) => Err(Invalid(format!("accumulator {k} joins {} values, not one", times[k]))),
        None => Ok(()),
    }
}

/// Whether injective patterns are seen to have no position in common: they follow each other, or they are
/// one pattern shifted by less than the distance between its positions.
fn are_disjoint(patterns: &mut [&Pattern]) -> bool {
    if patterns.len() < 2 {
        return true;
    }
    if patterns.iter().any(|pattern| pattern.dims().iter().any(|&(_, stride)| stride <= 0)) {
        return false;
    }
    patterns.sort_by_key(|pattern| pattern.offset());
    let mut rest = &patterns[..];
    while let Some(first) = rest.first() {
        // Those that begin before the ones so far have ended.
        let (mut count, mut end) = (1, first.end());
        while let Some(next) = rest.get(count).filter(|next| next.offset() < end) {
            end = end.max(next.end());
            count += 1;
        }
        let (meeting, after) = rest.split_at(count);
        let moved = |pair: &[&Pattern]| pair[0].offset() < pair[1].offset() && pair[0].dims() == pair[1].dims();
        let reach = meeting[count - 1].offset() - first.offset();
        if count > 1 && !(meeting.windows(2).all(moved) && reach < distance(first)) {
            return false;
        }
        rest = after;
    }
    true
}

/// A lower bound of the distance between positions of a pattern with positive strides; 0 if none is easily found.
fn distance(pattern: &Pattern) -> usize {
    let mut dims: Vec<(usize, usize)> =
        pattern.dims().iter().map(|&(length, stride)| (stride.unsigned_abs(), length)).collect();
    dims.sort_unstable();
    let Some(&(least, _)) = dims.first() else { return usize::MAX };
    let mut reach = 0usize;
    for (stride, length) in dims {
        if stride < reach.saturating_add(least) {
            return 0;
        }
        reach = reach.saturating_add(stride.saturating_mul(length - 1));
    }
    least
}

fn check_join(join: Join, kind: Kind) -> Result<(), Invalid> {
    let logical = matches!(join, Join::All | Join::Any);
    if logical == (kind == Kind::U8) { Ok(()) } else { Err(Invalid(format!("{join:?} does not join {kind:?}"))) }
}

struct Checker<'a> {
    parts: &'a Parts,
    /// Slots that hold something.
    written: Vec<bool>,
    /// Slots that no instruction may write.
    fixed: Vec<bool>,
    /// Slots that hold one number everywhere, which is as wide as the slot's elements.
    constant: Vec<bool>,
}

impl Checker<'_> {
    fn check(mut self) -> Result<(), Invalid> {
        for &(slot, _) in &self.parts.constants {
            self.fix(slot)?;
            self.constant[usize::from(slot)] = true;
        }
        for &(slot, load) in &self.parts.repeated {
            self.fix(slot)?;
            let load = self.parts.loads.get(usize::from(load)).ok_or(Invalid("there is no such load".into()))?;
            let own = self.parts.slots[usize::from(slot)];
            let same = load.level == own.level && load.kind.size() <= own.kind.size();
            if !same || load.level != Granularity::Full || !repeats(&load.pattern, self.parts.space.cols) {
                return Err(Invalid("a repeated load differs from row to row".into()));
            }
        }
        for (k, instr) in self.parts.code.iter().enumerate() {
            self.instr(instr).map_err(|Invalid(why)| Invalid(format!("instruction {k}, {instr:?}: {why}")))?;
        }
        Ok(())
    }

    fn fix(&mut self, slot: u16) -> Result<(), Invalid> {
        let k = usize::from(slot);
        if k >= self.fixed.len() || self.fixed[k] {
            return Err(Invalid(format!("slot {slot} is no slot, or is filled twice")));
        }
        self.fixed[k] = true;
        self.written[k] = true;
        Ok(())
    }

    /// The level of a place, which may not exist.
    fn level(&self, place: u16) -> Result<Granularity, Invalid> {
        match usize::from(place) < self.parts.slots.len() + self.parts.directs.len() {
            true => Ok(level(self.parts, place)),
            false => Err(Invalid(format!("there is no place {place}"))),
        }
    }

    /// Checks that a place can be read at this kind and level.
    fn read(&self, place: u16, kind: Kind, wanted: Granularity) -> Result<(), Invalid> {
        let k = usize::from(place);
        let (width, level) = match k.checked_sub(self.parts.slots.len()) {
            None if !self.written[k] => return Err(Invalid(format!("place {place} is read before it is written"))),
            None if self.constant[k] && self.parts.slots[k].kind.size() != kind.size() => {
                return Err(Invalid(format!("place {place} is a number of another width")));
            }
            None => (self.parts.slots[k].kind.size(), self.parts.slots[k].level),
            Some(k) => {
                let direct = self.parts.directs.get(k).ok_or(Invalid(format!("there is no place {place}")))?;
                if matches!(direct.place, Place::Output(_)) {
                    return Err(Invalid(format!("place {place} is an output, and is read")));
                }
                if direct.kind != kind {
                    return Err(Invalid(format!("place {place} has another kind")));
                }
                (direct.kind.size(), direct.level)
            }
        };
        if width < kind.size() || level != wanted {
            return Err(Invalid(format!("place {place} does not hold {kind:?} at level {wanted:?}")));
        }
        Ok(())
    }

    /// Checks that the result can be written at this kind and is none of the operands; gives its level.
    fn write(&mut self, instr: &Instr, kind: Kind, operands: &[u16]) -> Result<Granularity, Invalid> {
        self.write_to(instr.out, kind, operands)
    }

    fn write_to(&mut self, place: u16, kind: Kind, operands: &[u16]) -> Result<Granularity, Invalid> {
        let k = usize::from(place);
        if operands.contains(&place) {
            return Err(Invalid("it writes where it reads".into()));
        }
        match k.checked_sub(self.parts.slots.len()) {
            None => {
                if self.fixed[k] || self.parts.slots[k].kind.size() < kind.size() {
                    return Err(Invalid(format!("slot {place} cannot hold the result")));
                }
                self.written[k] = true;
                Ok(self.parts.slots[k].level)
            }
            Some(k) => match self.parts.directs.get(k) {
                Some(direct) if matches!(direct.place, Place::Output(_)) && direct.kind == kind => Ok(direct.level),
                _ => Err(Invalid(format!("place {place} cannot be written"))),
            },
        }
    }

    fn instr(&mut self, instr: &Instr) -> Result<(), Invalid> {
        let Instr { op, a, b, c, .. } = *instr;
        let (from, to, operands): (Kind, Kind, &[u16]) = match op {
            Op::Unary(f, kind) => {
                let few = matches!(f, Unary::Copy | Unary::Neg | Unary::Abs | Unary::Sign | Unary::Square);
                let ok = match kind {
                    Kind::U8 => matches!(f, Unary::Copy | Unary::Not),
                    Kind::I64 => few,
                    Kind::F32 | Kind::F64 => f != Unary::Not,
                };
                demand(ok)?;
                (kind, kind, &[a])
            }
            Op::Binary(f, kind) => {
                let logical = matches!(f, Binary::And | Binary::Or | Binary::Xor);
                let few = matches!(f, Binary::Add | Binary::Sub | Binary::Mul | Binary::Max | Binary::Min);
                demand(match kind {
                    Kind::U8 => logical,
                    Kind::I64 => few,
                    Kind::F32 | Kind::F64 => !logical,
                })?;
                (kind, kind, &[a, b])
            }
            Op::Compare(_, kind) => (kind, Kind::U8, &[a, b]),
            Op::Convert(from, to) => (from, to, &[a]),
            Op::Pair(_, kind) => {
                demand(kind.is_float())?;
                (kind, kind, &[a, b, c])
            }
            Op::Power(_, kind) | Op::Call1(_, _, kind) => {
                demand(kind.is_float())?;
                (kind, kind, &[a])
            }
            Op::Call2(_, _, kind) => {
                demand(kind.is_float())?;
                (kind, kind, &[a, b])
            }
            Op::Twin(_, kind) => {
                demand(kind.is_float())?;
                self.read(a, kind, self.level(instr.out)?)?;
                let level = self.write(instr, kind, &[a])?;
                return demand(self.write_to(b, kind, &[a, instr.out])? == level);
            }
            Op::Select(kind) => {
                let level = self.write(instr, kind, &[a, b, c])?;
                self.read(a, Kind::U8, level)?;
                self.read(b, kind, level)?;
                return self.read(c, kind, level);
            }
            Op::JoinCols(join, kind) => {
                check_join(join, kind)?;
                demand(self.write(instr, kind, &[a])? == Granularity::Row)?;
                return self.read(a, kind, Granularity::Full);
            }
            Op::Dot(kind) => {
                demand(kind.is_float() && self.write(instr, kind, &[a, b])? == Granularity::Row)?;
                self.read(a, kind, Granularity::Full)?;
                return self.read(b, kind, Granularity::Full);
            }
            Op::Spread(kind) => {
                demand(self.write(instr, kind, &[a])? == Granularity::Full)?;
                return self.read(a, kind, Granularity::Row);
            }
            Op::Load(k) => {
                let load = self.parts.loads.get(usize::from(k)).ok_or(Invalid("there is no such load".into()))?;
                return demand(self.write(instr, load.kind, &[])? == load.level);
            }
            Op::Blocks(k) => {
                let blocks = self.parts.blocks.get(usize::from(k)).ok_or(Invalid("there are no such blocks".into()))?;
                return demand(self.write(instr, blocks.kind(), &[])? == blocks.level());
            }
            Op::Take(k) => {
                let take = self.parts.takes.get(usize::from(k)).ok_or(Invalid("there is no such lookup".into()))?;
                return demand(self.write(instr, take.kind, &[])? == take.level);
            }
            Op::Store(k) => {
                let store = self.parts.stores.get(usize::from(k)).ok_or(Invalid("there is no such store".into()))?;
                return self.read(a, store.kind, store.level);
            }
            Op::Accumulate(k) => {
                let acc = self.parts.accumulators.get(usize::from(k)).ok_or(Invalid("no such accumulator".into()))?;
                return self.read(a, acc.kind, acc.level);
            }
            Op::AccumulateProduct(k) => {
                let acc = self.parts.accumulators.get(usize::from(k)).ok_or(Invalid("no such accumulator".into()))?;
                demand(acc.kind.is_float() && acc.join == Join::Sum)?;
                self.read(b, acc.kind, acc.level)?;
                let by_row = acc.width == Width::Cols && self.read(a, acc.kind, Granularity::Row).is_ok();
                return if by_row { Ok(()) } else { self.read(a, acc.kind, acc.level) };
            }
        };
        // Operands are read before the result is written: a slot that holds nothing yet is no operand.
        let level = self.level(instr.out)?;
        for &operand in operands {
            self.read(operand, from, level)?;
        }
        self.write(instr, to, operands).map(|_| ())
    }
}

fn demand(fits: bool) -> Result<(), Invalid> {
    if fits { Ok(()) } else { Err(Invalid("the kinds or levels do not fit the operation".into())) }
}

/// Whether the elements of a pattern are the same in every row of this many columns: a row repeats everything that its
/// strides reach a whole number of times.
fn repeats(pattern: &Pattern, cols: usize) -> bool {
    let mut inner = 1usize;
    pattern.dims().iter().rev().all(|&(length, stride)| {
        inner = inner.saturating_mul(length);
        stride == 0 || cols.is_multiple_of(inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions of a pattern.
    fn positions(pattern: &Pattern) -> Vec<usize> {
        let add = |bases: Vec<usize>, &(length, stride): &(usize, isize)| {
            bases.iter().flat_map(|&base| (0..length).map(move |k| base + k * stride.unsigned_abs())).collect()
        };
        pattern.dims().iter().fold(vec![pattern.offset()], add)
    }

    #[test]
    fn patterns_that_share_a_position_are_never_taken_for_disjoint() {
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % n) as usize
        };
        let (mut disjoint, mut shared) = (0, 0);
        for _ in 0..20_000 {
            let lengths: Vec<usize> = (0..1 + next(3)).map(|_| 1 + next(3)).collect();
            let strides: Vec<isize> = lengths.iter().map(|_| 1 + next(12) as isize).collect();
            let same = next(4) > 0;
            let patterns: Vec<Pattern> = (0..2 + next(2))
                .filter_map(|_| {
                    let strides: Vec<isize> =
                        strides.iter().map(|&stride| if same { stride } else { stride + next(2) as isize }).collect();
                    Pattern::new(next(20), &lengths, &strides).filter(Pattern::is_injective)
                })
                .collect();
            let mut all: Vec<usize> = patterns.iter().flat_map(positions).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            let found = are_disjoint(&mut patterns.iter().collect::<Vec<_>>());
            assert!(!found || all.len() == count, "{patterns:?}");
            disjoint += usize::from(found && patterns.len() > 1);
            shared += usize::from(all.len() < count);
        }
        assert!(disjoint > 100 && shared > 1000, "{disjoint} {shared}");
    }

    #[test]
    fn elements_of_points_are_disjoint() {
        let points = |offset: usize, stride: isize| Pattern::new(offset, &[100], &[stride]).unwrap();
        let row = |count: usize| (0..count).map(|k| points(k, 12)).collect::<Vec<_>>();
        assert!(are_disjoint(&mut row(12).iter().collect::<Vec<_>>()));
        assert!(!are_disjoint(&mut row(13).iter().collect::<Vec<_>>()));
        let columns: Vec<Pattern> = (0..5).map(|k| points(100 * k, 1)).collect();
        assert!(are_disjoint(&mut columns.iter().collect::<Vec<_>>()));
        assert!(!are_disjoint(&mut [&points(3, 4), &points(3, 4)]));
    }
}
