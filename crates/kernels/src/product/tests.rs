//! Products against the plain triple loop, at every level.

use super::number::TileTask;
use super::*;
use std::fmt::Debug;

/// A type to test: its values from small integers and as f64, and the error it may have.
trait Tested: Product + PartialEq + Debug {
    /// The largest error of an operation, relative; 0 if there is none.
    const EPSILON: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
    /// Bits, so that results can be compared with NaN among them.
    fn bits(self) -> u64;
}

macro_rules! impl_tested {
    ($($float:ident $epsilon:expr, $bits:expr;)*) => {$(
        impl Tested for $float {
            const EPSILON: f64 = $epsilon;
            fn of(x: f64) -> Self {
                x as $float
            }
            fn number(self) -> f64 {
                self as f64
            }
            fn bits(self) -> u64 {
                let bits: fn($float) -> u64 = $bits;
                bits(self)
            }
        }
    )*};
}

impl_tested! {
    f32 f32::EPSILON as f64, |x| x.to_bits().into();
    f64 f64::EPSILON, f64::to_bits;
    i64 0.0, i64::cast_unsigned;
}

/// Numbers between -2 and 2 that look random, and are not sums of few powers of two. For integers
/// they are scaled up.
fn numbers<T: Tested>(count: usize, seed: u64) -> Vec<T> {
    let scale = if T::EPSILON == 0.0 { 1000.0 } else { 1.0 };
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::of(((state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0) * 2.0 * scale)
    };
    (0..count).map(|_| next()).collect()
}

/// A layout of a matrix: strides, and the number of elements from the lowest to the highest.
#[derive(Clone, Copy, Debug)]
struct Layout {
    strides: [isize; 2],
    length: usize,
    first: usize,
}

impl Layout {
    fn new(dims: [usize; 2], strides: [isize; 2]) -> Layout {
        if dims.contains(&0) {
            return Layout { strides, length: 0, first: 0 };
        }
        let ends = [0, 1].map(|axis| (dims[axis] as isize - 1) * strides[axis]);
        let first = -ends.iter().map(|end| end.min(&0)).sum::<isize>();
        let last = ends.iter().map(|end| end.max(&0)).sum::<isize>();
        Layout { strides, length: (first + last + 1) as usize, first: first as usize }
    }

    fn index(self, i: usize, j: usize) -> usize {
        (self.first as isize + i as isize * self.strides[0] + j as isize * self.strides[1]) as usize
    }
}

/// Layouts of an operand: in order, transposed, with gaps, broadcast, reversed.
fn layouts([rows, columns]: [usize; 2]) -> Vec<Layout> {
    let (r, c) = (rows as isize, columns as isize);
    let strides = [[c, 1], [1, r], [c + 3, 1], [2, 2 * r + 1], [3 * c, 3], [0, 1], [1, 0], [-c, 1], [c, -1], [-1, -r]];
    strides.map(|strides| Layout::new([rows, columns], strides)).to_vec()
}

/// Layouts of a result.
fn results([rows, columns]: [usize; 2]) -> Vec<Layout> {
    let (r, c) = (rows as isize, columns as isize);
    let strides = [[c, 1], [1, r], [c + 5, 1], [2 * c, 2], [3, 3 * r + 1]];
    strides.map(|strides| Layout::new([rows, columns], strides)).to_vec()
}

/// Which parts of the module a check goes through.
#[derive(Clone, Copy, Debug)]
enum Through {
    /// What the shape calls for.
    Products,
    /// The blocks, whatever the shape is; and what is packed likewise.
    Blocks,
    Packed,
}

