//! The program of the target `binary_rows`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(binary_rows);
