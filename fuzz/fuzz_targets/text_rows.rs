//! The program of the target `text_rows`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(text_rows);
