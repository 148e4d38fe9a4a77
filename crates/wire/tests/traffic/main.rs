//! Whole conversations through the public interface: nothing is lost, moved without need, or kept.

mod ordinary;
mod peer;
mod property;
mod reader;
