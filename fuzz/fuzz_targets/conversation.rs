//! The program of the target `conversation`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(conversation);
