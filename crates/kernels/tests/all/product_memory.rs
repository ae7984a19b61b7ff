//! What products allocate, counted: the planner's bound holds, and most products allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use wengert_kernels::Pool;
use wengert_kernels::product::{Accumulate, Operand, Product, Target, product, symmetric, workspace};

/// Counts the bytes that each thread holds, and the most it has held.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    HELD.set(HELD.get() + bytes);
    MOST.set(MOST.get().max(HELD.get()));
    CALLS.set(CALLS.get() + usize::from(bytes > 0));
}

// SAFETY: it is the system's allocator; the counting allocates nothing. Every test of this file.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The strides of the three matrices, transposed or not.
fn strides([m, k, n]: [usize; 3], transposed: [bool; 3]) -> [[isize; 2]; 3] {
    let sides = [[m, k], [k, n], [m, n]].map(|pair| pair.map(usize::cast_signed));
    [0, 1, 2].map(|matrix| if transposed[matrix] { [1, sides[matrix][0]] } else { [sides[matrix][1], 1] })
}

/// Allocations and peak bytes of one product on this thread, with the operands transposed or not; of half of it.
fn allocated<T: Product + From<u8>>([m, k, n]: [usize; 3], transposed: [bool; 3], half: bool) -> (usize, usize) {
    let pool = Pool::new(1);
    let [a, b] = [m * k, k * n].map(|count| vec![T::from(1); count]);
    let mut c = vec![T::from(0); m * n];
    let [a_strides, b_strides, c_strides] = strides([m, k, n], transposed);
    let before = HELD.get();
    MOST.set(before);
    CALLS.set(0);
    let (a, b) = (Operand::new(&a, a_strides), Operand::new(&b, b_strides));
    let target = Target::new(&mut c, c_strides.map(isize::cast_unsigned));
    match half {
        true => symmetric(&[], [m, k], a, b, target, &pool),
        false => product([m, k, n], a, b, target, Accumulate::Overwrite, &pool),
    }
    (CALLS.get(), (MOST.get() - before).cast_unsigned())
}

/// Every combination of transpositions.
fn layouts() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|bits| [0, 1, 2].map(|bit| bits >> bit & 1 == 1))
}

fn check_bound<T: Product + From<u8>>() {
    let (mut largest_share, mut least_share) = (0.0_f64, 1.0_f64);
    let in_rows = strides([700, 700, 700], [false; 3]);
    let has_library = workspace::<T>([700, 700, 700], in_rows, false, 1).bytes() > 0;
    for dims in [
        [70, 70, 70],
        [64, 2000, 64],
        [200, 2000, 200],
        [128, 784, 512],
        [1024, 128, 512],
        [3000, 100, 40],
        [40, 100, 3000],
        [700, 700, 700],
    ] {
        for layout in layouts() {
            // The first call of a thread makes its slab, so each has a thread of its own.
            let peak = |half| std::thread::spawn(move || allocated::<T>(dims, layout, half).1).join().unwrap();
            let workspace = |half, threads| workspace::<T>(dims, strides(dims, layout), half, threads).bytes();
            let (peak_of_all, bound) = (peak(false), workspace(false, 1));
            assert!(peak_of_all <= bound, "{dims:?} {layout:?}: {peak_of_all} bytes, and the bound is {bound}");
            if dims[0] == dims[2] {
                let (peak, bound) = (peak(true), workspace(true, 1));
                assert!(peak <= bound, "half of {dims:?} {layout:?}: {peak} bytes, and the bound is {bound}");
            }
            // Of as many tiles as there may be, every thread has its own.
            assert_eq!(workspace(false, 24), 3 * workspace(false, 8));
            if bound > 0 {
                let share = peak_of_all as f64 / bound as f64;
                (largest_share, least_share) = (largest_share.max(share), least_share.min(share));
            }
        }
    }
    // A bound that is never nearly reached would be a bad one for a planner. Without the library it is nothing, exactly.
    assert!(largest_share > 0.9 || !has_library, "{largest_share}");
    assert!(least_share > 0.1 || !has_library, "{least_share}");
}

#[test]
fn the_bound_holds() {
    // The library reads what the machine's caches are, once.
    allocated::<f32>([200, 200, 200], [false; 3], false);
    check_bound::<f32>();
    check_bound::<f64>();
}

#[test]
fn small_products_and_vectors_allocate_nothing() {
    // The level is read once, and the caches.
    allocated::<f64>([200, 200, 200], [true; 3], false);
    for dims in [[8, 8, 8], [20, 20, 20], [1, 500, 500], [500, 500, 1], [1, 1, 1], [5, 0, 7]] {
        for layout in layouts() {
            assert_eq!(allocated::<f64>(dims, layout, false), (0, 0), "{dims:?} {layout:?}");
            assert_eq!(allocated::<f32>(dims, layout, false), (0, 0), "{dims:?} {layout:?}");
        }
        assert_eq!(workspace::<f32>(dims, strides(dims, [true; 3]), false, 2).bytes(), 0);
    }
    // In order more is done in place; integers always are.
    assert_eq!(allocated::<f32>([128, 128, 128], [false; 3], false), (0, 0));
    assert_eq!(workspace::<i64>([300, 300, 300], strides([300, 300, 300], [true; 3]), false, 2).bytes(), 0);
}
