"""Completions in the shells themselves, and manual pages before mandoc."""
import pathlib, subprocess, tempfile

import project
from project import BINARY
from tests.service import expect

# mandoc knows that a page may have no date, and wants no line break beside a space; clap_mangen writes both.
ACCEPTED = ("missing date", "skipping paragraph macro")


def test():
    for shell in ["fish", "zsh", "mandoc"]:
        project.need(shell, shell)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        fish(folder)
        zsh(folder)
        pages(folder)


def fish(folder):
    script = folder / "onecopy.fish"
    script.write_bytes(project.run([BINARY, "completions", "fish"]))
    for typed, completed in {"onecopy pro": "proxy", "onecopy bench cl": "client", "onecopy proxy --print": "--print-config"}.items():
        said = project.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{typed}'"], env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
        expect(said.decode().split()[:1] == [completed], f"fish completes `{typed}` with {said.decode()}")


def zsh(folder):
    """The function is found by its file's name, and knows the command."""
    (folder / "_onecopy").write_bytes(project.run([BINARY, "completions", "zsh"]))
    line = "fpath=($1 $fpath); autoload -U compinit; compinit -D -u; print $_comps[onecopy]; autoload +X _onecopy && whence -w _onecopy"
    said = project.run(["zsh", "-f", "-c", line, "zsh", folder]).decode()
    expect(said.split("\n")[:2] == ["_onecopy", "_onecopy: function"], f"zsh says {said}")


def pages(folder):
    project.run([BINARY, "man", "--out", folder])
    for page in sorted(folder.glob("*.1")):
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE, text=True).stdout
        wrong = [line for line in said.splitlines() if not any(words in line for words in ACCEPTED)]
        expect(not wrong, f"mandoc: {wrong[:3]}")
