#!/usr/bin/env python3
"""Makes the proxy forget one state at a time and checks that a mirror finds it: a test of the test.

    crates/proxy/tests/mirror/mistakes.py [NAME...]
    crates/proxy/tests/mirror/mistakes.py --pieces    only checks that the piece of each is in the source, once

All mistakes are put into a copy of the checkout, each behind a condition that an environment variable turns on, so that there is one
build. Each is then looked for by tests/mirror and, where that finds nothing, by tests/mirror_packets. The copy is in target/mistakes;
what is not committed is not in it. Fails if a mistake is not found, if its piece is no longer in the source, and if a mirror
finds something without one.
"""
import json, os, pathlib, re, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
COPY = ROOT / "target/mistakes/checkout"
SOURCE = "crates/proxy/src"
# Most are found in the first thousand.
STATEMENTS = "20000"
# One that can't go on waits for a connection for seconds, again and again.
SECONDS = 1200

DIFFERENCE, STATEMENT, COMMAND, CHANGES, REPLY, ATTACH, LAST = (
    "pooling/state/difference.rs", "session/pooled/statement.rs", "session/pooled/command.rs", "session/pooled/changes.rs",
    "session/pooled/reply.rs", "session/pooled/attach.rs", "session/pooled/last_result.rs")
PIN = "    fn pin(&mut self, pin: Pin) {\n"


def no_pin(name):
    """Nobody is ever pinned for this reason."""
    return "session/pooled.rs", PIN, f"{PIN}        if pin == Pin::{name} && WRONG {{ return; }}\n"


MISTAKES = {  # name: file, piece, what is put in its place, with WRONG where the mistake is made
    "schemas": (DIFFERENCE, "actual.schema() != Some(schema));", "!WRONG && actual.schema() != Some(schema));"),
    "variables that go back": (DIFFERENCE, ".filter(|(name, _)| wanted.get(name).is_none())", ".filter(|(name, _)| !WRONG && wanted.get(name).is_none())"),
    "variables that are set": (DIFFERENCE, ".filter(|(name, value)| actual.get(name) != Some(value))",
                               ".filter(|(name, value)| !WRONG && actual.get(name) != Some(value))"),
    "the session's own isolation": (DIFFERENCE, 'b"@@session."', 'if WRONG { &b"@@"[..] } else { &b"@@session."[..] }'),
    "transactions": (ATTACH, "|| status.intersects(IN_TRANSACTION)", "|| !WRONG && status.intersects(IN_TRANSACTION)"),
    "all pins": (ATTACH, "!self.pins.is_empty()", "!WRONG && !self.pins.is_empty()"),
    "whose warnings are on a connection": (LAST, "is_here && pooled.last.answers(look)", "is_here && (WRONG || pooled.last.answers(look))"),
    "warnings of another session": (COMMAND, "let clears = std::mem::take(&mut last.is_to_clear) || is_to_clear;",
                                    "let clears = (std::mem::take(&mut last.is_to_clear) || is_to_clear) && !WRONG;"),
    "insert ids": (REPLY, "self.has_insert_id = true;", "self.has_insert_id = !WRONG;"),
    "insert ids in statements": (COMMAND, "if wants_insert_id && is_other_id {", "if wants_insert_id && is_other_id && !WRONG {"),
    "an insert id that stays": ("session/pooled/question.rs", "connection.last_insert_id != Some(0)", "!WRONG && connection.last_insert_id != Some(0)"),
    "collations": (CHANGES, 'self.has_collation |= *name', 'self.has_collation |= !WRONG && *name'),
    "transactions after an error": (REPLY, "pooled.may_be_in_transaction = failed &&", "pooled.may_be_in_transaction = !WRONG && failed &&"),
    "changes of a statement that failed": (REPLY, "pooled.has_unreported |= failed &&", "pooled.has_unreported |= !WRONG && failed &&"),
    "resets by the client": (REPLY, "self.wanted = Arc::new(after_reset.with_schema(schema));",
                             "if !WRONG { self.wanted = Arc::new(after_reset.with_schema(schema)); }"),
    "resets behind a client": (ATTACH, "        match is_marked {", "        match is_marked && !WRONG {"),
    "the state of a reset connection": ("pooling/connections.rs", "connection.actual = Arc::new(connection.after_reset.with_schema(schema));",
                                        "if !WRONG { connection.actual = Arc::new(connection.after_reset.with_schema(schema)); }"),
    "ids of statements": (STATEMENT, "place.copy_from_slice(&id.to_le_bytes());", "if !WRONG { place.copy_from_slice(&id.to_le_bytes()); }"),
    "types of parameters": (STATEMENT, "if server.types == client.types {", "if WRONG || server.types == client.types {"),
    "the meaning of statements": (COMMAND, "Some(text) if text.meaning != wanted.meaning()", "Some(text) if !WRONG && text.meaning != wanted.meaning()"),
    "statements that a connection lacks": (COMMAND, "connection.prepared.find(text).is_none()", "!WRONG && connection.prepared.find(text).is_none()"),
    "whether several statements may come": (COMMAND, "if connection.has_several != *has_several {", "if !WRONG && connection.has_several != *has_several {"),
    "user variables": no_pin("UserVariable"),
    "temporary tables": no_pin("TemporaryTable"),
    "statements prepared in SQL": no_pin("SqlPrepare"),
    "named locks": no_pin("NamedLock"),
    "what the next transaction is to be like": no_pin("TransactionCharacteristics"),
    "procedures": no_pin("Call"),
    "variables that are not reported": no_pin("Variable"),
    "roles": no_pin("Role"),
}
SWITCH = """
/// The mistake that is made in this process.
#[allow(dead_code)]
pub(crate) fn is_wrong(name: &str) -> bool {
    static WRONG: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    WRONG.get_or_init(|| std::env::var("ONECOPY_MISTAKE").ok()).as_deref() == Some(name)
}
"""


