"""A Debian that debootstrap has made, started with systemd in namespaces of its own: network, processes, control groups."""
import os, pathlib, shutil, subprocess, tempfile, time

import project
from project import TARGET, Failure

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
# Whatever a package under test needs is there, as the machine has no network.
PACKAGES = ["ca-certificates", "curl", "libgcc-s1", "man-db", "mariadb-client", "mariadb-server", "openssl", "rpm", "sysbench", "systemd-sysv"]
BASE = TARGET / "packages-test" / SUITE
CGROUPS = pathlib.Path("/sys/fs/cgroup")
STARTED_WITHIN = 120
CALLED_WITHIN = 120


def base():
    """Made once, and kept while the list of packages is the same."""
    ready = BASE / "ready"
    if ready.exists() and ready.read_text().split() == PACKAGES:
        return BASE
    if os.geteuid() != 0:
        raise Failure("a fresh root needs root: sudo -E make test-dist, or PARTS=\"monitoring shells\"")
    project.need("debootstrap", "debootstrap")
    shutil.rmtree(BASE, ignore_errors=True)
    BASE.mkdir(parents=True)
    project.say(f"debootstrap {SUITE}, once")
    project.run(["debootstrap", "--variant=minbase", SUITE, BASE, MIRROR])
    # Services must not start while the root is made.
    policy = BASE / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    project.run(["chroot", BASE, "apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES], env=environment)
    policy.unlink()
    ready.write_text("\n".join(PACKAGES))
    return BASE


class Machine:
    """Runs until the end of the `with` block; what it has written is gone then."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onecopy-machine-"))
        self.groups = self.folder / "cgroups"
        self.groups.mkdir()
        project.run(["mount", "-t", "cgroup2", "cgroup2", self.groups])
        self.group = self.groups / self.folder.name
        self.group.mkdir()
        (self.folder / "root").mkdir()
        boot = pathlib.Path(__file__).with_name("boot.sh")
        enter = f'echo $$ >"{self.group}/cgroup.procs" && exec unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child "$@"'
        self.log = open(self.folder / "log", "w+")
        self.process = subprocess.Popen(["sh", "-c", enter, "sh", boot, base(), self.folder / "root"], stdout=self.log, stderr=self.log)
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        deadline = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if children:
                self.init = children[0]
                done = self.call("systemctl is-system-running", expect=None)
                if done.stdout.strip() in ("running", "degraded"):
                    return
            time.sleep(0.2)
        self.log.seek(0)
        raise Failure(f"systemd did not start in a root of its own: {self.log.read()[-1000:]}")

    def call(self, line, expect=0):
        """Runs a line of sh in the machine."""
        enter = ["nsenter", "-t", self.init, "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}
        try:
            done = subprocess.run([*enter, "sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=CALLED_WITHIN, env=environment)
        except subprocess.TimeoutExpired:
            raise Failure(f"`{line}` did not end within {CALLED_WITHIN} s")
        if expect is not None and done.returncode != expect:
            raise Failure(f"`{line}` ended with {done.returncode} and not {expect}: {(done.stdout + done.stderr).strip()[-2000:]}")
        return done

    def background(self, line):
        """Runs a line of sh that goes on; what it prints is lost."""
        self.call(f"({line}) >/dev/null 2>&1 </dev/null &")

    def write(self, place, data):
        """Puts a file there. Namespaces have no way for files, so it is a pipe."""
        enter = ["nsenter", "-t", self.init, "-m", "-p", "-r", "-w", "sh", "-c", f"cat >{place}"]
        subprocess.run(enter, input=data, check=True)

    def until(self, line, what):
        """Runs the line until it succeeds."""
        deadline = time.monotonic() + STARTED_WITHIN
        while self.call(line, expect=None).returncode:
            if time.monotonic() > deadline:
                raise Failure(f"{what}: `{line}` did not succeed within {STARTED_WITHIN} s")
            time.sleep(0.1)

    def __exit__(self, *_):
        # unshare does not react to SIGTERM; systemd is killed with it.
        self.process.kill()
        self.process.wait()
        # Its groups are empty a moment later.
        for _ in range(100):
            groups = sorted((path for path in self.group.rglob("*") if path.is_dir()), reverse=True)
            try:
                for group in [*groups, self.group]:
                    group.rmdir()
                break
            except OSError:
                time.sleep(0.1)
        project.run(["umount", self.groups])
        self.log.close()
        shutil.rmtree(self.folder)
