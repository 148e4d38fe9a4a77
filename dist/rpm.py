"""The .rpm, made by rpmbuild."""
import os, pathlib, shutil, tempfile, textwrap

import project, stage
from project import OUT

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
ZSH = "usr/share/zsh/site-functions/_onecopy"


def build(release=1, out=OUT):
    project.need("rpmbuild", "rpm")
    machine = MACHINES[project.architecture()]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root = folder / "root"
        root.mkdir(mode=0o755)
        stage.fill(root, zsh=ZSH)
        spec = folder / "onecopy.spec"
        spec.write_text(text(root, release))
        # One thread and the commit's time: the same files give the same package.
        project.run(["rpmbuild", "-bb", "--target", machine, "--define", f"_topdir {folder}/build", "--define", f"root {root}",
                     "--define", "_buildhost onecopy", "--define", "use_source_date_epoch_as_buildtime 1",
                     "--define", "clamp_mtime_to_source_date_epoch 1", spec],
                    env={**os.environ, "SOURCE_DATE_EPOCH": str(project.commit_time())})
        made = next((folder / "build/RPMS").rglob("*.rpm"))
        return pathlib.Path(shutil.copy(made, pathlib.Path(out) / made.name))


def text(root, release):
    files = "\n".join(line(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file())
    return f"""\
# What is packed is built, stripped and compressed already.
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%global _binary_payload w9.xzdio

Name: onecopy
Version: {project.version()}
Release: {release}
Summary: {project.SUMMARY}
License: Apache-2.0 OR MIT
URL: https://example.invalid/onecopy
Requires(pre): /usr/sbin/useradd, /usr/sbin/groupadd, /usr/bin/getent
Requires: systemd
Recommends: ca-certificates

%description
{textwrap.fill(project.DESCRIPTION, 78)}

%install
cp -a %{{root}}/. %{{buildroot}}/

# The user exists before its files do; sysusers.d names it for systems that are made from an image.
%pre
getent group onecopy >/dev/null || groupadd -r onecopy
getent passwd onecopy >/dev/null || \\
    useradd -r -g onecopy -d / -s /usr/sbin/nologin -c "onecopy MySQL proxy" onecopy

# A new service is started if the distribution's presets say so.
%post
if [ $1 -eq 1 ] && command -v systemctl >/dev/null; then
    systemctl --no-reload preset onecopy.service || :
fi

%preun
if [ $1 -eq 0 ] && command -v systemctl >/dev/null; then
    if [ -d /run/systemd/system ]; then systemctl --no-reload disable --now onecopy.service || :
    else systemctl --no-reload disable onecopy.service || :; fi
fi

%postun
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    # A proxy with `upgrade.socket` is replaced without a lost connection.
    if [ $1 -ge 1 ] && systemctl --quiet is-active onecopy.service; then
        onecopy upgrade --config /etc/onecopy/proxy.toml || {{
            echo "onecopy: restarting the service instead" >&2
            systemctl try-restart onecopy.service || :
        }}
    fi
fi

%files
%dir %attr(0750, root, onecopy) /etc/onecopy
%dir /{stage.DOC}
{files}
"""


def line(path):
    """How a file is listed: by its kind."""
    place = f"/{path}"
    if str(path) == stage.CONFIGURATION:
        return f"%config(noreplace) %attr(0640, root, onecopy) {place}"
    mode = "0755" if place.startswith("/usr/bin/") else "0644"
    kind = "%doc " if place.startswith("/usr/share/doc/") else ""
    return f"{kind}%attr({mode}, root, root) {place}"
