//! The program of the target `resp_conversation`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(resp_conversation);
