//! A request's first line, and where the request ends.

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) path: Path,
    /// `GET`; `HEAD` wants the answer without its body.
    pub(super) has_body: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Metrics,
    Live,
    Health,
    Ready,
    Other,
    /// Whatever its path is.
    OtherMethod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestError {
    Bad,
    TooLarge,
}

/// The request, once all of it has arrived.
pub(super) fn take(bytes: &[u8]) -> Result<Option<Request>, RequestError> {
    let ends = |end: &[u8]| bytes.windows(end.len()).any(|window| window == end);
    match ends(b"\r\n\r\n") || ends(b"\n\n") {
        true => read(bytes).map(Some),
        false => Ok(None),
    }
}

/// Reads `GET /metrics?name HTTP/1.1`; what the headers say changes nothing.
fn read(bytes: &[u8]) -> Result<Request, RequestError> {
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = str::from_utf8(line).map_err(|_| RequestError::Bad)?;
    let mut words = line.trim_end_matches('\r').split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(RequestError::Bad);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(RequestError::Bad);
    }
    let path = match target.split('?').next() {
        _ if method != "GET" && method != "HEAD" => Path::OtherMethod,
        Some("/metrics") => Path::Metrics,
        Some("/live") => Path::Live,
        Some("/health") => Path::Health,
        Some("/ready") => Path::Ready,
        _ => Path::Other,
    };
    Ok(Request {
        path,
        has_body: method != "HEAD",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_what_is_asked_for() {
        for (line, path, has_body) in [
            ("GET /metrics HTTP/1.1", Path::Metrics, true),
            ("GET /metrics?all HTTP/1.0", Path::Metrics, true),
            ("GET /live HTTP/1.1", Path::Live, true),
            ("HEAD /health HTTP/1.1", Path::Health, false),
            ("GET /ready HTTP/1.1", Path::Ready, true),
            ("GET / HTTP/1.1", Path::Other, true),
            ("POST /metrics HTTP/1.1", Path::OtherMethod, true),
        ] {
            for end in ["\r\n\r\n", "\n\n", "\r\nHost: a\r\n\r\n"] {
                let request = read(format!("{line}{end}").as_bytes());
                assert_eq!(request, Ok(Request { path, has_body }), "{line}");
            }
        }
        for line in [
            "",
            "GET",
            "GET /metrics",
            "GET /metrics HTTP/2",
            "A B C D",
            "\u{0}",
        ] {
            assert_eq!(
                read(format!("{line}\r\n\r\n").as_bytes()),
                Err(RequestError::Bad),
                "{line}"
            );
        }
    }
}
