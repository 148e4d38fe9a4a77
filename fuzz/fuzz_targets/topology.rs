//! The program of the target `topology`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(topology);
