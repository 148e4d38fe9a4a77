"""The .rpm, installed by rpm in a machine without onecopy. The machine is a Debian, so rpm does not know what is installed: --nodeps."""
import tempfile

import rpm
from tests import service
from tests.machine import Machine
from tests.service import expect


def test(package):
    with Machine() as machine:
        machine.write("/root/onecopy.rpm", package.read_bytes())
        machine.call("rpm --install --force-debian --nodeps /root/onecopy.rpm")
        machine.call("systemctl daemon-reload && systemctl is-enabled onecopy && systemctl start onecopy")
        service.check(machine)
        with tempfile.TemporaryDirectory() as folder:
            machine.write("/root/newer.rpm", rpm.build(2, folder).read_bytes())
        service.upgrade_of_package(machine, "rpm --upgrade --force-debian --nodeps /root/newer.rpm")
        machine.call("grep --quiet 3308 /etc/onecopy/proxy.toml")
        service.files(machine)
        machine.call("rpm --query --list onecopy | grep --quiet /usr/bin/onecopy")
        machine.call("rpm --erase --force-debian --nodeps onecopy && test ! -e /usr/bin/onecopy")
        machine.call("test -f /etc/onecopy/proxy.toml.rpmsave")
