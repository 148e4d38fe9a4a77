#!/usr/bin/env python3
"""Tries what `make dist` has made: `make test-dist`.

    dist/test.py [deb|rpm|oci|shells|monitoring]...    by default all; dist/README.md says what each needs"""
import sys

import project
from project import Failure
from tests import debian, image, monitoring, redhat, shells


def newest(pattern):
    """The package of this commit; an older one must not be what is tested."""
    found = [path for path in project.OUT.glob(pattern) if project.version() in path.name]
    if len(found) != 1:
        raise Failure(f"{project.OUT} has no {pattern} of this commit; run `make dist`")
    return found[0]


PARTS = {
    "deb": lambda: debian.test(newest("*.deb")),
    "rpm": lambda: redhat.test(newest("*.rpm")),
    "oci": lambda: image.test(newest("*.oci.tar")),
    "shells": shells.test,
    "monitoring": monitoring.test,
}


def main(parts):
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise Failure(f"`{unknown[0]}` is not a part; known are {', '.join(PARTS)}")
    failed = []
    for part in parts or PARTS:
        try:
            PARTS[part]()
            print(f"{part}: passed", flush=True)
        except Failure as failure:
            print(f"{part}: FAILED: {failure}", flush=True)
            failed.append(part)
    if failed:
        raise Failure(f"FAILED: {', '.join(failed)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failure as failure:
        sys.exit(f"dist: {failure}")
