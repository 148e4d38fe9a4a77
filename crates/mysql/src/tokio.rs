//! tokio face
