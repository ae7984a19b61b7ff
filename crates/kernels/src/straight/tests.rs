//! Code against its definition, and what is refused.

use super::*;
use crate::Float;

/// Numbers that are the same in every run (a linear congruential generator with the constants of D. E. Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    /// Between -2 and 2, now and then a special number.
    fn number(&mut self) -> f64 {
        match self.below(12) {
            0 => self.pick(&[0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
            _ => self.below(1 << 20) as f64 / f64::from(1u32 << 18) - 2.0,
        }
    }
}

const PAIRS: [Pair; 8] =
    [Pair::MulAdd, Pair::MulSub, Pair::SubMul, Pair::AddMul, Pair::SubTimes, Pair::MulMul, Pair::AddAdd, Pair::Fused];
const COMPARES: [Compare; 7] =
    [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Unordered];

/// The functions that are called: those of the vector loops, so that one point and many have the same bits.
const CALLS: [Function; 16] = [
    Function::One(Call1(|_, x| Float::exp(x)), 0),
    Function::One(Call1(|_, x| Float::tanh(x)), 0),
    Function::One(Call1(|_, x| Float::sech2(x)), 0),
    Function::One(Call1(|_, x| Float::sin(x)), 0),
    Function::One(Call1(|_, x| Float::cos(x)), 0),
    Function::One(Call1(|number, x| x + number as f64), 7),
    Function::Two(Call2(|_, x, y| Float::atan2(x, y)), 0),
    Function::Two(Call2(|number, x, y| x * y - number as f64), 3),
    Function::Many1(Unary::Tanh),
    Function::Many1(Unary::Sech2),
    Function::Many1(Unary::Sin),
    Function::Many1(Unary::Cos),
    Function::Many2(Binary::Atan2),
    Function::Power(-3),
    Function::Many1(Unary::GeluTanh),
    Function::Many1(Unary::GeluTanhSlope),
];

/// A random instruction and the number of its function.
fn random_op(random: &mut Random) -> (Op, u32) {
    let plain = [
        Op::Copy,
        Op::Neg,
        Op::Abs,
        Op::Square,
        Op::Sqrt,
        Op::Recip,
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Div,
        Op::Max,
        Op::Min,
    ];
    match random.below(8) {
        0 => (Op::Pair(random.pick(&PAIRS)), u32::MAX),
        1 => (Op::Compare(random.pick(&COMPARES)), u32::MAX),
        2 => (Op::Select, u32::MAX),
        3 => random.pick(&[
            (Op::Unary(Unary::Exp), 0),
            (Op::Unary(Unary::Tanh), 1),
            (Op::Unary(Unary::Sin), 3),
            (Op::Twin(Twin::TanhSech2), 1),
            (Op::Twin(Twin::SinCos), 3),
            (Op::Call1, 5),
            (Op::Unary(Unary::Tanh), 8),
            (Op::Unary(Unary::Cos), 11),
            (Op::Twin(Twin::TanhSech2), 8),
            (Op::Twin(Twin::SinCos), 10),
            (Op::Twin(Twin::GeluTanh), 14),
            (Op::Call1, 13),
        ]),
        4 => random.pick(&[(Op::Binary(Binary::Atan2), 6), (Op::Call2, 7), (Op::Binary(Binary::Atan2), 12)]),
        _ => (random.pick(&plain), u32::MAX),
    }
}

/// Random code: every place may be written and read again, also where an operand lies.
fn random_parts(random: &mut Random) -> Parts {
    let (inputs, constants) = (random.below(5), random.below(3));
    let constants: Vec<f64> = (0..constants).map(|_| random.number()).collect();
    let (given, free) = (inputs + constants.len(), 6);
    let (results, places) = (1 + random.below(3), given + free);
    let mut parts =
        Parts { inputs, constants, results_at: given, results, places, calls: CALLS.to_vec(), code: Vec::new() };
    let mut computed: Vec<u32> = (0..given as u32).collect();
    if given == 0 {
        parts.constants = vec![0.5];
        parts.places += 1;
        parts.results_at = 1;
        computed = vec![0];
    }
    let first = parts.inputs + parts.constants.len();
    let mut wanted: Vec<u32> = (first as u32..(first + results) as u32).collect();
    // Conditions are numbers of their own: what is selected by is one.
    let mut conditions: Vec<u32> = Vec::new();
    for k in 0..14 + results {
        if k % 5 == 3 && random.below(3) == 0 {
            let (a, b) = (random.pick(&computed), random.pick(&computed));
            let op = Op::Guard(random.pick(&COMPARES), random.below(2) == 0);
            parts.code.push(Instr { op, a, b, c: a, out: a });
        }
        let (mut op, call) = random_op(random);
        let mut operand = || random.pick(&computed);
        let (mut a, mut b, mut c) = (operand(), operand(), operand());
        if op == Op::Select && !conditions.is_empty() {
            a = random.pick(&conditions);
        } else if op == Op::Select || conditions.len() > 1 && random.below(4) == 0 {
            op = Op::Sub;
            if conditions.len() > 1 {
                op = random.pick(&[Op::And, Op::Or, Op::Xor, Op::Not]);
                (a, b) = (random.pick(&conditions), random.pick(&conditions));
            }
        }
        let outs: Vec<u32> = (first as u32..parts.places as u32).collect();
        let mut out = if k < 14 { random.pick(&outs) } else { wanted.pop().unwrap_or(first as u32) };
        while !op.is_in_place() && (out == a || out == b) {
            (a, b) = (random.pick(&computed[..1]), random.pick(&computed[..1]));
            out = if out == a { random.pick(&outs[1..]) } else { out };
        }
        if matches!(op, Op::Twin(_)) {
            b = outs.iter().copied().find(|&place| place != out && place != a).expect("there are six");
        }
        if call != u32::MAX && !op.is_in_place() {
            c = call;
        }
        parts.code.push(Instr { op, a, b, c, out });
        let mut written = vec![out];
        if matches!(op, Op::Twin(_)) {
            written.push(b);
        }
        conditions.retain(|place| !written.contains(place));
        if matches!(op, Op::Compare(_) | Op::And | Op::Or | Op::Xor | Op::Not) {
            conditions.push(out);
        }
        computed.extend(written.iter().filter(|place| !computed.contains(place)).copied().collect::<Vec<u32>>());
    }
    parts
}

/// What code means, instruction by instruction.
fn define(parts: &Parts, point: &[f64]) -> Option<Vec<f64>> {
    let mut places = vec![f64::NAN; parts.places];
    places[..parts.inputs].copy_from_slice(point);
    places[parts.inputs..parts.inputs + parts.constants.len()].copy_from_slice(&parts.constants);
    let holds = |op: Compare, x: f64, y: f64| match op {
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
        Compare::Unordered => x.is_nan() || y.is_nan(),
    };
    let of = |truth: bool| if truth { 1.0 } else { 0.0 };
    for instr in &parts.code {
        let get = |place: u32| places.get(place as usize).copied().unwrap_or(f64::NAN);
        let (x, y, z) = (get(instr.a), get(instr.b), get(instr.c));
        let call = |number: u32| match parts.calls[number as usize] {
            Function::One(f, which) => f.0(which, x),
            Function::Two(f, which) => f.0(which, x, y),
            Function::Many1(Unary::Tanh) => Float::tanh(x),
            Function::Many1(Unary::Sech2) => Float::sech2(x),
            Function::Many1(Unary::Sin) => Float::sin(x),
            Function::Many1(Unary::Cos) => Float::cos(x),
            Function::Many1(Unary::GeluTanh) => Float::gelu_tanh(x),
            Function::Many1(Unary::GeluTanhSlope) => Float::gelu_tanh_slope(x),
            Function::Many2(Binary::Atan2) => Float::atan2(x, y),
            Function::Power(-3) => 1.0 / (x * x * x),
            other => unreachable!("{other:?} is not among the functions"),
        };
        let value = match instr.op {
            Op::Copy => x,
            Op::Neg => -x,
            Op::Abs => x.abs(),
            Op::Square => x * x,
            Op::Sqrt => x.sqrt(),
            Op::Recip => x.recip(),
            Op::Add => x + y,
            Op::Sub => x - y,
            Op::Mul => x * y,
            Op::Div => x / y,
            Op::Max => Float::max(x, y),
            Op::Min => Float::min(x, y),
            Op::Pair(pair) => match pair {
                Pair::MulAdd => x * y + z,
                Pair::MulSub => x * y - z,
                Pair::SubMul => z - x * y,
                Pair::AddMul => (x + y) * z,
                Pair::SubTimes => (x - y) * z,
                Pair::MulMul => x * y * z,
                Pair::AddAdd => x + y + z,
                Pair::Fused if is_fused() => x.mul_add(y, z),
                Pair::Fused => x * y + z,
            },
            Op::Compare(op) => of(holds(op, x, y)),
            Op::And => of(x == 1.0 && y == 1.0),
            Op::Or => of(x == 1.0 || y == 1.0),
            Op::Xor => of(x != y),
            Op::Not => of(x != 1.0),
            Op::Select => {
                if x == 1.0 {
                    y
                } else {
                    z
                }
            }
            Op::Guard(op, expected) => {
                if holds(op, x, y) != expected {
                    return None;
                }
                continue;
            }
            Op::Unary(_) | Op::Binary(_) | Op::Call1 | Op::Call2 => call(instr.c),
            Op::Twin(_) => {
                let (first, second) = (call(instr.c), call(instr.c + 1));
                places[instr.b as usize] = second;
                first
            }
        };
        places[instr.out as usize] = value;
    }
    Some(places[parts.results_at..parts.results_at + parts.results].to_vec())
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    // One NaN is as good as another.
    numbers.iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect()
}

#[test]
fn one_point_and_many_agree_with_the_definition() {
    let mut random = Random(11);
    let mut memory = Workspace::default();
    let pools = [1, 2, 3].map(Pool::new);
    let (mut flipped, mut guarded) = (0, 0);
    for number in 0..300 {
        let parts = random_parts(&mut random);
        let code = Code::new(parts.clone()).unwrap_or_else(|invalid| panic!("{invalid}: {parts:?}"));
        // As code that has too many places to be packed.
        let unpacked = Code { words: Vec::new(), ..code.clone() };
        let count = [0, 1, 7, 8, 9, 255, 256, 257, 1000][number % 9];
        let points: Vec<f64> = (0..count * parts.inputs).map(|_| random.number()).collect();
        let point = |k: usize| &points[k * parts.inputs..(k + 1) * parts.inputs];
        let wanted: Vec<Option<Vec<f64>>> = (0..count).map(|k| define(&parts, point(k))).collect();
        for (k, wanted) in wanted.iter().enumerate().take(20) {
            let wanted = wanted.as_deref().map(bits);
            assert_eq!(code.run_one(&mut memory, point(k)).map(bits), wanted, "one point, {:?}: {parts:?}", point(k));
            assert_eq!(
                unpacked.run_one(&mut memory, point(k)).map(bits),
                wanted,
                "unpacked, {:?}: {parts:?}",
                point(k)
            );
        }
        for pool in &pools {
            let mut rows = vec![0.0; count * (parts.results + 1)];
            code.run_many(&mut memory, &points, &mut rows, pool);
            for (k, (row, wanted)) in rows.chunks_exact(parts.results + 1).zip(&wanted).enumerate() {
                let (row, failed) = row.split_at(parts.results);
                assert_eq!(failed == [0.0], wanted.is_some(), "whether {:?} is valid: {parts:?}", point(k));
                if let Some(wanted) = wanted {
                    assert_eq!(bits(row), bits(wanted), "point {k} of {count}, {:?}: {parts:?}", point(k));
                }
            }
        }
        guarded += wanted.iter().filter(|wanted| wanted.is_some()).count();
        flipped += wanted.iter().filter(|wanted| wanted.is_none()).count();
    }
    assert!(flipped > 1000 && guarded > 1000, "{flipped} {guarded}");
}

/// The functions of many, each of one point at a time and of many.
#[test]
fn functions_of_many_have_the_same_bits_at_one_point() {
    use Unary::*;
    let unary = [
        Sign,
        Rsqrt,
        Relu,
        Floor,
        Ceil,
        Round,
        Trunc,
        Cbrt,
        Exp,
        Exp2,
        Expm1,
        Ln,
        Log2,
        Log10,
        Log1p,
        Sin,
        Cos,
        Tan,
        Asin,
        Acos,
        Atan,
        Sinh,
        Cosh,
        Tanh,
        Sech2,
        Asinh,
        Acosh,
        Atanh,
        Sigmoid,
        Softplus,
        GeluErf,
        GeluTanh,
        GeluTanhSlope,
        Silu,
        Erf,
        Erfc,
        Erfinv,
    ];
    let binary = [Binary::Pow, Binary::Atan2, Binary::Hypot, Binary::Copysign, Binary::Logaddexp, Binary::Xlogy];
    let one = unary.map(|f| (Op::Unary(f), Function::Many1(f)));
    let two = binary.map(|f| (Op::Binary(f), Function::Many2(f)));
    let mut random = Random(3);
    for (op, function) in one.into_iter().chain(two) {
        let instr = Instr { op, a: 0, b: 1, c: 0, out: 2 };
        let parts =
            Parts { inputs: 2, results_at: 2, results: 1, places: 3, calls: vec![function], ..Parts::default() };
        let code = Code::new(Parts { code: vec![instr], ..parts }).expect("it is safe");
        let unpacked = Code { words: Vec::new(), ..code.clone() };
        let mut points: Vec<f64> = (0..400).map(|_| random.number()).collect();
        points.extend([1e6, 2.0, -3e9, 0.5, 700.0, 1e-300, -1e300, 1e300]);
        let mut rows = vec![0.0; points.len()];
        let mut memory = Workspace::default();
        code.run_many(&mut memory, &points, &mut rows, &Pool::new(1));
        for (point, row) in points.chunks(2).zip(rows.chunks(2)) {
            for code in [&code, &unpacked] {
                let one = code.run_one(&mut memory, point).expect("no guards")[0];
                assert_eq!(bits(&[one]), bits(&row[..1]), "{op:?} of {point:?}: {one} and {}", row[0]);
            }
        }
    }
}

#[test]
fn rows_are_points_again_and_again() {
    let mut random = Random(5);
    for number in 0..200 {
        let mut parts = random_parts(&mut random);
        parts.code.retain(|instr| !matches!(instr.op, Op::Guard(..)));
        let Ok(code) = Code::new(parts.clone()) else { panic!("{parts:?}") };
        let width = [8, 16, 64, 512][number % 4];
        let mut memory = vec![f64::NAN; code.rows_memory(width)];
        code.begin_rows(&mut memory, width);
        for _ in 0..3 {
            let points: Vec<Vec<f64>> =
                (0..width).map(|_| (0..parts.inputs).map(|_| random.number()).collect()).collect();
            for (k, point) in points.iter().enumerate() {
                point.iter().enumerate().for_each(|(place, &x)| memory[place * width + k] = x);
            }
            code.again_rows(&mut memory, width);
            for (k, point) in points.iter().enumerate() {
                let row: Vec<f64> =
                    (parts.results_at..parts.results_at + parts.results).map(|at| memory[at * width + k]).collect();
                assert_eq!(bits(&row), bits(&define(&parts, point).expect("no guards")), "{point:?}: {parts:?}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "rows have no guards")]
fn rows_with_guards_are_refused() {
    let code = vec![
        Instr { op: Op::Guard(Compare::Lt, true), a: 0, b: 0, c: 0, out: 0 },
        Instr { op: Op::Copy, a: 0, b: 0, c: 0, out: 1 },
    ];
    let parts = Parts { inputs: 1, results_at: 1, results: 1, places: 2, code, ..Parts::default() };
    let code = Code::new(parts).expect("it is safe");
    code.begin_rows(&mut [0.0; 32], 8);
}

#[test]
fn large_code_has_narrow_blocks_that_threads_share() {
    // x + 1, x + 2, ...: every number stays, and the last one is the result.
    let links: u32 = 20_000;
    let add = |k: u32| Instr { op: Op::Add, a: if k == 0 { 0 } else { k + 1 }, b: 1, c: 1, out: k + 2 };
    let code = (0..links).map(add).collect();
    let (places, results_at) = (links as usize + 2, links as usize + 1);
    let code =
        Code::new(Parts { inputs: 1, constants: vec![1.0], results_at, results: 1, places, code, ..Parts::default() });
    let code = code.expect("it is safe");
    assert_eq!(code.width(), 8);
    let points: Vec<f64> = (0..1003).map(f64::from).collect();
    for threads in [1, 3] {
        let mut rows = vec![f64::NAN; 2 * points.len()];
        code.run_many(&mut Workspace::default(), &points, &mut rows, &Pool::new(threads));
        assert!(points.iter().zip(rows.chunks(2)).all(|(x, row)| row == [x + f64::from(links), 0.0]), "{threads}");
    }
}

#[test]
fn what_is_not_safe_is_refused() {
    let instr = |op, a, b, c, out| Instr { op, a, b, c, out };
    let parts = |code: Vec<Instr>| Parts {
        inputs: 1,
        constants: vec![2.0],
        results_at: 2,
        results: 1,
        places: 4,
        calls: CALLS.to_vec(),
        code,
    };
    let good = parts(vec![instr(Op::Add, 0, 1, 0, 3), instr(Op::Unary(Unary::Exp), 3, 0, 0, 2)]);
    assert_eq!(Code::new(good.clone()).map(|code| code.parts().clone()), Ok(good.clone()));
    let refused = [
        (parts(vec![]), "has not been computed"),
        (parts(vec![instr(Op::Add, 0, 3, 0, 2)]), "nothing has been computed at 3"),
        (parts(vec![instr(Op::Add, 0, 4, 0, 2)]), "nothing has been computed at 4"),
        (parts(vec![instr(Op::Add, 0, 0, 0, 4)]), "cannot write at 4"),
        (parts(vec![instr(Op::Add, 0, 0, 0, 1)]), "cannot write at 1"),
        (parts(vec![instr(Op::Call1, 0, 0, CALLS.len() as u32, 2)]), "no such function"),
        (parts(vec![instr(Op::Call1, 0, 0, 12, 2)]), "no such function"),
        (parts(vec![instr(Op::Call2, 0, 0, 13, 2)]), "no such function"),
        (parts(vec![instr(Op::Call1, 0, 0, u32::MAX, 2)]), "no such function"),
        (parts(vec![instr(Op::Call1, 0, 0, 6, 2)]), "no such function"),
        (parts(vec![instr(Op::Call2, 0, 0, 0, 2)]), "no such function"),
        (parts(vec![instr(Op::Twin(Twin::SinCos), 0, 3, 5, 2)]), "no such function"),
        (parts(vec![instr(Op::Twin(Twin::SinCos), 0, 2, 3, 2)]), "cannot write at 2"),
        (parts(vec![instr(Op::Twin(Twin::SinCos), 0, 0, 3, 2)]), "where it reads"),
        (parts(vec![instr(Op::Copy, 0, 0, 0, 2), instr(Op::Call1, 2, 0, 0, 2)]), "where it reads"),
        (Parts { places: 1, ..good.clone() }, "given places"),
        (Parts { results: usize::MAX, ..good.clone() }, "more places than memory"),
        (Parts { results: 3, ..good }, "given places"),
    ];
    for (parts, why) in refused {
        let message = Code::new(parts.clone()).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(why), "{message} instead of {why}: {parts:?}");
    }
}