/// Computes one product and compares it with the triple loop, element by element.
fn check<T: Tested>(dims: [usize; 3], [a, b, c]: [Layout; 3], add: Accumulate, level: Level, through: Through) {
    let [m, k, n] = dims;
    let (left, right) = (numbers::<T>(a.length, 1), numbers::<T>(b.length, 2));
    let before = numbers::<T>(c.length, 3);
    let mut after = before.clone();
    let (x, y) = (Operand::new(&left, a.strides), Operand::new(&right, b.strides));
    let z = Target::new(&mut after, c.strides.map(isize::cast_unsigned));
    match through {
        Through::Products => run_products(level, Known::Nothing, &[], dims, x, y, z, add, &Pool::new(2)),
        Through::Blocks | Through::Packed if m == 0 || n == 0 => return,
        Through::Blocks | Through::Packed => {
            let task = TileTask {
                dims,
                a: MatrixView { start: left.as_ptr().wrapping_add(a.first), strides: a.strides },
                b: MatrixView { start: right.as_ptr().wrapping_add(b.first), strides: b.strides },
                c: MatrixViewMut { start: z.data.as_mut_ptr(), strides: c.strides },
                add: add == Accumulate::Add,
                swapped: false,
            };
            match through {
                Through::Packed if T::kernels(level).is_some() => packed::run(task.in_order(), level),
                _ => T::blocks(task, level),
            }
        }
    }
    let mut untouched = vec![true; c.length];
    for i in 0..m {
        for j in 0..n {
            let at = c.index(i, j);
            untouched[at] = false;
            let start = if add == Accumulate::Add { before[at].number() } else { 0.0 };
            let (mut sum, mut size) = (start, start.abs());
            for p in 0..k {
                let term = left[a.index(i, p)].number() * right[b.index(p, j)].number();
                sum += term;
                size += term.abs();
            }
            // The reference's own rounding is within the same bound, once more.
            let bound = (k + 1) as f64 * (T::EPSILON + f64::EPSILON) * size * f64::from(T::EPSILON > 0.0);
            let error = (after[at].number() - sum).abs();
            assert!(error <= bound, "{dims:?} {a:?} {b:?} {c:?} {add:?} {level:?} {through:?}: [{i}, {j}] {error:e}");
        }
    }
    for (at, _) in untouched.iter().enumerate().filter(|(_, untouched)| **untouched) {
        assert_eq!(after[at].bits(), before[at].bits(), "{dims:?} {c:?}: the gap at {at} was written");
    }
}

/// All layouts of both operands with one result, then all results.
fn check_layouts<T: Tested>(dims: [usize; 3], through: Through) {
    let [m, k, n] = dims;
    for level in Level::ALL {
        let result = results([m, n])[0];
        for a in layouts([m, k]) {
            for b in layouts([k, n]) {
                check::<T>(dims, [a, b, result], Accumulate::Overwrite, level, through);
            }
        }
        for c in results([m, n]) {
            for operand in 0..3 {
                let (a, b) = (layouts([m, k])[operand], layouts([k, n])[(operand + 1) % 3]);
                check::<T>(dims, [a, b, c], Accumulate::Add, level, through);
                check::<T>(dims, [a, b, c], Accumulate::Overwrite, level, through);
            }
        }
    }
}

/// Small shapes with 0, 1, primes, and the sides of the blocks and their neighbours.
fn small_shapes() -> Vec<[usize; 3]> {
    let mut shapes = vec![[0, 3, 2], [3, 0, 2], [3, 2, 0], [0, 0, 0], [1, 1, 1], [1, 7, 1], [7, 1, 5], [1, 0, 4]];
    shapes.extend([[1, 37, 11], [13, 37, 1], [5, 131, 1], [1, 600, 3], [3, 1100, 1], [1, 3, 600]]);
    shapes.extend([[2, 2, 2], [4, 4, 4], [3, 5, 7], [8, 8, 8], [9, 17, 33], [7, 129, 31], [17, 3, 47], [11, 257, 13]]);
    shapes
}

#[test]
fn products_agree_with_the_triple_loop() {
    for dims in small_shapes() {
        check_layouts::<f32>(dims, Through::Products);
        check_layouts::<f64>(dims, Through::Products);
        check_layouts::<i64>(dims, Through::Products);
    }
}

#[test]
fn blocks_agree_with_the_triple_loop() {
    for dims in [[1, 1, 1], [5, 6, 1], [1, 9, 40], [6, 130, 35], [24, 16, 32], [25, 300, 5]] {
        check_layouts::<f32>(dims, Through::Blocks);
        check_layouts::<f64>(dims, Through::Blocks);
        check_layouts::<i64>(dims, Through::Blocks);
    }
}

