//! The program of the target `ok`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(ok);
