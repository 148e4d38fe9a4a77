//! The program of the target `compression`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(compression);
