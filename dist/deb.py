"""The .deb, made by dpkg-deb."""
import email.utils, hashlib, os, pathlib, shutil, tempfile, textwrap

import project, stage
from project import HERE, OUT, Failure

SCRIPTS = ["postinst", "prerm", "postrm"]
MAINTAINER = "The onecopy authors <onecopy@example.invalid>"


def build(revision=1, out=OUT):
    project.need("dpkg-deb", "dpkg")
    project.need("dpkg-shlibdeps", "dpkg-dev")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        root.mkdir(mode=0o755)
        stage.fill(root, {"changelog.Debian.gz": changelog(revision)})
        control = root / "DEBIAN"
        control.mkdir(mode=0o755)
        (control / "conffiles").write_text(f"/{stage.CONFIGURATION}\n")
        (control / "md5sums").write_text(sums(root))
        (control / "control").write_text(fields(root, revision, libraries(pathlib.Path(folder))))
        for name in SCRIPTS:
            shutil.copy(HERE / "package" / name, control / name)
            (control / name).chmod(0o755)
        package = pathlib.Path(out) / f"onecopy_{version(revision)}_{project.architecture()}.deb"
        project.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package],
                    env={**os.environ, "SOURCE_DATE_EPOCH": str(project.commit_time())})
    return package


def version(revision):
    """With the revision of the packaging."""
    return f"{project.version()}-{revision}"


def changelog(revision):
    date = email.utils.formatdate(project.commit_time())
    return f"onecopy ({version(revision)}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {MAINTAINER}  {date}\n".encode()


def libraries(folder):
    """The packages of the C library that the binary needs, by the symbols that it uses."""
    (folder / "debian").mkdir()
    (folder / "debian/control").write_text("Source: onecopy\n\nPackage: onecopy\nArchitecture: any\n")
    words = project.run(["dpkg-shlibdeps", "-O", "-e", project.BINARY], cwd=folder).decode()
    if not words.startswith("shlibs:Depends="):
        raise Failure(f"dpkg-shlibdeps said: {words}")
    return words.removeprefix("shlibs:Depends=").strip()


def sums(root):
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "DEBIAN" not in path.parts)
    return "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files
                   if path.relative_to(root).parts[0] != "etc")


def fields(root, revision, libraries):
    size = sum(-(-path.stat().st_size // 1024) for path in root.rglob("*") if path.is_file())
    description = "\n".join(" " + line for line in textwrap.wrap(project.DESCRIPTION, 78))
    return f"""\
Package: onecopy
Version: {version(revision)}
Architecture: {project.architecture()}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Depends: {libraries}, systemd | systemd-standalone-sysusers | systemd-sysusers
Recommends: ca-certificates
Section: database
Priority: optional
Homepage: https://example.invalid/onecopy
Description: {project.SUMMARY}
{description}
"""
