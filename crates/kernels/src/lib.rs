//! SIMD loops and vector mathematics; knows slices, not programs.
