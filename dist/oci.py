"""The OCI image, made by umoci without a daemon: the binary, the C library and the CAs, from packages that apt has verified."""
import os, pathlib, tarfile, tempfile, time

import project, stage
from project import HERE, OUT

# Without a shell or a package manager. Scanners find the packages in /var/lib/dpkg/status.d.
PACKAGES = ["base-files", "libc6", "libgcc-s1", "netbase"]
CAS = "usr/share/ca-certificates/mozilla"
# nobody, as in docs/proxy.md.
USER = "65534:65534"
CONFIG = {
    "--config.entrypoint": ["/usr/bin/onecopy"],
    "--config.cmd": ["proxy", "--config", "/etc/onecopy/proxy.toml"],
    "--config.user": [USER],
    "--config.exposedports": ["3307", "9104"],
}


def build():
    project.need("umoci", "umoci")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root = folder / "root"
        root.mkdir(mode=0o755)
        fill(root, folder)
        layout, image = folder / "layout", f"{folder / 'layout'}:{project.version().replace('~', '-')}"
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.commit_time()))
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        history = ["--history.created", created, "--history.created_by", "make dist"]
        project.run(["umoci", "init", "--layout", layout])
        project.run(["umoci", "new", "--image", image])
        project.run(["umoci", "insert", *rootless, "--image", image, *history, root, "/"])
        words = [word for option, values in CONFIG.items() for value in values for word in (option, value)]
        labels = {"title": "onecopy", "version": project.version(), "licenses": "Apache-2.0 OR MIT", "description": project.SUMMARY}
        words += [word for name, value in labels.items() for word in
                  ("--config.label", f"org.opencontainers.image.{name}={value}")]
        project.run(["umoci", "config", "--image", image, "--created", created, "--architecture", project.architecture(),
                     "--os", "linux", *history, *words])
        project.run(["umoci", "gc", "--layout", layout])
        return pack(layout)


def fill(root, folder):
    for name in ["bin", "lib", "lib64", "sbin"]:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in [*PACKAGES, "ca-certificates"]:
        project.run(["apt-get", "download", package], cwd=folder)
        file = next(folder.glob(f"{package}_*.deb"))
        if package == "ca-certificates":
            authorities(root, file, folder / "cas")
            continue
        files = project.run(["dpkg-deb", "--fsys-tarfile", file])
        project.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", root], input=files)
        stage.write(root, f"var/lib/dpkg/status.d/{package}", project.run(["dpkg-deb", "--field", file]))
    stage.copy(root, project.BINARY, "usr/bin/onecopy", 0o755)
    stage.copy(root, HERE / "image/proxy.toml", stage.CONFIGURATION)
    stage.write(root, "etc/passwd", b"root:x:0:0::/:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")
    stage.write(root, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    stage.write(root, "etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n")
    for unused in ["usr/share/doc", "usr/share/man", "usr/share/lintian"]:
        keep_licences(root / unused)
    for path in [*root.rglob("*"), root]:
        os.utime(path, (project.commit_time(),) * 2, follow_symlinks=False)


def authorities(root, package, folder):
    """One file of all CAs, as update-ca-certificates makes it."""
    project.run(["dpkg-deb", "-x", package, folder])
    files = sorted((folder / CAS).glob("*.crt"))
    stage.write(root, "etc/ssl/certs/ca-certificates.crt", b"".join(file.read_bytes() for file in files))
    stage.write(root, "var/lib/dpkg/status.d/ca-certificates", project.run(["dpkg-deb", "--field", package]))


def keep_licences(folder):
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "copyright":
            path.unlink()


def pack(layout):
    """As one file: `podman load -i`, `skopeo copy oci-archive:...`, and `docker load -i` from Docker 25 on."""
    archive = OUT / f"onecopy_{project.version()}_{project.architecture()}.oci.tar"

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = project.commit_time()
        return entry

    with tarfile.open(archive, "w") as tar:
        for path in sorted(layout.rglob("*")):
            tar.add(path, path.relative_to(layout), recursive=False, filter=plain)
    return archive
