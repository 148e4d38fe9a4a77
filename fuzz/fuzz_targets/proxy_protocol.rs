//! The program of the target `proxy_protocol`.
#![cfg_attr(fuzzing, no_main)]
onecopy_fuzz::target!(proxy_protocol);
