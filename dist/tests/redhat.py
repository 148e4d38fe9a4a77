"""The .rpm, installed by rpm in a machine without onecopy. The machine is a Debian, so rpm does not know what is installed: --nodeps."""
from tests import service
from tests.machine import Machine
from tests.service import expect


def test(package):
    with Machine() as machine:
        machine.write("/root/onecopy.rpm", package.read_bytes())
        machine.call("rpm --install --force-debian --nodeps /root/onecopy.rpm")
        machine.call("systemctl daemon-reload && systemctl is-enabled onecopy && systemctl start onecopy")
        service.check(machine)
        machine.call("systemctl start onecopy")
        before = machine.call("systemctl show --property MainPID onecopy").stdout
        machine.call("rpm --upgrade --force --force-debian --nodeps /root/onecopy.rpm")
        after = machine.call("systemctl show --property MainPID onecopy").stdout
        expect(before != after and "=0" not in after, "an upgrade does not restart the service")
        machine.call("grep --quiet 3308 /etc/onecopy/proxy.toml")
        service.files(machine)
        machine.call("rpm --query --list onecopy | grep --quiet /usr/bin/onecopy")
        machine.call("rpm --erase --force-debian --nodeps onecopy && test ! -e /usr/bin/onecopy")
        machine.call("test -f /etc/onecopy/proxy.toml.rpmsave")
