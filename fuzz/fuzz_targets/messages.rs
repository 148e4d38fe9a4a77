//! The program of the target `messages`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(messages);
