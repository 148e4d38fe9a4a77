"""Which tests may have another result through the proxy than directly, and why: files in differences/.

A line is `MODES | TEST | REASON`. MODES are patterns with commas between them (`tcp*,zlib*`); ` on SERVER` behind them
limits the line to one server. TEST is a pattern too.
"""
import collections, fnmatch, pathlib

from suite import FAIL, PASS

FOLDER = pathlib.Path(__file__).parent / "differences"
Entry = collections.namedtuple("Entry", "modes server test reason")
# listed: (test, verdicts, reason) of those that differ as they may; unlisted: (test, verdicts) of the others.
Compared = collections.namedtuple("Compared", "listed unlisted")


class Differences:
    def __init__(self, entries):
        self.entries, self.needed = entries, set()

    def of(self, mode, server):
        """Those that hold for a mode on a server."""
        return [entry for entry in self.entries
                if entry.server in [None, server] and any(fnmatch.fnmatchcase(mode, pattern) for pattern in entry.modes)]

    def compare(self, mode, server, direct, through):
        """What passes directly has to pass through the proxy, and what is skipped has to be skipped or pass; what fails directly tells nothing."""
        compared = Compared([], [])
        for test in sorted({*direct, *through}):
            verdicts = direct.get(test, FAIL), through.get(test, "is absent")
            if verdicts[0] in [FAIL, verdicts[1]] or verdicts[1] == PASS:
                continue
            said = f"{verdicts[0]} directly, {verdicts[1]} through the proxy"
            entry = next((entry for entry in self.of(mode, server) if fnmatch.fnmatchcase(test, entry.test)), None)
            if entry:
                self.needed.add(entry)
                compared.listed.append((test, said, entry.reason))
            else:
                compared.unlisted.append((test, said))
        return compared

    def unneeded(self, modes, server):
        """Entries for one of these modes on that server which nothing differed by."""
        return [entry for entry in self.entries if entry not in self.needed and any(entry in self.of(mode, server) for mode in modes)]


def read(name):
    file = FOLDER / f"{name}.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return Differences([entry(line) for line in lines if line.strip() and not line.startswith("#")])


def entry(line):
    where, test, reason = (part.strip() for part in line.split("|", 2))
    modes, _, server = where.partition(" on ")
    return Entry(tuple(modes.split(",")), server or None, test, reason)
