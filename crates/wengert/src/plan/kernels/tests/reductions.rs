//! Reductions: against the definition, and how much they lose.

use super::*;

#[test]
fn reductions_agree_at_random_shapes() {
    let (pools, mut random) = (pools(), Random(4));
    for round in 0..400 {
        let rank = round % 6;
        let shape = random.shape(rank);
        let axes: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
        let dtype = DType::ALL[(round / 6) % 4];
        let x = random.array(dtype, &shape);
        for reducer in Reducer::ALL {
            let op = primitives::Reduce::new(reducer, &axes);
            if op.infer(&[x.ty()]).is_ok() {
                check(&op.into(), std::slice::from_ref(&x), &pools);
            }
        }
        if rank > 0 {
            let axis = random.below(rank);
            for extreme in [Extreme::Max, Extreme::Min] {
                let op = primitives::ArgReduce { extreme, axis };
                if op.infer(&[x.ty()]).is_ok() {
                    check(&op.into(), std::slice::from_ref(&x), &pools);
                }
            }
            for descending in [false, true] {
                check(&primitives::ArgSort::new(axis, descending).into(), std::slice::from_ref(&x), &pools);
            }
        }
    }
}

#[test]
fn long_reductions_agree() {
    let (pools, mut random) = (pools(), Random(5));
    let cases: [(&[usize], &[usize]); 5] = [
        (&[200_003], &[0]),
        (&[3, 70_001], &[1]),
        (&[70_001, 3], &[0]),
        (&[20_000, 2, 5], &[0, 2]),
        (&[40, 9_000], &[]),
    ];
    for (shape, axes) in cases {
        for dtype in DType::ALL {
            let x = random.array(dtype, shape);
            for reducer in Reducer::ALL {
                let op = primitives::Reduce::new(reducer, axes);
                if op.infer(&[x.ty()]).is_ok() {
                    check(&op.into(), std::slice::from_ref(&x), &pools);
                }
            }
        }
    }
}

#[test]
fn sums_lose_far_less_than_one_after_the_other() {
    let (pools, mut random) = (pools(), Random(6));
    for (shape, axes) in [(vec![300_007], vec![0]), (vec![100_003, 2], vec![0]), (vec![7, 40_009], vec![1])] {
        // Multiples of 2^-40 below 1: their sums are whole numbers of that unit, and exact as such.
        let units: Vec<i64> = (0..shape.iter().product()).map(|_| (random.next() >> 24) as i64).collect();
        let x: Vec<f64> = units.iter().map(|&unit| unit as f64 * 0.5f64.powi(40)).collect();
        let op: Op = primitives::Reduce::new(Reducer::Sum, &axes).into();
        let exact = op.eval(&[&Array::new(&shape, units)]).expect("it adds");
        let exact = exact[0].elements::<i64>().expect("integers");
        for pool in &pools {
            let found = computed(&op, &[&Array::new(&shape, x.clone())], pool).expect("it adds");
            for (found, &exact) in found[0].to_f64().iter().zip(exact) {
                let error = (found * 2f64.powi(40) - exact as f64).abs() / exact as f64;
                assert!(error < 16.0 * f64::EPSILON, "{} eps", error / f64::EPSILON);
            }
        }
        let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let exact: f64 = single.iter().map(|&x| f64::from(x)).sum();
        let whole: Op = primitives::Reduce::new(Reducer::Sum, &(0..shape.len()).collect::<Vec<_>>()).into();
        let found = computed(&whole, &[&Array::new(&shape, single)], &pools[1]).expect("it adds")[0].to_f64()[0];
        assert!((found - exact).abs() <= 0.5001 * f64::from(f32::EPSILON) * exact, "{found} is not {exact}");
    }
}
