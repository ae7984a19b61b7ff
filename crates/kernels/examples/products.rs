//! The speed of products by shape, layout and number of threads, in GFLOP/s:
//! `cargo run --release -p wengert-kernels --features gemm --example products`.
//!
//! `ab` means two operands in order, `a'` one that lies transposed. A word after the command keeps
//! the lines that contain it.

use std::any::type_name;
use std::time::Instant;
use wengert_kernels::Pool;
use wengert_kernels::product::{Accumulate, Operand, Product, Target, product};

/// m, k and n.
const SHAPES: [[usize; 3]; 21] = [
    [4, 4, 4],
    [8, 8, 8],
    [16, 16, 16],
    [32, 64, 10],
    [32, 32, 32],
    [32, 64, 64],
    [48, 48, 48],
    [64, 64, 64],
    [80, 80, 80],
    [128, 128, 32],
    [128, 128, 128],
    [1000, 64, 64],
    [200, 2000, 200],
    [1024, 128, 512],
    [128, 784, 512],
    [512, 512, 512],
    [1024, 1024, 1024],
    [1000, 1000, 1],
    [1, 1000, 1000],
    [4000, 4000, 1],
    [1, 4000, 4000],
];

/// The layouts of both operands.
const LAYOUTS: [(&str, [bool; 2]); 4] =
    [("ab", [false, false]), ("a'b", [true, false]), ("ab'", [false, true]), ("a'b'", [true, true])];

/// The best of seven times of a product, in seconds.
fn best_time<T: Product + From<u8>>([m, k, n]: [usize; 3], transposed: [bool; 2], pool: &Pool) -> f64 {
    let matrix = |count: usize| (0..count).map(|i| T::from((i % 5) as u8)).collect::<Vec<T>>();
    let (a, b, mut c) = (matrix(m * k), matrix(k * n), matrix(m * n));
    let strides = |transposed, rows, columns| if transposed { [1, rows as isize] } else { [columns as isize, 1] };
    let (a_strides, b_strides) = (strides(transposed[0], m, k), strides(transposed[1], k, n));
    let rounds = (20_000_000 / (m * k * n + 1000)).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let begun = Instant::now();
        for _ in 0..rounds {
            let (a, b) = (Operand::new(&a, a_strides), Operand::new(&b, b_strides));
            product([m, k, n], a, b, Target::new(&mut c, [n, 1]), Accumulate::Overwrite, pool);
        }
        best = best.min(begun.elapsed().as_secs_f64() / rounds as f64);
    }
    best
}

#[expect(clippy::print_stdout, reason = "printing is what the example is for")]
fn measure<T: Product + From<u8>>(pools: &[Pool], wanted: &str) {
    for dims in SHAPES {
        for (layout, transposed) in LAYOUTS {
            let [m, k, n] = dims;
            let name = format!("{} {m}x{k}x{n} {layout}", type_name::<T>());
            if !name.contains(wanted) {
                continue;
            }
            print!("{name:26}");
            for pool in pools {
                let rate = 2e-9 * (m * k * n) as f64 / best_time::<T>(dims, transposed, pool);
                print!("  {rate:8.2}");
            }
            println!();
        }
    }
}

#[expect(clippy::print_stdout, reason = "printing is what the example is for")]
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let pools = [1, 2].map(Pool::new);
    println!("GFLOP/s on 1 and 2 threads");
    measure::<f32>(&pools, &wanted);
    measure::<f64>(&pools, &wanted);
}