/// Rows that are copied before they are read, and more of them than are read at once; with and without whole vectors.
fn check_far<T: Tested>() {
    const GAP: isize = 1100;
    for (dims, level) in
        [[130, 140, 64], [29, 300, 37], [121, 3, 16]].into_iter().flat_map(|d| Level::ALL.map(|l| (d, l)))
    {
        let [m, k, n] = dims;
        for near in [[GAP, 1], [-GAP, 1], [1, GAP]] {
            let (a, b) = (Layout::new([m, k], [near[1], near[0]]), Layout::new([k, n], near));
            for c in &results([m, n])[..2] {
                check::<T>(dims, [a, b, *c], Accumulate::Add, level, Through::Blocks);
                check::<T>(dims, [a, b, *c], Accumulate::Overwrite, level, Through::Products);
            }
        }
    }
}

#[test]
fn rows_that_lie_far_apart() {
    check_far::<f32>();
    check_far::<f64>();
    check_far::<i64>();
}

#[test]
fn packed_products_agree_with_the_triple_loop() {
    let small = [[1, 1, 1], [5, 6, 1], [1, 9, 40], [3, 2, 70], [6, 130, 35], [65, 16, 13], [67, 3, 129]];
    // Few rows with whole vectors; two parts of the sum.
    for dims in small.into_iter().chain([[7, 20, 208], [20, 600, 17]]) {
        check_layouts::<f32>(dims, Through::Packed);
        check_layouts::<f64>(dims, Through::Packed);
    }
}

/// The bits of a product through one way, for one layout of each operand and of the result.
fn bits_through<T: Tested>(
    dims: [usize; 3],
    [a, b, c]: [Layout; 3],
    add: Accumulate,
    level: Level,
    through: Through,
) -> Vec<u64> {
    let [m, k, n] = dims;
    let place = |matrix: &[T], layout: Layout, [rows, columns]: [usize; 2]| {
        let mut data = vec![T::of(0.5); layout.length];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            data[layout.index(i, j)] = matrix[i * columns + j];
        }
        data
    };
    let (left, right) = (place(&numbers(m * k, 1), a, [m, k]), place(&numbers(k * n, 2), b, [k, n]));
    let mut out = place(&numbers(m * n, 3), c, [m, n]);
    let task = TileTask {
        dims,
        a: MatrixView { start: left.as_ptr().wrapping_add(a.first), strides: a.strides },
        b: MatrixView { start: right.as_ptr().wrapping_add(b.first), strides: b.strides },
        c: MatrixViewMut { start: out.as_mut_ptr(), strides: c.strides },
        add: add == Accumulate::Add,
        swapped: false,
    };
    match through {
        Through::Products => {
            let (x, y) = (Operand::new(&left, a.strides), Operand::new(&right, b.strides));
            let z = Target::new(&mut out, c.strides.map(isize::cast_unsigned));
            run_products(level, Known::Nothing, &[], dims, x, y, z, add, &Pool::new(2));
        }
        Through::Packed if T::kernels(level).is_some() => packed::run(task.in_order(), level),
        Through::Blocks | Through::Packed => T::blocks(task.in_order(), level),
    }
    (0..m * n).map(|at| out[c.index(at / n, at % n)].bits()).collect()
}

/// Neither strides nor the path through the module change a bit. The layout of each operand with as many of the other.
fn check_bits<T: Tested>(dims: [usize; 3], pairs: usize) {
    let [m, k, n] = dims;
    let injective = |dims| [0, 1, 3, 7, 8].map(|k| layouts(dims)[k]);
    let (left, right) = (injective([m, k]), injective([k, n]));
    let (first, matrix) = (layouts([m, k])[0], m > 1 && n > 1);
    for level in Level::ALL {
        for add in [Accumulate::Overwrite, Accumulate::Add] {
            let operands = [first, layouts([k, n])[0], results([m, n])[0]];
            let expected = bits_through::<T>(dims, operands, add, level, Through::Products);
            let ways: &[Through] = match matrix {
                true => &[Through::Products, Through::Blocks, Through::Packed],
                false => &[Through::Products],
            };
            for n_th in 0..5 * pairs {
                let (a, b, c) =
                    (left[n_th % 5], right[(n_th + n_th / 5) % 5], results([m, n])[(2 * n_th + n_th / 5) % 5]);
                for &way in ways {
                    let found = bits_through::<T>(dims, [a, b, c], add, level, way);
                    assert!(found == expected, "{dims:?} {a:?} {b:?} {c:?} {add:?} {level:?} {way:?}");
                }
            }
        }
    }
}

