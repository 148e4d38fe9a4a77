//! Test servers and scripted peers for onecopy's own tests.
