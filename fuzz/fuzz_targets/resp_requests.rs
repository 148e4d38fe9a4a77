//! The program of the target `resp_requests`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(resp_requests);