#[test]
fn neither_strides_nor_ways_change_a_bit() {
    let shapes =
        [[2, 3, 2], [3, 1, 5], [4, 2, 9], [5, 258, 7], [20, 20, 20], [21, 19, 21], [17, 515, 33], [65, 16, 13]];
    let large = [[67, 3, 129], [1, 600, 37], [600, 1100, 1], [1, 31, 600], [97, 300, 385], [40, 700, 300]];
    // Operands read as they lie, more rows and more columns than are packed at a time.
    let parts = [[40, 530, 320], [790, 20, 96], [50, 70, 1100]];
    let large = large.into_iter().chain(parts).map(|dims| (dims, 1));
    for (dims, pairs) in shapes.into_iter().map(|dims| (dims, 5)).chain(large) {
        check_bits::<f32>(dims, pairs);
        check_bits::<f64>(dims, pairs);
    }
}

#[test]
fn rows_have_the_same_bits_in_every_matrix() {
    // Alone, among few, in a batch, and cut into tiles.
    let (k, n) = (300, 70);
    let (a, b) = (numbers::<f64>(400 * k, 1), numbers::<f64>(k * n, 2));
    let mut all = vec![0.0; 400 * n];
    plain([400, k, n], &a, &b, &mut all, Accumulate::Overwrite, 2);
    for rows in [2, 5, 16, 50, 200] {
        let mut part = vec![0.0; rows * n];
        plain([rows, k, n], &a, &b, &mut part, Accumulate::Overwrite, 1);
        assert!(part == all[..rows * n], "{rows}");
        let mut batch = vec![0.0; 400 * n];
        let (left, right) = (Operand::new(&a, [k as isize, 1]), Operand::new(&b, [n as isize, 1]));
        let steps = ([(rows * k) as isize], [rows * n]);
        let target = Target::new(&mut batch, [n, 1]).batched(&steps.1);
        let (left, right) = (left.batched(&steps.0), right.batched(&[0]));
        products(&[400 / rows], [rows, k, n], left, right, target, Accumulate::Overwrite, &Pool::new(2));
        let whole = 400 / rows * rows * n;
        assert!(batch[..whole] == all[..whole], "{rows}");
    }
}

#[test]
fn tiles_agree_with_the_triple_loop() {
    for dims in [[300, 61, 290], [513, 37, 64], [40, 33, 1000], [3000, 401, 1], [1, 401, 3000]] {
        let [m, k, n] = dims;
        assert!(m * k * n > PRODUCT_PAYS);
        for pick in 0..4 {
            let (a, b) = (layouts([m, k])[pick % 2], layouts([k, n])[pick / 2]);
            for c in &results([m, n])[..4] {
                check::<f32>(dims, [a, b, *c], Accumulate::Add, Level::Avx512, Through::Products);
                check::<f64>(dims, [a, b, *c], Accumulate::Overwrite, Level::Avx2, Through::Products);
            }
        }
    }
}

#[test]
fn an_empty_sum_is_zero() {
    for (dims, length) in [([3, 0, 2], 6), ([1, 0, 4], 4), ([4, 0, 1], 4), ([200, 0, 300], 60_000)] {
        for (add, expected) in [(Accumulate::Overwrite, 0.0), (Accumulate::Add, 7.0)] {
            let mut c = vec![7.0_f64; length];
            let target = Target::new(&mut c, [dims[2], 1]);
            let pool = Pool::new(2);
            product(dims, Operand::new(&[], [0, 1]), Operand::new(&[], [dims[2] as isize, 1]), target, add, &pool);
            assert!(c.iter().all(|x| *x == expected), "{dims:?} {add:?}");
        }
    }
}

#[test]
fn integers_wrap_around() {
    let (a, b, mut c) = ([i64::MAX, 3], [2, i64::MAX], [0]);
    let target = Target::new(&mut c, [1, 1]);
    product(
        [1, 2, 1],
        Operand::new(&a, [2, 1]),
        Operand::new(&b, [1, 1]),
        target,
        Accumulate::Overwrite,
        &Pool::new(1),
    );
    assert_eq!(c[0], i64::MAX.wrapping_mul(2).wrapping_add(i64::MAX.wrapping_mul(3)));
}

