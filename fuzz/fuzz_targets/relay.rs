//! The program of the target `relay`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(relay);
