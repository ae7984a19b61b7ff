//! Jacobians by structural seeds.
