"""mysql_async's own tests: the crate has them in its source."""
import json, os, re, shutil, urllib.parse

import tools
from suite import FAIL, PASS, SKIP, verdicts

NAME = "mysql_async"
VERSION = "0.37.1"
AT_LEAST = 60
CLIENTS = ["clear", "unix", "tls", "zlib"]
# As little as can be built: one TLS library, no foreign types but those that the tests use.
FEATURES = ["--no-default-features", "--features", "default-rustls-ring"]


def folder():
    return tools.own() / f"mysql_async-{VERSION}"


def fetch():
    if (folder() / "programs.json").exists():
        return
    tools.say(f"building the tests of mysql_async {VERSION}")
    hint = "crates.io can't be reached"
    shutil.rmtree(folder(), ignore_errors=True)
    # Cargo fetches what a package depends on, and unpacks it where it keeps its registry.
    wanted = folder() / "wanted"
    (wanted / "src").mkdir(parents=True)
    (wanted / "src/lib.rs").touch()
    (wanted / "Cargo.toml").write_text(f'[package]\nname = "wanted"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
                                       f'mysql_async = {{ version = "={VERSION}", default-features = false, features = ["default-rustls-ring"] }}\n')
    told = json.loads(tools.step(["cargo", "metadata", "--format-version=1"], hint, cwd=wanted, capture=True))
    manifest = next(package["manifest_path"] for package in told["packages"] if package["name"] == "mysql_async")
    source = folder() / "source"
    shutil.copytree(os.path.dirname(manifest), source)
    with open(source / "Cargo.toml", "a") as file:
        file.write("\n[workspace]\n")  # it stands below ours, and is no member of it
    command = ["cargo", "test", "--no-run", "--locked", *FEATURES, "--message-format=json", "--target-dir", folder() / "target"]
    said = tools.step(command, hint, cwd=source, capture=True)
    built = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    programs = {unit["target"]["name"]: unit["executable"] for unit in built if unit.get("executable") and unit["profile"]["test"]}
    (folder() / "programs.json").write_text(json.dumps(programs))


def prepare(server):
    server.sql(server.port, "DROP DATABASE IF EXISTS mysql_async; CREATE DATABASE mysql_async CHARACTER SET utf8mb4")


def run(server, place):
    # Without this it asks the server where its socket is, and goes there.
    query = f"socket={urllib.parse.quote(place.socket, safe='')}" if place.client == "unix" else "prefer_socket=false"
    url = f"mysql://{server.user}:{urllib.parse.quote(server.password)}@127.0.0.1:{place.port}/mysql_async?{query}"
    environment = {"DATABASE_URL": url, "SSL": str(place.client == "tls").lower(), "COMPRESS": str(place.client == "zlib").lower()}
    found, said = {}, ""
    words = {"ok": PASS, "FAILED": FAIL, "ignored": SKIP}
    pattern = r"^test (?P<name>\S+) (?:- should panic )?\.\.\. (?P<word>ok|FAILED|ignored)"

    def told(program, *arguments):
        nonlocal said
        done = tools.run([program, *arguments], expect=None, timeout=900, cwd=folder() / "source", env=os.environ | environment)
        said += f"{done.stdout}\n{done.stderr[-20000:]}\n"
        return done.stdout

    for program in json.loads((folder() / "programs.json").read_text()).values():
        found |= verdicts(pattern, told(program, "--test-threads=2"), words)
        # One that panics while it unwinds takes all that were to come with it.
        for name in re.findall(r"^(\S+): test$", told(program, "--list"), re.M):
            if name not in found:
                found[name] = verdicts(pattern, told(program, "--exact", name), words).get(name, FAIL)
    return found, said
