#!/usr/bin/env python3
"""Writes src/command/<family>.rs, src/command/table/entries.rs and tests/minimal_commands/all.rs from the facts in
Valkey's command definitions.

    generate.py DEFINITIONS            writes the files
    generate.py --check DEFINITIONS    compares them with those committed; exit code 1 where they differ

DEFINITIONS is one JSON file: {"source": "...", "commands": {"SET": {...}, "CLIENT SETNAME": {...}, ...}}, each command
as in valkey-io/valkey's src/commands/*.json. Names, arguments, keys, arities, flags, versions, complexities and the
types of replies are taken from it; its sentences are not. Where a definition is wrong about what a server sends, or a
better name or type is known, generator/known.py says so.
"""

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is to lie beside the sources

from generator.command import Command
from generator.files import NOTE, family_files, minimal_file, table_file, words_file

HERE = Path(__file__).resolve().parent


def generate(definitions):
    facts = json.loads(Path(definitions).read_text())["commands"]
    commands, rows = [], []
    for name, definition in facts.items():
        command = Command(name, definition)
        rows.append(command)
        if "function" in definition:  # the others only hold subcommands
            commands.append(command)
    families = {}
    for command in sorted(commands, key=lambda command: command.name):
        families.setdefault(command.definition["group"], []).append(command)
    files = {}
    for family, group in families.items():
        files |= family_files(family, group)
    files["src/command/word.rs"] = words_file()
    files["src/command/table/entries.rs"] = table_file(rows)
    files["tests/minimal_commands/all.rs"] = minimal_file(commands)
    return files


def stale(files):
    """Names of files that are not what they were made as, or are made no more."""
    committed = {str(path.relative_to(HERE)) for path in (HERE / "src/command").rglob("*.rs")
                 if NOTE in path.read_text().split("\n\n", 1)[0]}
    changed = {name for name, text in files.items()
               if not (HERE / name).exists() or (HERE / name).read_text() != text}
    return sorted(changed | (committed - files.keys()))


def write(files, names):
    for name in names:
        path = HERE / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name])
        else:
            path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with what is committed")
    parser.add_argument("definitions", help="the JSON file with the definitions")
    arguments = parser.parse_args()
    files = generate(arguments.definitions)
    names = stale(files)
    if not arguments.check:
        write(files, names)
        print(f"{len(files)} files, {len(names)} of them written or removed")
    elif names:
        sys.exit("\n".join(["these files are not what the definitions give:"] + names))
    else:
        print("every file is what the definitions give")


if __name__ == "__main__":
    main()
