"""The licences of the crates in the binary, most of which ask for their text beside it."""
import json, pathlib

import project
from project import ROOT

NAMES = ("licen", "copying", "notice", "copyright", "unlicense")


def crates():
    """Name, version, licence and folder of each crate that is linked, without our own."""
    tree = ["cargo", "tree", "--locked", "-p", "onecopy", "-e", "normal", "--prefix", "none", "--format", "{p}"]
    linked = {tuple(line.split()[:2]) for line in project.run(tree, cwd=ROOT).decode().splitlines() if line}
    metadata = json.loads(project.run(["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"], cwd=ROOT))
    for package in sorted(metadata["packages"], key=lambda package: (package["name"], package["version"])):
        if package["source"] and (package["name"], f"v{package['version']}") in linked:
            yield package["name"], package["version"], package["license"], pathlib.Path(package["manifest_path"]).parent


def texts(folder):
    """The files of a crate that hold licences, those of C code inside of it too."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name.lower().startswith(NAMES))
    return {path: path.read_text(errors="replace").strip() for path in sorted(files) if path.suffix not in (".rs", ".go", ".py")}


def text():
    """Each licence once, below the crates that have it."""
    holders, parts = {}, ["The binary contains these crates, with the licences below.\n"]
    for name, version, licence, folder in crates():
        parts.append(f"  {name} {version}: {licence}")
        for path, words in texts(folder).items():
            holders.setdefault(words, []).append(f"{name} {version}, {path.relative_to(folder)}")
    for words, names in holders.items():
        parts.append("\n" + "-" * 80 + "\n" + "\n".join(names) + "\n\n" + words)
    return "\n".join(parts) + "\n"
