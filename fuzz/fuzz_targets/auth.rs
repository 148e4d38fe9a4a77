//! The program of the target `auth`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(auth);
