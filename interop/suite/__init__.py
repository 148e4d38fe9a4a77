"""Test suites of other projects: one module for each, and what they share.

A module has
  NAME         the suite's name on the command line and in the table
  AT_LEAST     tests that pass directly wherever it runs; fewer say that it did not run as it should
  CLIENTS      what its driver can do: "clear", "tls", "zlib", "unix"
  fetch()      fetches and builds it, while there is a network
  prepare(server)         makes the databases and accounts that it wants
  run(server, place)      runs it and returns {test: verdict}, and what it said
"""
import collections, re

PASS, FAIL, SKIP = "pass", "fail", "skip"

# How a driver connects: to a port of 127.0.0.1 or to a socket, and what it does there ("clear", "tls", "zlib" or "unix").
Place = collections.namedtuple("Place", "port socket client")

# What the driver does, what is between the proxy and the server, and whether clients share connections.
Mode = collections.namedtuple("Mode", "client behind sharing", defaults=["pass"])
MODES = {
    "tcp": Mode("clear", "clear"),
    "unix": Mode("unix", "unix"),
    "tls": Mode("tls", "clear"),
    "tls-behind": Mode("clear", "tls"),
    "tls-both": Mode("tls", "tls"),
    "zlib": Mode("zlib", "clear"),
    "zlib-behind": Mode("clear", "zlib"),
    "zlib-both": Mode("zlib", "zlib"),
    "pooled": Mode("clear", "clear", "transaction"),
    "pooled-tls": Mode("tls", "clear", "transaction"),
    "pooled-session": Mode("clear", "clear", "session"),
}


def verdicts(pattern, text, words):
    """{test: verdict} by a pattern with the groups `name` and `word`; the last line counts where a test has several."""
    return {found["name"]: words[found["word"]] for found in re.finditer(pattern, text, re.M)}
