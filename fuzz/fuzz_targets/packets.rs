//! The program of the target `packets`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(packets);
