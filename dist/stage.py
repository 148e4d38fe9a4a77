"""The files of the packages, in a folder as they lie in the root of a system."""
import gzip, os, pathlib, tempfile

import licences, project
from project import HERE, ROOT

DOC = "usr/share/doc/onecopy"
UNIT = "usr/lib/systemd/system/onecopy.service"
CONFIGURATION = "etc/onecopy/proxy.toml"
COMPLETIONS = {"bash": "usr/share/bash-completion/completions/onecopy", "zsh": "usr/share/zsh/vendor-completions/_onecopy",
               "fish": "usr/share/fish/vendor_completions.d/onecopy.fish"}


def fill(root, documents={}, **places):
    """Fills the folder. `documents` are added to the package's own; `places` overrides where the completions of a shell are."""
    copy(root, project.BINARY, "usr/bin/onecopy", 0o755)
    copy(root, HERE / "package/onecopy.service", UNIT)
    copy(root, HERE / "package/onecopy.sysusers", "usr/lib/sysusers.d/onecopy.conf")
    copy(root, HERE / "package/proxy.toml", CONFIGURATION)
    for shell, place in {**COMPLETIONS, **places}.items():
        write(root, place, project.run([project.BINARY, "completions", shell]))
    manual(root)
    for name in ["README.md", "docs/install.md", "docs/proxy.md", "docs/proxy-operations.md", "docs/proxy-statements.md", "docs/proxy-top.md",
                 "docs/proxy-upgrade.md"]:
        write_compressed(root, f"{DOC}/{pathlib.Path(name).name}.gz", (ROOT / name).read_bytes())
    write_compressed(root, f"{DOC}/changelog.gz", (ROOT / "CHANGELOG.md").read_bytes())
    for name, data in documents.items():
        write_compressed(root, f"{DOC}/{name}", data)
    write(root, f"{DOC}/copyright", copyright())
    write_compressed(root, f"{DOC}/third-party-licences.txt.gz", licences.text().encode())
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (project.commit_time(),) * 2)


def manual(root):
    with tempfile.TemporaryDirectory() as folder:
        project.run([project.BINARY, "man", "--out", folder])
        for page in sorted(pathlib.Path(folder).iterdir()):
            write_compressed(root, f"usr/share/man/man1/{page.name}.gz", page.read_bytes())


def copyright():
    mit = (ROOT / "LICENSE-MIT").read_text().strip().splitlines()
    indented = "\n".join(f" {line}" if line else " ." for line in mit[4:])
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: onecopy
Comment: The licences of the crates in the binary are in third-party-licences.txt.gz.

Files: *
Copyright: {mit[2].removeprefix('Copyright (c) ')}
License: Apache-2.0 or MIT

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: MIT
{indented}
""".encode()


def copy(root, source, place, mode=0o644):
    write(root, place, pathlib.Path(source).read_bytes(), mode)


def write_compressed(root, place, data):
    # Without a time, so that equal files stay equal.
    write(root, place, gzip.compress(data, 9, mtime=0))


def write(root, place, data, mode=0o644):
    path = root / place
    for folder in reversed(path.relative_to(root).parents):
        (root / folder).mkdir(mode=0o755, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
