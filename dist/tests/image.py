"""The image: its digests, what skopeo says of it, and the binary in its unpacked root, as the image's user in a network of its own."""
import hashlib, json, pathlib, subprocess, tempfile, time

import project
from oci import USER
from project import Failure
from tests.service import expect

WITHIN = 60


def test(package):
    with tempfile.TemporaryDirectory() as folder:
        layout, bundle = pathlib.Path(folder, "layout"), pathlib.Path(folder, "bundle")
        layout.mkdir()
        project.run(["tar", "-x", "-f", package, "-C", layout])
        tag = digests(layout)
        project.need("skopeo", "skopeo")
        known = json.loads(project.run(["skopeo", "inspect", f"oci-archive:{package}"]))
        expect(known["Labels"]["org.opencontainers.image.title"] == "onecopy", f"skopeo says {known['Labels']}")
        project.run(["skopeo", "copy", "--quiet", f"oci-archive:{package}", f"docker-archive:{folder}/docker.tar:onecopy:test"])
        project.run(["umoci", "unpack", "--image", f"{layout}:{tag}", bundle])
        config = json.loads((bundle / "config.json").read_text())["process"]
        expect(config["args"] == ["/usr/bin/onecopy", "proxy", "--config", "/etc/onecopy/proxy.toml"], f"it runs {config['args']}")
        expect([config["user"]["uid"], config["user"]["gid"]] == [65534, 65534], f"it runs as {config['user']}")
        runs(bundle / "rootfs", config["args"])


def digests(layout):
    """Each blob has the size and the digest by which it is named; returns the image's tag."""
    def blob(descriptor):
        kind, digest = descriptor["digest"].split(":")
        data = (layout / "blobs" / kind / digest).read_bytes()
        expect(len(data) == descriptor["size"] and hashlib.new(kind, data).hexdigest() == digest, f"{digest} is another file")
        return data

    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]))
    json.loads(blob(manifest["config"]))
    expect(len(manifest["layers"]) == 1, "it has more than one layer")
    for layer in manifest["layers"]:
        blob(layer)
    return index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]


def runs(root, command):
    """The proxy starts without a server, answers probes, and ends on SIGTERM."""
    start = 'ip link set lo up && exec chroot --userspec="$0" "$@"'
    process = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", start, USER, root, *command], stderr=subprocess.PIPE)
    try:
        wait(process, "live", "200")
        wait(process, "health", "503")
        process.terminate()
        said = process.communicate(timeout=60)[1].decode()
        expect(process.returncode == 0, f"it ended with {process.returncode}: {said}")
        expect("listening on 0.0.0.0:3307" in said, f"it said {said}")
    finally:
        process.kill()
        process.wait()


def wait(process, path, status):
    deadline = time.monotonic() + WITHIN
    while (found := probe(process, path)) != status:
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure(f"/{path} of the image's proxy is not {status}, but {found}")
        time.sleep(0.1)


def probe(process, path):
    enter = ["nsenter", "-t", str(process.pid), "-n", "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"]
    return subprocess.run([*enter, f"http://127.0.0.1:9104/{path}"], stdout=subprocess.PIPE, text=True).stdout
