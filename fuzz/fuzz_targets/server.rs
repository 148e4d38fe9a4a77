//! The program of the target `server`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(server);
