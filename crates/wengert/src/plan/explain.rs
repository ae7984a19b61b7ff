//! What a plan does, for people.