def put_in():
    """Puts all mistakes into the copy; the names of those whose piece is not in the source."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(COPY)], check=True)
    missing = []
    for name, (_, piece, instead) in MISTAKES.items():
        path = place(COPY, name)
        if path:
            path.write_text(path.read_text().replace(piece, instead.replace("WRONG", f'crate::is_wrong("{name}")')))
        else:
            missing.append(name)
    with open(COPY / SOURCE / "lib.rs", "a") as lib:
        lib.write(SWITCH)
    return missing


def place(checkout, name):
    """The file that has the piece of a mistake, once; `None` where none has."""
    file, piece, _ = MISTAKES[name]
    source = checkout / SOURCE
    # A file may have been split since.
    paths = [source / file, *sorted(source.rglob("*.rs"))]
    return next((path for path in paths if path.exists() and path.read_text().count(piece) == 1), None)


def no_piece(name):
    return f"{name}: its piece is no longer in {MISTAKES[name][0]}, or more than once"


def built():
    """Builds the mirrors with the mistakes: their programs, by name."""
    environment = os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR") or str(COPY.parent / "target")}
    command = ["cargo", "test", "-q", "-p", "onecopy-proxy", "--test", "mirror", "--test", "mirror_packets", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True)
    units = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        errors = [unit["message"]["rendered"] for unit in units if unit.get("message", {}).get("level") == "error"]
        sys.exit("the copy with the mistakes does not build:\n" + "".join(errors))
    return {unit["target"]["name"]: unit["executable"] for unit in units if unit.get("executable")}


def finds(program, mistake):
    """What a mirror says of a mistake; `None` for nothing."""
    environment = os.environ | {"ONECOPY_MISTAKE": mistake}
    if pathlib.Path(program).name.rsplit("-", 1)[0] == "mirror":
        environment["ONECOPY_MIRROR_STATEMENTS"] = STATEMENTS
    try:
        # Of the mirrors' tests those of sessions of one kind, in one script.
        done = subprocess.run([program, "sessions_that_share"], cwd=COPY / "crates/proxy", env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        # Nobody knows what it would have found.
        print(f"{mistake or 'no mistake'}: {pathlib.Path(program).name} was stopped after {SECONDS} seconds, result unknown", flush=True)
        if not mistake:
            sys.exit(1)
        return None
    said = re.search(r"panicked at .*\n(.*(?:\n  (?:direct|pooled): .*)*)", done.stdout + done.stderr)
    if done.returncode == 0:
        return None
    return said[1][:400] if said else f"exit status {done.returncode}"


def main():
    if sys.argv[1:] == ["--pieces"]:
        sys.exit("\n".join(no_piece(name) for name in MISTAKES if not place(ROOT, name)) or None)
    names = sys.argv[1:] or list(MISTAKES)
    if unknown := [name for name in names if name not in MISTAKES]:
        sys.exit(f"no such mistake: {unknown[0]}; known are: {'; '.join(MISTAKES)}")
    missing = put_in()
    programs = built()
    mirrors = ["mirror", "mirror_packets"]
    for mirror in mirrors:
        if said := finds(programs[mirror], ""):
            sys.exit(f"without a mistake {mirror} finds: {said}")
    failed = sum(name in missing for name in names)
    for name in names:
        if name in missing:
            print(no_piece(name), flush=True)
            continue
        by = next(((mirror, said) for mirror in mirrors if (said := finds(programs[mirror], name))), None)
        failed += by is None
        print(f"{name}: " + (f"found by {by[0]}" if by else "NOT FOUND"), flush=True)
        if by and os.environ.get("VERBOSE"):
            print(f"    {by[1]}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
