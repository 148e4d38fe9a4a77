//! Pages over HTTP, and metrics as they are read.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;

/// Status and body of a page.
pub(crate) fn get(proxy: &Proxy, path: &str) -> (u16, String) {
    let answer = send(
        proxy,
        &format!("GET {path} HTTP/1.1\r\nHost: proxy\r\n\r\n"),
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let len = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    assert_eq!(len.unwrap().parse::<usize>().unwrap(), body.len());
    (status(head), body.to_owned())
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The whole answer to these bytes.
pub(crate) fn send(proxy: &Proxy, request: &str) -> String {
    let Some(Address::Tcp(address)) = proxy.metrics_address() else {
        panic!("metrics are not listened for over TCP");
    };
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Metrics by name and labels, as they are written. Every line is one of the format's.
pub(crate) struct Metrics {
    values: BTreeMap<String, f64>,
    kinds: BTreeMap<String, String>,
}

impl Metrics {
    pub(crate) fn of(proxy: &Proxy) -> Self {
        let (status, body) = get(proxy, "/metrics");
        assert_eq!(status, 200);
        Self::parse(&body)
    }

    fn parse(body: &str) -> Self {
        let mut metrics = Self {
            values: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        let mut helped = None;
        for line in body.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, text) = help.split_once(' ').unwrap();
                assert!(
                    text.len() > 20 && text.ends_with('.'),
                    "a help that teaches: {line}"
                );
                helped = Some(name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert_eq!(helped.as_deref(), Some(name), "each has its help in front");
                let before = metrics.kinds.insert(name.to_owned(), kind.to_owned());
                assert_eq!(before, None, "all of {name} are in one place");
            } else {
                metrics.read(line, helped.as_deref().unwrap());
            }
        }
        metrics
    }

    fn read(&mut self, line: &str, family: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(legal), "{line}");
        let kind = self.kinds[family].as_str();
        let suffix = name.strip_prefix(family).unwrap();
        match kind {
            "histogram" => assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}"),
            "counter" => assert!(suffix.is_empty() && name.ends_with("_total"), "{line}"),
            "gauge" => assert!(suffix.is_empty() && !name.ends_with("_total"), "{line}"),
            other => panic!("a kind of {other}"),
        }
        if let Some(labels) = series
            .strip_prefix(name)
            .filter(|labels| !labels.is_empty())
        {
            assert!(labels.starts_with('{') && labels.ends_with("\"}"), "{line}");
        }
        let before = self
            .values
            .insert(series.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "{series} is there once");
    }

    /// Names of all, histograms under the one that they have in common.
    pub(crate) fn families(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str)
    }

    /// The value of one series.
    pub(crate) fn value(&self, series: &str) -> f64 {
        *self
            .values
            .get(series)
            .unwrap_or_else(|| panic!("no {series} among {:#?}", self.values.keys()))
    }

    /// All whose name begins so.
    pub(crate) fn all(&self, start: &str) -> impl Iterator<Item = (&String, f64)> {
        self.values
            .iter()
            .filter(move |(series, _)| series.starts_with(start))
            .map(|(series, &value)| (series, value))
    }
}