/// A product of whole matrices in order, on a pool of its own.
fn plain<T: Tested>(dims: [usize; 3], a: &[T], b: &[T], c: &mut [T], add: Accumulate, threads: usize) {
    let [_, k, n] = dims;
    let (a, b) = (Operand::new(a, [k as isize, 1]), Operand::new(b, [n as isize, 1]));
    product(dims, a, b, Target::new(c, [n, 1]), add, &Pool::new(threads));
}

fn check_threads<T: Tested>(dims: [usize; 3]) {
    let [m, k, n] = dims;
    let (a, b) = (numbers::<T>(m * k, 5), numbers::<T>(k * n, 6));
    let mut results = [1, 2, 3, 7, 2].map(|threads| {
        let mut c = vec![T::default(); m * n];
        plain(dims, &a, &b, &mut c, Accumulate::Overwrite, threads);
        c.into_iter().map(T::bits).collect::<Vec<u64>>()
    });
    let [one, others @ ..] = &mut results;
    assert!(others.iter().all(|other| other == one), "{dims:?}");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    // One thread takes a large result as a whole, several take tiles: of whole blocks and with ends of any size.
    let large = [[517, 300, 531], [1031, 90, 770], [97, 513, 2049], [640, 257, 385], [2000, 40, 129]];
    let others = [[300, 100, 300], [1000, 64, 64], [64, 700, 1000], [5000, 300, 1], [1, 300, 5000], [33, 33, 33]];
    for dims in others.into_iter().chain(large) {
        check_threads::<f32>(dims);
        check_threads::<f64>(dims);
        check_threads::<i64>(dims);
    }
}

/// That a product is added with the bits that adding it afterwards gives, in every way to a result.
fn check_added<T: Tested>(dims: [usize; 3], turned: bool) {
    let [m, k, n] = dims;
    let (a, b, start) = (numbers::<T>(m * k, 5), numbers::<T>(k * n, 6), numbers::<T>(m * n, 7));
    let strides = if turned { [1, m as isize] } else { [k as isize, 1] };
    for level in Level::ALL {
        let run = |c: &mut [T], add: Accumulate| {
            let (a, b) = (Operand::new(&a, strides), Operand::new(&b, [n as isize, 1]));
            run_products(level, Known::Nothing, &[], dims, a, b, Target::new(c, [n, 1]), add, &Pool::new(2));
        };
        let (mut alone, mut added) = (vec![T::default(); m * n], start.clone());
        run(&mut alone, Accumulate::Overwrite);
        run(&mut added, Accumulate::Add);
        let wanted = start.iter().zip(&alone).map(|(&start, &product)| start.plus(product).bits());
        assert!(added.iter().map(|x| x.bits()).eq(wanted), "{dims:?} {turned} {level:?}");
    }
}

#[test]
fn what_adds_alike_adds_alike() {
    let inner = [1, 2, 3, 16, 33, DEPTH - 1, DEPTH];
    let sides = [[1, 1], [1, 40], [40, 1], [2, 3], [17, 33], [64, 64], [130, 200]];
    for ([m, n], k) in sides.into_iter().flat_map(|side| inner.map(|k| (side, k))) {
        assert!(adds_alike(k));
        for turned in [false, true] {
            check_added::<f32>([m, k, n], turned);
            check_added::<f64>([m, k, n], turned);
            check_added::<i64>([m, k, n], turned);
        }
    }
}

#[test]
fn nan_and_infinity_come_out_as_of_the_triple_loop() {
    for dims in [[3, 4, 5], [9, 40, 33], [1, 50, 9], [9, 50, 1], [70, 70, 70], [200, 90, 150]] {
        let [m, k, n] = dims;
        let (mut a, mut b) = (numbers::<f64>(m * k, 7), numbers::<f64>(k * n, 8));
        // A NaN, infinities of both signs, and a zero to meet one of them.
        (a[k / 2], b[n / 2]) = (f64::NAN, f64::INFINITY);
        (a[(m - 1) * k], a[(m - 1) * k + 1]) = (0.0, f64::NEG_INFINITY);
        let mut c = vec![f64::NAN; m * n];
        plain(dims, &a, &b, &mut c, Accumulate::Overwrite, 2);
        let mut kinds = [0; 3];
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let exact: f64 = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
            let found = c[i * n + j];
            kinds[if exact.is_nan() { 0 } else { 1 + usize::from(exact.is_infinite()) }] += 1;
            assert!(found.is_nan() == exact.is_nan(), "{dims:?} [{i}, {j}]: {found} for {exact}");
            assert!(!exact.is_infinite() || found == exact, "{dims:?} [{i}, {j}]: {found} for {exact}");
        }
        assert!(kinds[0] > 0 && (n == 1 || m == 1 || kinds[1] * kinds[2] > 0), "{dims:?}: {kinds:?}");
    }
}

