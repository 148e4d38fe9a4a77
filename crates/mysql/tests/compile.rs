//! What the derives say at compile time where they are used wrongly. `TRYBUILD=overwrite` writes the expected texts again.
//!
//! Few files: each is compiled by itself.

#[test]
fn wrong_uses_of_the_derives_are_errors_that_say_what_to_write() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile/attributes.rs");
    cases.compile_fail("tests/compile/borrowed.rs");
    cases.compile_fail("tests/compile/types.rs");
}
