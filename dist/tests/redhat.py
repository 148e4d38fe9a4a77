"""The .rpm, installed by rpm in a machine without onecopy. The machine is a Debian, so rpm does not know what is installed: --nodeps."""
from tests import service
from tests.machine import Machine


def test(package):
    with Machine() as machine:
        machine.write("/root/onecopy.rpm", package.read_bytes())
        machine.call("rpm --install --force-debian --nodeps /root/onecopy.rpm")
        machine.call("systemctl daemon-reload && systemctl is-enabled onecopy && systemctl start onecopy")
        service.check(machine)
        machine.call("rpm --query --list onecopy | grep --quiet /usr/bin/onecopy")
        machine.call("rpm --erase --force-debian --nodeps onecopy && test ! -e /usr/bin/onecopy")
        machine.call("test -f /etc/onecopy/proxy.toml.rpmsave")