/// `xᵀ d x` and its elements by the triple loop, with `x` of `k` rows of `n`, in a batch of two.
fn check_symmetric<T: Tested>(n: usize, k: usize, gap: usize, level: Level) {
    let x = numbers::<T>(2 * k * n, 11);
    let scaled: Vec<T> = (0..2 * k * n).map(|at| T::of(x[at].number() * (1.0 + (at / n % 7) as f64))).collect();
    let (row, size) = (n + gap, n * (n + gap));
    let run = |threads: usize| {
        let mut c = vec![T::of(9.0); 2 * size];
        let (steps, sizes) = ([(k * n) as isize], [size]);
        let a = Operand::new(&scaled, [1, n as isize]).batched(&steps);
        let b = Operand::new(&x, [n as isize, 1]).batched(&steps);
        let z = Target::new(&mut c, [row, 1]).batched(&sizes);
        let pool = Pool::new(threads);
        run_products(level, Known::Symmetric, &[2], [n, k, n], a, b, z, Accumulate::Overwrite, &pool);
        c
    };
    let c = run(1);
    assert!(run(3).iter().zip(&c).all(|(x, y)| x.bits() == y.bits()), "{n} {k}");
    for (index, i, j) in (0..2).flat_map(|index| (0..n).flat_map(move |i| (0..row).map(move |j| (index, i, j)))) {
        let found = c[index * size + i * row + j];
        if j >= n {
            assert_eq!(found.number(), 9.0, "the gap");
            continue;
        }
        let at = |p: usize, i: usize| index * k * n + p * n + i;
        let terms = (0..k).map(|p| scaled[at(p, i)].number() * x[at(p, j)].number());
        let (sum, all) = terms.fold((0.0, 0.0), |(sum, all): (f64, f64), term| (sum + term, all + term.abs()));
        // The scaled operand is rounded: by the transpose the element differs a little more.
        let bound = (k + 3) as f64 * (T::EPSILON + f64::EPSILON) * all * f64::from(T::EPSILON > 0.0);
        assert!((found.number() - sum).abs() <= bound, "{n} {k} [{i}, {j}]: {found:?} for {sum}");
        let across = c[index * size + j * row + i];
        assert_eq!(found.bits(), across.bits(), "{n} {k} {level:?}: [{i}, {j}] and the element across");
    }
}

#[test]
fn symmetric_results_agree_with_the_triple_loop() {
    for level in Level::ALL {
        // One element, one tile, panels of blocks, and packed ones: long and short sums.
        for (n, k, gap) in [(1, 5, 0), (7, 3, 2), (63, 90, 1), (64, 30, 0), (95, 20, 0), (95, 900, 0), (96, 40, 0)] {
            check_symmetric::<f64>(n, k, gap, level);
            check_symmetric::<f32>(n, k, gap, level);
        }
        for (n, k, gap) in [(96, 500, 0), (133, 310, 5), (200, 110, 0), (257, 100, 0)] {
            check_symmetric::<f64>(n, k, gap, level);
            check_symmetric::<f32>(n, k, gap, level);
        }
        check_symmetric::<i64>(130, 40, 0, level);
    }
}

