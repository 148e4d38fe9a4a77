"""The .deb: `apt install ./onecopy.deb` in a fresh Debian, the service, an upgrade that keeps the configuration, and purge."""
import shutil, tempfile

import deb, project
from tests import service
from tests.machine import Machine
from tests.service import expect


def test(package):
    if shutil.which("lintian"):
        said = project.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                            # For packages that Debian itself distributes.
                            "--suppress-tags", "initial-upload-closes-no-bugs", package]).decode().strip()
        expect(not said, f"lintian: {said}")
    with Machine() as machine:
        machine.write("/root/onecopy.deb", package.read_bytes())
        machine.call("apt-get install --yes /root/onecopy.deb")
        machine.call("systemctl is-enabled onecopy && systemctl is-active onecopy")
        service.check(machine)
        # It has ended, and a package does not start what an administrator has stopped.
        machine.call("apt-get install --yes --reinstall /root/onecopy.deb && ! systemctl is-active onecopy")
        with tempfile.TemporaryDirectory() as folder:
            machine.write("/root/newer.deb", deb.build(2, folder).read_bytes())
        service.upgrade_of_package(machine, "apt-get install --yes /root/newer.deb")
        machine.call("grep --quiet 3308 /etc/onecopy/proxy.toml")
        service.files(machine)
        machine.call("apt-get remove --yes onecopy && test -f /etc/onecopy/proxy.toml && ! systemctl is-active onecopy")
        machine.call("apt-get purge --yes onecopy && test ! -e /etc/onecopy")
        machine.call("test ! -e /etc/systemd/system/multi-user.target.wants/onecopy.service")
