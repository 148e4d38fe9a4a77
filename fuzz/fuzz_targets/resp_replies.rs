//! The program of the target `resp_replies`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(resp_replies);