#[test]
fn batches_are_many_products() {
    // Two axes, the first of which is broadcast in b; results with gaps; small and tiled ones.
    for dims in [[2, 3, 4], [1, 5, 3], [5, 4, 1], [12, 50, 40], [150, 40, 300]] {
        let [m, k, n] = dims;
        for threads in [1, 3] {
            let a = numbers::<f64>(6 * m * k, 1);
            let b = numbers::<f64>(3 * k * n, 2);
            let mut c = vec![9.0; 6 * (m * n + 1)];
            let batched_c = [3 * (m * n + 1), m * n + 1];
            products(
                &[2, 3],
                dims,
                Operand::new(&a, [1, m as isize]).batched(&[3 * (m * k) as isize, (m * k) as isize]),
                Operand::new(&b, [n as isize, 1]).batched(&[0, (k * n) as isize]),
                Target::new(&mut c, [n, 1]).batched(&batched_c),
                Accumulate::Overwrite,
                &Pool::new(threads),
            );
            for index in 0..6 {
                let mut single = vec![0.0; m * n];
                let left = Operand::new(&a[index * m * k..], [1, m as isize]);
                let right = Operand::new(&b[index % 3 * k * n..], [n as isize, 1]);
                product(dims, left, right, Target::new(&mut single, [n, 1]), Accumulate::Overwrite, &Pool::new(1));
                let start = index * (m * n + 1);
                assert_eq!(c[start..start + m * n], single, "{dims:?} number {index}");
                assert_eq!(c[start + m * n], 9.0);
            }
        }
    }
}

#[test]
fn many_batches_are_grouped() {
    let count = 1000;
    let (a, b) = (numbers::<f32>(count * 64, 1), numbers::<f32>(64, 2));
    let results = [1, 2, 7].map(|threads| {
        let mut c = vec![0.0; count * 64];
        let left = Operand::new(&a, [8, 1]).batched(&[64]);
        let target = Target::new(&mut c, [8, 1]).batched(&[64]);
        let right = Operand::new(&b, [8, 1]).batched(&[0]);
        products(&[count], [8, 8, 8], left, right, target, Accumulate::Overwrite, &Pool::new(threads));
        c
    });
    assert!(results[0] == results[1] && results[0] == results[2]);
    let mut last = [0.0; 64];
    plain([8, 8, 8], &a[(count - 1) * 64..], &b, &mut last, Accumulate::Overwrite, 1);
    assert_eq!(results[0][(count - 1) * 64..], last);
}

/// The message with which `work` panics.
fn refusal(work: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(work).unwrap_err();
    payload.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn what_does_not_fit_is_refused() {
    let run = |a: &[f64], a_strides, b: &[f64], b_strides, c_length: usize, c_strides| {
        let mut c = vec![0.0; c_length];
        let (a, b) = (Operand::new(a, a_strides), Operand::new(b, b_strides));
        product([2, 3, 2], a, b, Target::new(&mut c, c_strides), Accumulate::Overwrite, &Pool::new(1));
    };
    let ok = [1.0; 6];
    run(&ok, [3, 1], &ok, [2, 1], 4, [2, 1]);
    let long = isize::MAX;
    let a_messages = [[4, 1], [3, 2], [-4, 1], [3, -2], [long, long], [isize::MIN, isize::MIN]];
    for strides in a_messages {
        assert!(refusal(move || run(&ok, strides, &ok, [2, 1], 4, [2, 1])).contains("operand a"), "{strides:?}");
    }
    assert!(refusal(move || run(&ok, [3, 1], &ok[..5], [2, 1], 4, [2, 1])).contains("operand b"));
    assert!(refusal(move || run(&ok, [3, 1], &[], [0, 0], 4, [2, 1])).contains("operand b"));
    assert!(refusal(move || run(&ok, [3, 1], &ok, [2, 1], 3, [2, 1])).contains("result c"));
    for strides in [[0, 1], [1, 0], [1, 1], [0, 0]] {
        let message = refusal(move || run(&ok, [3, 1], &ok, [2, 1], 9, strides));
        assert!(message.contains("same place"), "{strides:?}: {message}");
    }
    assert!(refusal(move || run(&ok, [3, 1], &ok, [2, 1], 9, [usize::MAX, 1])).contains("result c"));
    let batched = |strides: &'static [usize], length: usize| {
        let mut c = vec![0.0; length];
        let target = Target::new(&mut c, [2, 1]).batched(strides);
        let (a, b) = (Operand::new(&[1.0; 6], [3, 1]).batched(&[0]), Operand::new(&[1.0; 6], [2, 1]).batched(&[0]));
        products(&[2], [2, 3, 2], a, b, target, Accumulate::Overwrite, &Pool::new(1));
    };
    batched(&[4], 8);
    assert!(refusal(move || batched(&[4], 7)).contains("result c"));
    assert!(refusal(move || batched(&[3], 8)).contains("same place"));
    assert!(refusal(move || batched(&[], 8)).contains("batch strides"));
    assert!(refusal(move || batched(&[4, 8], 8)).contains("batch strides"));
}
