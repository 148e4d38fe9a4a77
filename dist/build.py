#!/usr/bin/env python3
"""Packages of the command onecopy: `make dist`.

    dist/build.py [deb|rpm|oci]...    builds the binary and these packages, by default all; prints their paths

They are written to target/packages. The .deb needs dpkg-dev, the .rpm rpmbuild (Debian: rpm), the image umoci."""
import sys

import deb, oci, project, rpm
from project import Failure

KINDS = {"deb": deb.build, "rpm": rpm.build, "oci": oci.build}


def main(kinds):
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise Failure(f"`{unknown[0]}` is not a kind of package; known are {', '.join(KINDS)}")
    project.build()
    project.OUT.mkdir(parents=True, exist_ok=True)
    for kind in kinds or KINDS:
        package = KINDS[kind]()
        print(package, f"{package.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failure as failure:
        sys.exit(f"dist: {failure}")
