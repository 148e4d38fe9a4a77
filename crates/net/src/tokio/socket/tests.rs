use super::*;

/// What a call of `wanted` bytes gives that has `result`, and what is reported to the runtime.
fn attempted(
    wanted: usize,
    result: io::Result<usize>,
) -> (io::Result<Option<usize>>, io::Result<usize>) {
    let mut result = Some(result);
    let mut told = None;
    let given = attempt(
        |_, call| {
            let done = call();
            told = Some(match &done {
                Ok(n) => Ok(*n),
                Err(error) => Err(error.kind().into()),
            });
            done
        },
        Interest::READABLE,
        wanted,
        &mut || result.take().unwrap(),
    );
    (given, told.unwrap())
}

/// The runtime must wait for the next event behind a short call, and only behind that.
#[test]
fn a_short_call_clears_the_readiness_and_keeps_its_bytes() {
    let (given, told) = attempted(10, Ok(3));
    assert_eq!(given.unwrap(), Some(3));
    assert_eq!(told.unwrap_err().kind(), ErrorKind::WouldBlock);
    for n in [0, 10] {
        let (given, told) = attempted(10, Ok(n));
        assert_eq!(given.unwrap(), Some(n));
        assert_eq!(told.unwrap(), n);
    }
}

#[test]
fn a_call_that_would_block_or_was_interrupted_is_made_again_and_others_fail() {
    for kind in [ErrorKind::WouldBlock, ErrorKind::Interrupted] {
        let (given, told) = attempted(10, Err(kind.into()));
        assert_eq!(given.unwrap(), None);
        assert_eq!(told.unwrap_err().kind(), kind);
    }
    let (given, _) = attempted(10, Err(ErrorKind::ConnectionReset.into()));
    assert_eq!(given.unwrap_err().kind(), ErrorKind::ConnectionReset);
}
