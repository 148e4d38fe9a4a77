//! The program of the target `round_trip`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(round_trip);
