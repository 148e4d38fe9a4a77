//! The program of the target `greeting`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(greeting);
