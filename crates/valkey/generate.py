#!/usr/bin/env python3
"""Writes src/command/<family>.rs, src/command/table/entries.rs and tests/minimal_commands/all.rs from the facts in
Valkey's command definitions.

    generate.py DEFINITIONS            writes the files
    generate.py --check DEFINITIONS    compares them with those committed; exit code 1 where they differ

DEFINITIONS is one JSON file: {"source": "...", "commands": {"SET": {...}, "CLIENT SETNAME": {...}, ...}}, each command
as in valkey-io/valkey's src/commands/*.json. Names, arguments, keys, arities, flags, versions, complexities and the
types of replies are taken from it; its sentences are not. Where a definition is wrong about what a server sends, or a
better name or type is known, the tables at the top of this file say so.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).resolve().parent
MOST_LINES = 600

# What is known better than by the definitions ------------------------------------------------------------------------

# The type of an argument.
TYPES = {
    ("BITFIELD", "offset"): "string",  # also #n, counted in integers
    ("BITFIELD_RO", "offset"): "string",
    ("XADD", "threshold"): "string",
    ("XAUTOCLAIM", "min-idle-time"): "integer",
    ("XCLAIM", "min-idle-time"): "integer",
    ("ZINCRBY", "increment"): "double",
    ("ZINTER", "weight"): "double",
    ("ZINTERSTORE", "weight"): "double",
    ("ZUNION", "weight"): "double",
    ("ZUNIONSTORE", "weight"): "double",
    # Borders: also exclusive ones, "(1".
    ("ZCOUNT", "min"): "string",
    ("ZCOUNT", "max"): "string",
    ("ZRANGEBYSCORE", "min"): "string",
    ("ZRANGEBYSCORE", "max"): "string",
    ("ZREVRANGEBYSCORE", "min"): "string",
    ("ZREVRANGEBYSCORE", "max"): "string",
    ("ZREMRANGEBYSCORE", "min"): "string",
    ("ZREMRANGEBYSCORE", "max"): "string",
}

# Arguments that the definition has as optional, and without which the command is of no use.
REQUIRED = {
    ("PFADD", "element"), ("GEOHASH", "member"), ("GEOPOS", "member"), ("PFMERGE", "sourcekey"),
    ("ACL SETUSER", "rule"), ("PUBSUB NUMSUB", "channel"), ("PUBSUB SHARDNUMSUB", "shardchannel"),
    ("SENTINEL SIMULATE-FAILURE", "mode"), ("ACL DRYRUN", "arg"), ("COMMAND GETKEYS", "arg"), ("COMMAND GETKEYSANDFLAGS", "arg"),
}

# Arguments of commands that have none in their definitions, or are simpler to call by others.
ARGUMENTS = {
    "DEBUG": [
        {"name": "subcommand", "type": "string"},
        {"name": "arg", "type": "string", "multiple": True, "optional": True},
    ],
    "REPLCONF": [{"name": "arg", "type": "string", "multiple": True, "optional": True}],
    "PFDEBUG": [{"name": "subcommand", "type": "string"}, {"name": "key", "type": "key", "key_spec_index": 0}],
    # NO ONE takes the places of host and port.
    "REPLICAOF": [{"name": "host", "type": "string"}, {"name": "port", "type": "string"}],
    "SLAVEOF": [{"name": "host", "type": "string"}, {"name": "port", "type": "string"}],
    # GET and names, or SET, names and values.
    "SENTINEL CONFIG": [{"name": "action", "type": "string"}, {"name": "arg", "type": "string", "multiple": True}],
}

# Methods of another name than the block of arguments that they set.
BLOCKS = {
    ("BITCOUNT", "range"): "start",
    ("BITPOS", "range"): "start",
    ("XPENDING", "filters"): "range",
    ("XADD", "trim"): "trim",
    ("HELLO", "arguments"): "protover",
}

# Enums for arguments that are one of several words. Every other set of words gets a method a word.
ENUMS = {
    "Side": ["LEFT", "RIGHT"],
    "Extreme": ["MIN", "MAX"],
    "Place": ["BEFORE", "AFTER"],
    "BitOperation": ["AND", "OR", "XOR", "NOT"],
    "Overflow": ["WRAP", "SAT", "FAIL"],
    "Unit": ["m", "km", "ft", "mi"],
    "Aggregate": ["SUM", "MIN", "MAX"],
    "Trim": ["MAXLEN", "MINID"],
    "Answer": ["YES", "NO"],
    "Switch": ["ON", "OFF"],
    "ReplyMode": ["ON", "OFF", "SKIP"],
    "DebugMode": ["YES", "SYNC", "NO"],
    "ClientType": ["normal", "master", "replica", "pubsub"],
    "ClientKillType": ["normal", "master", "primary", "slave", "replica", "pubsub"],
}

# Replies of another type than the definition's schema gives: servers send nil where it has none, or one type that takes
# all forms is known.
BULK, MAYBE_BULK = "&'r [u8]", "Option<&'r [u8]>"
BULKS, SCORES = "Array<'r, &'r [u8]>", "Map<'r, &'r [u8], f64>"
ENTRY = "Entry<'r>"
OUTPUTS = {
    "EXEC": "Option<Array<'r, Reply<'r>>>",
    "GEODIST": "Option<f64>",
    "GEOHASH": "Array<'r, Option<&'r [u8]>>",
    "HINCRBYFLOAT": "f64",
    "INCRBYFLOAT": "f64",
    "LMOVE": MAYBE_BULK,
    "MIGRATE": BULK,
    "OBJECT FREQ": "Option<i64>",
    "OBJECT IDLETIME": "Option<i64>",
    "OBJECT REFCOUNT": "Option<i64>",
    "PUBSUB NUMSUB": "Map<'r, &'r [u8], i64>",
    "PUBSUB SHARDNUMSUB": "Map<'r, &'r [u8], i64>",
    "REPLICAOF": BULK,
    "SET": MAYBE_BULK,
    "SLAVEOF": BULK,
    "SENTINEL CKQUORUM": BULK,
    "TIME": "(i64, i64)",
    "XREAD": "Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>",
    "XREADGROUP": "Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>",
    "ZPOPMAX": SCORES,
    "ZPOPMIN": SCORES,
    "SCAN": "Scanned<'r>", "HSCAN": "Scanned<'r>", "SSCAN": "Scanned<'r>", "ZSCAN": "Scanned<'r>",
    "DEBUG": "Reply<'r>",
}

# Commands whose reply has another type once a method was called: the shape at first, and those that methods give.
SHAPES = {
    "GEORADIUS": ("Bulks", {**dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies"),
                            **dict.fromkeys(["store", "storedist"], "Integer")}),
    "GEORADIUSBYMEMBER": ("Bulks", {**dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies"),
                                    **dict.fromkeys(["store", "storedist"], "Integer")}),
    "GEORADIUSBYMEMBER_RO": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "GEORADIUS_RO": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "GEOSEARCH": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "HRANDFIELD": ("MaybeBulk", {"count": "Bulks", "withvalues": "Fields"}),
    "LCS": ("Bulk", {"len": "Integer", "idx": "Properties"}),
    "LPOP": ("MaybeBulk", {"count": "MaybeBulks"}),
    "LPOS": ("MaybeInteger", {"count": "Integers"}),
    "RPOP": ("MaybeBulk", {"count": "MaybeBulks"}),
    "SORT": ("BulksWithNil", {"store": "Integer"}),
    "SPOP": ("MaybeBulk", {"count": "Bulks"}),
    "SRANDMEMBER": ("MaybeBulk", {"count": "Bulks"}),
    "XAUTOCLAIM": ("Claimed", {"justid": "ClaimedIds"}),
    "XCLAIM": ("Entries", {"justid": "Bulks"}),
    "XPENDING": ("PendingSummary", {"range": "Pending"}),
    "ZADD": ("Integer", {"incr": "MaybeDouble"}),
    "ZDIFF": ("Bulks", {"withscores": "Scores"}),
    "ZINTER": ("Bulks", {"withscores": "Scores"}),
    "ZRANDMEMBER": ("MaybeBulk", {"count": "Bulks", "withscores": "Scores"}),
    "ZRANGE": ("Bulks", {"withscores": "Scores"}),
    "ZRANGEBYSCORE": ("Bulks", {"withscores": "Scores"}),
    "ZRANK": ("MaybeInteger", {"withscore": "RankAndScore"}),
    "ZREVRANGE": ("Bulks", {"withscores": "Scores"}),
    "ZREVRANGEBYSCORE": ("Bulks", {"withscores": "Scores"}),
    "ZREVRANK": ("MaybeInteger", {"withscore": "RankAndScore"}),
    "ZUNION": ("Bulks", {"withscores": "Scores"}),
}

# After these, what arrives is no longer one reply a request.
BREAKS_ORDER = {
    "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC",
    "CLIENT REPLY", "SCRIPT DEBUG",
}
# These leave something behind on the connection: another user, database, protocol, name, a transaction, what is watched.
CONNECTION_STATE = {
    "ASKING", "AUTH", "CLIENT CACHING", "CLIENT CAPA", "CLIENT NO-EVICT", "CLIENT NO-TOUCH", "CLIENT SETINFO",
    "CLIENT SETNAME", "CLIENT TRACKING", "DISCARD", "EXEC", "HELLO", "MULTI", "QUIT", "READONLY", "READWRITE", "REPLCONF",
    "RESET", "SELECT", "UNWATCH", "WATCH",
}
# The argument that says how long the server may take to answer, and its unit.
BLOCKS_FOR = {
    "BLMOVE": ("timeout", "seconds"), "BLMPOP": ("timeout", "seconds"), "BLPOP": ("timeout", "seconds"),
    "BRPOP": ("timeout", "seconds"), "BRPOPLPUSH": ("timeout", "seconds"), "BZMPOP": ("timeout", "seconds"),
    "BZPOPMAX": ("timeout", "seconds"), "BZPOPMIN": ("timeout", "seconds"),
    "WAIT": ("timeout", "milliseconds"), "WAITAOF": ("timeout", "milliseconds"),
    "XREAD": ("block", "milliseconds"), "XREADGROUP": ("block", "milliseconds"),
}

KEYWORDS = {"async", "final", "in", "loop", "match", "move", "ref", "self", "static", "type", "use", "where"}


# Arguments, flattened ------------------------------------------------------------------------------------------------

@dataclass
class Param:
    """What a function or method takes: a name, and a type of VALUES."""
    name: str
    kind: str


@dataclass
class Method:
    name: str
    params: list
    body: str            # what is assigned, `{self}` apart
    doc: str


@dataclass
class Item:
    """One field of a builder, and how it is written; or, without a field, a word that is always there."""
    field: str = ""
    type: str = ""
    initial: str = ""    # of an optional field
    param: Param = None  # of a required one
    methods: list = dataclasses.field(default_factory=list)
    count: str = ""      # arguments that it adds, where that is not fixed
    fixed: int = 0       # arguments that it always adds
    write: str = ""
    keys: str = ""
    least: tuple = ()    # the calls without which the server refuses the command


VALUES = {
    # kind: (field's type, parameter's type, conversion, a value for tests)
    "arg": ("Arg<'a>", "impl Into<Arg<'a>>", "{}.into()", '"x"'),
    "int": ("i64", "i64", "{}", "1"),
    "uint": ("u64", "u64", "{}", "0"),
    "double": ("f64", "f64", "{}", "1.5"),
    "args": ("Args<'a>", "impl Into<Args<'a>>", "{}.into()", '"x"'),
    "pairs": ("Pairs<'a>", "impl Into<Pairs<'a>>", "{}.into()", '("x", "y")'),
    "triples": ("Triples<'a>", "impl Into<Triples<'a>>", "{}.into()", '(1.5, 2.5, "x")'),
}


def snake(name):
    name = name.lower().replace("-", "_").replace(" ", "_").replace("=", "equal").replace("~", "approximately")
    return name + "_" if name in KEYWORDS else name


def camel(name):
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name) if part)


def plural(name):
    return name if name.endswith("s") else name + "s"


def bulk(token):
    """A word as it goes over the wire, as a Rust literal."""
    return f'b"${len(token)}\\r\\n{token}\\r\\n"'


def token_of(argument):
    return argument.get("token", argument["name"] if argument["type"] == "pure-token" else None)


def enum_for(tokens):
    return next((name for name, words in ENUMS.items() if words == tokens), None)


class Flattener:
    """Makes the fields of one command of its definition's tree of arguments.

    Blocks are dissolved: which of their arguments go together is the server's to check.
    """

    def __init__(self, name, definition):
        self.name = name
        self.items = []
        arguments = ARGUMENTS.get(name, definition.get("arguments", []))
        for index, argument in enumerate(arguments):
            following = arguments[index + 1] if index + 1 < len(arguments) else {}
            self.add(argument, [], following=following)

    def value(self, argument):
        kind = TYPES.get((self.name, argument["name"]), argument["type"])
        if argument["name"] == "cursor":
            return "uint"
        return {"integer": "int", "unix-time": "int", "double": "double"}.get(kind, "arg")

    def is_optional(self, argument):
        return argument.get("optional", False) and (self.name, argument["name"]) not in REQUIRED

    def method_name(self, argument):
        token = argument.get("token")
        return snake(token if token and re.match(r"[A-Za-z]", token) else argument["name"])

    def add(self, argument, prefix, optional=False, following=None):
        optional = optional or self.is_optional(argument)
        prefix = prefix + [argument["token"]] if "token" in argument and argument["type"] != "pure-token" else prefix
        kind = argument["type"]
        if argument["name"] == "numkeys" and following:
            self.numkeys(following, prefix)
        elif argument.get("multiple") and (kind == "oneof" or argument.get("multiple_token")):
            self.pushed(argument, prefix)
        elif kind == "oneof":
            self.oneof(argument, prefix, optional)
        elif kind == "block":
            self.block(argument, prefix, optional)
        elif kind == "pure-token":
            self.pure(argument, optional)
        elif argument.get("multiple"):
            self.values("args", plural(snake(argument["name"])), argument, prefix, optional)
        else:
            self.values(self.value(argument), snake(argument["name"]), argument, prefix, optional)

    def values(self, kind, name, argument, prefix, optional):
        """A value, or several of one name."""
        is_list = kind in ("args", "pairs", "triples")
        type_, _, convert, sample = VALUES[kind]
        item = Item(field=name, type=type_)
        if argument.get("token"):
            # By its word and not by its name, which several arguments can have.
            item.field = snake(argument["token"]) if re.match(r"[A-Za-z]", argument["token"]) else name
        param = Param(name, kind)
        if not optional:
            item.param, item.field = param, name
            item.least = (sample,)
        elif is_list:
            item.initial = f"{type_.split('<')[0]}::none()"
            item.methods = [Method(item.field, [param], f"self.{item.field} = {convert.format(name)};",
                                   usage(argument, bare=True))]
        else:
            item.type, item.initial = f"Option<{type_}>", "None"
            item.methods = [Method(item.field, [param], f"self.{item.field} = Some({convert.format(name)});",
                                   usage(argument, bare=True))]
        self.tagged(item, prefix, optional, is_list)
        if argument["type"] == "key":
            item.keys = f"self.{item.field}.each(visit);"
        if argument["type"] == "block" and argument["arguments"][0]["type"] == "key":
            item.keys = f"self.{item.field}.each_first(visit);"
        self.items.append(item)

    def tagged(self, item, prefix, optional, is_list):
        """The words before a value: always there, or with the value only."""
        target = f"self.{item.field}"
        if not optional:
            self.words(prefix)
            item.fixed, item.count = (0, f"{target}.count()") if is_list else (1, "")
            item.write = f"request.part(&{target});"
        elif not prefix:
            item.count, item.write = f"{target}.count()", f"request.part(&{target});"
        else:
            words = "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in prefix)
            item.count = f"tagged({len(prefix)}, &{target})"
            item.write = f'request.tagged(b"{words}", &{target});'

    def words(self, prefix):
        for word in prefix:
            self.items.append(Item(fixed=1, write=f"request.token({bulk(word)});"))

    def numkeys(self, keys, prefix):
        name = plural(snake(keys["name"]))
        self.words(prefix)
        self.items.append(Item(fixed=1, write=f"request.number_of(&self.{name});"))

    def pure(self, argument, optional):
        word = token_of(argument)
        name = self.method_name(argument)
        if not optional:
            return self.words([word])
        self.items.append(Item(
            field=name, type="bool", initial="false", count=f"usize::from(self.{name})",
            write=f"request.flag(self.{name}, {bulk(word)});",
            methods=[Method(name, [], f"self.{name} = true;", usage(argument, bare=True))]))

    def oneof(self, argument, prefix, optional):
        alternatives = argument["arguments"]
        filters = [a for a in alternatives if a["type"] == "oneof"]
        if filters:
            # CLIENT KILL, whose older form is one bare address: for that there are raw commands.
            return self.add(filters[0], prefix, optional)
        kinds = {alternative["type"] for alternative in alternatives}
        if kinds == {"pure-token"}:
            return self.one_word(argument, prefix, optional)
        plain = [a for a in alternatives if a["type"] in ("string", "key", "integer") and "token" not in a]
        if plain and kinds - {"pure-token"} <= {"string", "key", "integer"}:
            # The words are values as any other to whoever calls: `*`, `$`, `RESET`.
            return self.values("arg", snake(plain[0]["name"]), plain[0], prefix, optional)
        if any(a["type"] == "block" and all(b.get("optional") for b in a["arguments"]) for a in alternatives):
            for alternative in alternatives:
                self.add(alternative, prefix, optional=True)
            return None
        return self.choice(argument, prefix, optional)

    def one_word(self, argument, prefix, optional):
        tokens = [token_of(alternative) for alternative in argument["arguments"]]
        name, enum = snake(argument["name"]), enum_for(tokens)
        if optional and (enum in ("Unit", "Aggregate") or prefix):
            item = Item(field=snake(prefix[-1]) if prefix else name, type=f"Option<{enum}>", initial="None")
            item.methods = [Method(item.field, [Param(name, enum)], f"self.{item.field} = Some({name});",
                                   usage(argument, bare=True))]
            self.tagged(item, prefix, True, False)
        elif optional:
            item = Item(field=name, type="Option<Token>", initial="None")
            for alternative in argument["arguments"]:
                word = token_of(alternative)
                item.methods.append(Method(self.method_name(alternative), [],
                                           f"self.{name} = Some(Token({bulk(word)}));",
                                           usage(alternative, bare=True)))
            self.tagged(item, prefix, True, False)
        else:
            assert enum, (self.name, tokens)
            item = Item(field=name, type=enum, param=Param(name, enum), fixed=1,
                        write=f"request.part(&self.{name});", least=(f"{enum}::{camel(tokens[0])}",))
            self.words(prefix)
        self.items.append(item)

    def choice(self, argument, prefix, optional):
        """One of several words, each with its own values: a method each, and one field."""
        name = snake(argument["name"])
        item = Item(field=name, initial="None", keys="")
        most, after = 0, []
        for alternative in argument["arguments"]:
            params = []
            if alternative["type"] == "block":
                inner = alternative["arguments"]
                params = [self.parameter(a) for a in inner if not a.get("optional")]
                after += [a for a in inner if a.get("optional")]
            elif alternative["type"] != "pure-token":
                params = [self.parameter(alternative)]
            words = [alternative["token"]] if "token" in alternative else []
            if not words and alternative["type"] == "block" and "token" in alternative["arguments"][0]:
                words = [alternative["arguments"][0]["token"]]
            most = max(most, len(params))
            values = [f"Some({argument_of(p)})" for p in params]
            if alternative["type"] == "pure-token":
                words = [token_of(alternative)]
            assert words, (self.name, alternative["name"])
            token = bulk(words[0])
            method = snake(words[0])
            item.methods.append(Method(
                method, params, (token, values), usage(alternative, bare=True)))
            if alternative["type"] == "key":
                item.keys = f"self.{name}.each(visit);"
        for method in item.methods:
            token, values = method.body
            values += ["None"] * (most - len(values))
            method.body = f"self.{name} = Some(Choice({token}, [{', '.join(values)}]));"
        item.type = f"Option<Choice<'a, {most}>>"
        self.tagged(item, prefix, True, False)
        if not optional:
            first = item.methods[0]
            item.least = (f".{first.name}({', '.join(sample(p) for p in first.params)})",)
        self.items.append(item)
        for inner in after:
            self.add(inner, [], optional=True)

    def parameter(self, argument):
        name = snake(argument["name"])
        if argument["type"] == "oneof":
            enum = enum_for([token_of(a) for a in argument["arguments"]])
            assert enum, (self.name, name)
            return Param(name, enum)
        return Param(name, self.value(argument))

    def pushed(self, argument, prefix):
        """What may be given several times, each with its words: methods that add to one list."""
        name = plural(snake(argument["name"]))
        item = Item(field=name, type="Vec<Arg<'a>>", initial="Vec::new()",
                    count=f"self.{name}.count()", write=f"request.part(&self.{name});")
        self.push_methods(item, argument, prefix)
        if not self.is_optional(argument):
            first = item.methods[0]
            item.least = (f".{first.name}({', '.join(sample(p) for p in first.params)})",)
        self.items.append(item)

    def push_methods(self, item, argument, prefix):
        tokens = prefix
        kind = argument["type"]
        if kind == "oneof" and all(a["type"] == "pure-token" for a in argument["arguments"]) and prefix:
            enum = enum_for([token_of(a) for a in argument["arguments"]])
            assert enum, (self.name, argument["name"])
            return self.push(item, snake(prefix[-1]), tokens, [Param(snake(argument["name"]), enum)], argument)
        if kind == "oneof":
            for alternative in argument["arguments"]:
                inner = tokens + [alternative["token"]] if "token" in alternative else tokens
                self.push_methods(item, alternative, inner)
            return None
        if kind == "pure-token":
            return self.push(item, self.method_name(argument), [token_of(argument)], [], argument)
        if kind == "block" and any(a["type"] == "oneof" for a in argument["arguments"]):
            for inner in argument["arguments"]:
                self.push_methods(item, inner, tokens + ([inner["token"]] if "token" in inner else []))
            return None
        inner = argument["arguments"] if kind == "block" else [argument]
        method = snake(tokens[-1]) if tokens else snake(argument["name"])
        return self.push(item, method, tokens, [self.parameter(a) for a in inner], argument)

    def push(self, item, method, tokens, params, argument):
        values = [f'"{word}".into()' for word in tokens] + [argument_of(p) for p in params]
        item.methods.append(Method(method, params, f"self.{item.field}.extend([{', '.join(values)}]);",
                                   usage(argument, bare=True)))

    def block(self, argument, prefix, optional):
        inner = argument["arguments"]
        if argument.get("multiple"):
            kind = {2: "pairs", 3: "triples"}[len(inner)]
            name = plural(snake(argument["name"]))
            return self.values(kind, name, argument, prefix, optional)
        if not optional:
            self.words(prefix)
            for index, part in enumerate(inner):
                self.add(part, [], following=inner[index + 1] if index + 1 < len(inner) else {})
            return None
        first = len(self.items)
        for index, part in enumerate(inner):
            self.add(part, prefix if index == 0 else [], optional=True)
        self.join(argument, first, [snake(a["name"]) for a in inner if not a.get("optional")])
        return None

    def join(self, argument, first, required):
        """One method for the arguments that go together, instead of one each."""
        if len(required) < 2:
            if len(required) == 1 and "token" in argument:
                item = self.items[first]
                assert len(item.methods) == 1, self.name
                item.methods[0].name = snake(argument["token"])
            return
        default = argument.get("token", argument["name"])
        name = snake(BLOCKS.get((self.name, argument["name"]), default))
        params, bodies = [], []
        for item in self.items[first:]:
            if item.type == "Option<Token>" and item.field in required:
                # A word of several, one of which must be said.
                enum = enum_for_methods(item)
                item.type = f"Option<{enum}>"
                item.methods = []
                params.append(Param(item.field, enum))
                bodies.append(f"self.{item.field} = Some({item.field});")
            elif item.methods and any(p.name in required for p in item.methods[0].params):
                params += item.methods[0].params
                bodies.append(item.methods[0].body)
                item.methods = []
        doc = usage(argument, bare=True)
        self.items[first].methods.append(Method(name, params, "\n".join(bodies), doc))


def enum_for_methods(item):
    tokens = [re.search(r"\\n(.*)\\r\\n", method.body).group(1) for method in item.methods]
    return enum_for(tokens)


def argument_of(param):
    return f"{param.name}.into()"


def sample(param):
    if param.kind in ENUMS:
        return f"{param.kind}::{camel(ENUMS[param.kind][0])}"
    return VALUES[param.kind][3]


def usage(argument, bare=False):
    """An argument as help shows it: `[EX seconds | PX milliseconds]`."""
    kind = argument["type"]
    if kind == "oneof":
        text = " | ".join(usage(a) for a in argument["arguments"])
        plain = bare or argument.get("optional") and "token" not in argument and not argument.get("multiple")
        text = text if plain else f"<{text}>"
    elif kind == "block":
        text = " ".join(usage(a) for a in argument["arguments"])
    elif kind == "pure-token":
        text = token_of(argument)
    else:
        text = argument["name"].lower()
    word = argument["token"] + " " if "token" in argument and kind != "pure-token" else ""
    if argument.get("multiple"):
        again = word if argument.get("multiple_token") else ""
        text = f"{word}{text} [{again}{text} ...]"
    else:
        text = word + text
    return f"[{text}]" if argument.get("optional") and not bare else text


# Replies -------------------------------------------------------------------------------------------------------------

def output(schema):
    """The Rust type of a reply, `Reply<'r>` where there is not one type for all that may come."""
    if not schema:
        return "Reply<'r>"
    variants = schema.get("oneOf") or schema.get("anyOf")
    if variants:
        return output_of_several(variants)
    if "const" in schema:
        if isinstance(schema["const"], int):
            return "i64"
        return "()" if schema["const"] in ("OK", "RESET") else BULK
    kind = schema.get("type")
    if kind == "array":
        return output_of_array(schema)
    if kind == "object":
        values = schema.get("additionalProperties")
        value = output(values) if isinstance(values, dict) else "Reply<'r>"
        return f"Map<'r, &'r [u8], {value}>"
    return {"string": BULK, "integer": "i64", "number": "f64", "null": "null"}.get(kind, "Reply<'r>")


def output_of_several(variants):
    if {variant.get("const", "") for variant in variants} == {0, 1}:
        return "bool"
    types = {output(variant) for variant in variants}
    is_optional = "null" in types
    types.discard("null")
    if types == {"()", BULK}:
        types = {BULK}
    if len(types) != 1:
        return "Reply<'r>"
    only = types.pop()
    if only == "Reply<'r>":
        return only
    return f"Option<{only}>" if is_optional else only


def output_of_array(schema):
    items = schema.get("items")
    if isinstance(items, dict):
        item = output(items)
        if item.startswith(f"({BULK}, ") and item.count(",") == 1:
            return f"Map<'r, {item[1:-1]}>"
        return f"Array<'r, {item}>"
    if not items or "additionalItems" in schema:
        return "Array<'r, Reply<'r>>" if not items else "Reply<'r>"
    if len(items) == 2 and "[0-9]+-[0-9]+" in items[0].get("pattern", "") and "array" in json.dumps(items[1]):
        return ENTRY
    parts = [output(item) for item in items]
    if len(parts) == 1:
        return f"Array<'r, {parts[0]}>"
    if any(part.startswith("Option<Array") for part in parts) or len(parts) > 4:
        return "Reply<'r>"
    return f"({', '.join(parts)})"


# Commands ------------------------------------------------------------------------------------------------------------

class Command:
    def __init__(self, name, definition):
        self.name = name
        self.definition = definition
        self.container = definition.get("container")
        self.function = snake(name)
        self.struct = camel(name) if name != "COMMAND" else "Commands"
        self.items = Flattener(name, definition).items
        self.params = [item.param for item in self.items if item.param]
        self.fields = [item for item in self.items if item.field]
        self.shape = SHAPES.get(name)
        if self.shape:
            self.output = None
        else:
            self.output = OUTPUTS.get(name) or output(definition.get("reply_schema"))

    @property
    def has_lifetime(self):
        return any("'a" in item.type for item in self.fields)

    @property
    def has_optional_key(self):
        return any(item.keys and item.type.startswith("Option") for item in self.fields)

    @property
    def flags(self):
        words = set(self.definition.get("command_flags", []))
        flags = [flag for flag in ("READONLY", "WRITE", "ADMIN") if flag in words]
        if "BLOCKING" in words:
            flags.append("BLOCKING")
        if not self.definition.get("key_specs"):
            flags.append("KEYLESS")
        if self.name in BREAKS_ORDER:
            flags.append("BREAKS_ORDER")
        if self.name in CONNECTION_STATE:
            flags.append("CONNECTION_STATE")
        return flags

    @property
    def usage(self):
        arguments = self.definition.get("arguments") or ARGUMENTS.get(self.name, [])
        return " ".join([self.name] + [usage(argument) for argument in arguments])

    @property
    def complexity(self):
        text = self.definition.get("complexity", "")
        found = re.findall(r"O\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", text)
        if not found:
            return ""
        return found[1] if len(found) > 1 and ", so O(" in text else found[0]

    @property
    def since(self):
        return self.definition["since"]

    def render(self):
        return "\n\n".join(filter(None, [
            self.render_function(), self.render_struct(), self.render_methods(), self.render_command()])) + "\n"

    def doc(self):
        facts = [self.complexity] if self.complexity else []
        facts.append(f"since {self.since}")
        deprecated = self.definition.get("deprecated_since")
        text = f"`{self.usage}`: {', '.join(facts)}." + (f" Deprecated since {deprecated}." if deprecated else "")
        must = [item for item in self.items if item.least and item.least[0].startswith(".")]
        for item in must:
            names = ", ".join(f"`{method.name}`" for method in item.methods)
            text += f" One of {names} is to be called."
        return "\n".join(f"/// {line}" for line in wrap(text, 114, break_long_words=False, break_on_hyphens=False))

    def generics(self, lifetime="'a", shape=None):
        parts = [lifetime] if self.has_lifetime else []
        if self.shape and shape is not None:
            parts.append(shape)
        return f"<{', '.join(parts)}>" if parts else ""

    def render_function(self):
        generics = "<'a>" if self.has_lifetime else ""
        params = ", ".join(f"{p.name}: {VALUES[p.kind][1] if p.kind in VALUES else p.kind}" for p in self.params)
        inits = []
        for item in self.fields:
            if not item.param:
                inits.append(f"{item.field}: {item.initial}")
                continue
            convert = VALUES[item.param.kind][2] if item.param.kind in VALUES else "{}"
            value = convert.format(item.param.name)
            inits.append(item.field if value == item.field else f"{item.field}: {value}")
        if self.shape:
            inits.append("shape: PhantomData")
        body = f"{self.struct} {{ {', '.join(inits)} }}" if inits else self.struct
        inline = "" if "impl " in params else "#[inline]\n"
        return f"{self.doc()}\n{inline}pub fn {self.function}{generics}({params}) -> {self.struct}{generics} {{\n{body}\n}}"

    def render_struct(self):
        doc = f"/// The command that [`{self.function}`] builds."
        derive = "#[derive(Clone, Debug)]"
        fields = [f"{item.field}: {item.type}," for item in self.fields]
        generics = self.generics(shape=f"S = shape::{self.shape[0]}") if self.shape else self.generics()
        if self.shape:
            fields.append("shape: PhantomData<S>,")
        if not fields:
            return f"{doc}\n{derive}\npub struct {self.struct};"
        return f"{doc}\n{derive}\npub struct {self.struct}{generics} {{\n" + "\n".join(fields) + "\n}"

    def render_methods(self):
        methods = [method for item in self.items for method in item.methods]
        if not methods:
            return ""
        names = [method.name for method in methods]
        assert len(names) == len(set(names)), (self.name, names)
        generics = self.generics(shape="S")
        text = "\n\n".join(self.render_method(method) for method in methods)
        if self.shape:
            text += "\n\n" + self.render_reshape()
        return f"impl{generics} {self.struct}{generics} {{\n{text}\n}}"

    def render_method(self, method):
        params = "".join(f", {p.name}: {VALUES[p.kind][1] if p.kind in VALUES else p.kind}" for p in method.params)
        shape = self.shape and self.shape[1].get(method.name)
        result = f"{self.struct}{self.generics(shape=f'shape::{shape}')}" if shape else "Self"
        last = "self.reshape()" if shape else "self"
        inline = "" if "impl " in params else "#[inline]\n"
        doc = "\n".join(f"/// {line}" for line in wrap(f"`{method.doc}`.", 110, break_on_hyphens=False))
        return f"{doc}\n{inline}pub fn {method.name}(mut self{params}) -> {result} {{\n{method.body}\n{last}\n}}"

    def render_reshape(self):
        fields = ", ".join(f"{item.field}: self.{item.field}" for item in self.fields)
        return (f"fn reshape<T>(self) -> {self.struct}{self.generics(shape='T')} {{\n"
                f"{self.struct} {{ {fields}, shape: PhantomData }}\n}}")

    def render_command(self):
        if self.shape:
            generics = "<S: Shape>"
            target = f"{self.struct}{self.generics(lifetime=chr(39) + '_', shape='S')}"
            result = "S::Output<'r>"
        else:
            generics, target = "", f"{self.struct}{self.generics(lifetime=chr(39) + '_')}"
            result = self.output
        dynamic = self.name in ("XREAD", "XREADGROUP")
        names = [flag for flag in self.flags if not (dynamic and flag == "BLOCKING")]
        flags = flags_of(names)
        if dynamic:
            flags = f"let flags = {flags};\nmatch self.block {{\nSome(_) => flags.with(Flags::BLOCKING),\nNone => flags,\n}}"
        parts = [f"type Output<'r> = {result};", f"fn flags(&self) -> Flags {{\n{flags}\n}}", self.render_encode()]
        if self.name in BLOCKS_FOR:
            parts.append(self.render_blocking())
        keys = [item.keys for item in self.fields if item.keys]
        if keys:
            parts.append("fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {\n" + "\n".join(keys) + "\n}")
        return f"impl{generics} Command for {target} {{\n" + "\n\n".join(parts) + "\n}"

    def render_blocking(self):
        name, unit = BLOCKS_FOR[self.name]
        item = next(item for item in self.fields if item.field == name)
        if item.type.startswith("Option"):
            body = f"self.{name}.map_or(Blocking::No, Blocking::{unit})"
        else:
            body = f"Blocking::{unit}(self.{name})"
        return f"fn blocking(&self) -> Blocking {{\n{body}\n}}"

    def render_encode(self):
        name = "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in self.name.split(" "))
        fixed = len(self.name.split(" ")) + sum(item.fixed for item in self.items)
        counts = [item.count for item in self.items if item.count]
        writes = [item.write for item in self.items if item.write]
        if not counts:
            head = f'request.fixed(b"*{fixed}\\r\\n{name}");'
        else:
            head = f'request.begin({" + ".join([str(fixed)] + counts)}, b"*0\\r\\n{name}");'
        return "fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {\n" + "\n".join([head] + writes) + "\n}"

    def minimal(self):
        """The shortest call that the server takes, and with how many arguments it goes out."""
        args, calls = [], []
        for item in self.items:
            if item.param:
                args.append(sample(item.param))
            elif item.least:
                calls.append(item.least[0])
        return f"{self.function}({', '.join(args)}){''.join(calls)}"


# Files ---------------------------------------------------------------------------------------------------------------

NOTE = "Generated by `generate.py`."

IMPORTS = {
    "onecopy_resp_proto": ["Reply"],
    "crate::arg": ["Arg"],
    "crate::args": ["Args"],
    "crate::command": ["Array", "Blocking", "Command", "Entry", "Flags", "Map", "Scanned"],
    "crate::command::shape": ["Shape"],
    "crate::part": ["Choice", "Token", "tagged"],
    "crate::request": ["Request"],
    "crate::tuples": ["Pairs", "Triples"],
}


def file_of(title, commands):
    body = "\n".join(command.render() for command in commands)
    code = re.sub(r"///.*", "", body)
    uses = []
    for module, names in IMPORTS.items():
        found = [name for name in names if re.search(rf"(?<![\w:]){name}\b", code)]
        if module == "crate::command::shape" and found:
            found = ["self", *found]
        counts = any(".count()" in command.render_encode() or command.has_optional_key for command in commands)
        if module == "crate::part" and counts:
            found.append("Part")
        uses += [f"use {module}::{{{', '.join(found)}}};"] if found else []
    words = [name for name in ENUMS if re.search(rf"\b{name}\b", code)]
    uses += [f"use crate::command::word::{{{', '.join(words)}}};"] if words else []
    uses = rustfmt("\n".join(uses).replace("use onecopy_resp_proto::{Reply};", "use onecopy_resp_proto::{Reply};\n"))
    std = "use std::marker::PhantomData;\n\n" if "PhantomData" in body else ""
    return f"//! {title} {NOTE}\n\n{std}{uses}\n{body}"


def lines_of(text):
    return rustfmt(text).count("\n")


def rustfmt(text):
    done = subprocess.run(["rustfmt", "--edition", "2024", "--config", "style_edition=2024"], input=text,
                          capture_output=True, text=True)
    if done.returncode:
        Path("/dev/stderr").write_text(done.stderr)
        dump = Path(tempfile.gettempdir()) / "generate-failed.rs"
        dump.write_text(text)
        sys.exit(f"rustfmt refused {dump}")
    return done.stdout


TITLES = {
    "bitmap": "Bitmaps.", "cluster": "The cluster.", "connection": "Connections and clients.",
    "generic": "Keys, whatever they hold.", "geo": "Places on the globe.", "hash": "Hashes.",
    "hyperloglog": "Counts of distinct elements.", "list": "Lists.", "pubsub": "Channels.",
    "scripting": "Scripts and functions.", "sentinel": "Sentinels.", "server": "The server.", "set": "Sets.",
    "sorted_set": "Sorted sets.", "stream": "Streams.", "string": "Strings.", "transactions": "Transactions.",
}


def parts_of(commands):
    """Files of at most MOST_LINES: a container's commands apart, the others by initial."""
    groups = {}
    for command in commands:
        groups.setdefault(command.container or "", []).append(command)
    small = [key for key, group in groups.items() if key and len(group) < 6]
    for key in small:
        groups.setdefault("", []).extend(groups.pop(key))
    parts = []
    for container, group in sorted(groups.items()):
        group.sort(key=lambda command: command.name)
        for chunk in chunks_of(group):
            first, last = chunk[0].function, chunk[-1].function
            name = first if first == last else f"{first}_to_{last}"
            if container and len(chunk) == len(group):
                name = {"COMMAND": "commands"}.get(container, snake(container))
            parts.append((name, chunk))
    return parts


def chunks_of(group):
    """Consecutive commands, in as few parts as go and about as long each."""
    sizes = [lines_of(command.render()) + 1 for command in group]
    most = sum(sizes) / -(-sum(sizes) // (MOST_LINES - 40))
    chunks, total = [], 0
    for command, size in zip(group, sizes):
        at = int((total + size / 2) / most)
        while len(chunks) <= at:
            chunks.append([])
        chunks[at].append(command)
        total += size
    return chunks


def family_files(family, commands):
    whole = rustfmt(file_of(TITLES[family], commands))
    if whole.count("\n") <= MOST_LINES:
        return {f"src/command/{family}.rs": whole}
    files = {}
    parts = parts_of(commands)
    names = sorted(name for name, _ in parts)
    mods = "\n".join(f"mod {name};" for name in names) + "\n\n" + "\n".join(f"pub use {name}::*;" for name in names)
    files[f"src/command/{family}.rs"] = rustfmt(f"//! {TITLES[family]} {NOTE}\n\n{mods}\n")
    for name, chunk in parts:
        title = f"{TITLES[family][:-1]}: `{chunk[0].name}` to `{chunk[-1].name}`."
        files[f"src/command/{family}/{name}.rs"] = rustfmt(file_of(title, chunk))
    return files


def words_file():
    text = (f"//! Arguments that are one of several words. {NOTE}\n\n"
            "use crate::arg::Arg;\nuse crate::part::Part;\nuse crate::request::Request;\n\n"
            "macro_rules! word {\n($name:ident) => {\n"
            "impl Part for $name {\nfn count(&self) -> usize {\n1\n}\n\n"
            "fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {\nrequest.lent(self.as_str().as_bytes());\n}\n}\n\n"
            "impl From<$name> for Arg<'_> {\nfn from(word: $name) -> Self {\nword.as_str().into()\n}\n}\n};\n}\n\n")
    for name, tokens in ENUMS.items():
        variants = "\n".join(f"/// `{token}`.\n{camel(token)}," for token in tokens)
        arms = "\n".join(f'Self::{camel(token)} => "{token}",' for token in tokens)
        either = " or ".join([", ".join(f"`{token}`" for token in tokens[:-1]), f"`{tokens[-1]}`"])
        text += (f"/// {either}.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {name} {{\n{variants}\n}}\n\n"
                 f"impl {name} {{\n/// The word.\npub const fn as_str(self) -> &'static str {{\nmatch self {{\n{arms}\n}}\n}}\n}}\n\n"
                 f"word!({name});\n\n")
    return rustfmt(text)


def table_file(commands):
    rows = []
    for command in sorted(commands, key=lambda command: command.name):
        deprecated = command.definition.get("deprecated_since")
        rows.append("    row(" + ", ".join([
            json.dumps(command.usage), str(len(command.name)), f'"{command.definition["group"]}"', f'"{command.since}"',
            f'"{command.complexity}"', str(command.definition["arity"]), flags_of(command.flags),
            f'Some("{deprecated}")' if deprecated else "None"]) + "),")
    head = rustfmt(f"""//! The rows of the table. {NOTE}

use super::Entry;
use crate::command::Flags;

/// The name is the beginning of the usage.
#[allow(clippy::too_many_arguments)] // a table has columns
const fn row(usage: &'static str, name: usize, family: &'static str, since: &'static str, complexity: &'static str,
    arity: i32, flags: Flags, deprecated_since: Option<&'static str>) -> Entry {{
    Entry {{ name: usage.split_at(name).0, usage, family, since, complexity, arity, flags, deprecated_since }}
}}
""")
    return f"""{head}
/// Sorted by name.
#[rustfmt::skip]
pub(super) static ENTRIES: [Entry; {len(rows)}] = [
""" + "\n".join(rows) + "\n];\n"


def flags_of(names):
    first, *others = names or ["NONE"]
    return f"Flags::{first}" + "".join(f".with(Flags::{name})" for name in others)


def minimal_file(commands):
    families = {}
    for command in commands:
        families.setdefault(command.definition["group"], []).append(command)
    body = []
    for family, group in sorted(families.items()):
        lines = "\n".join(f'check("{command.name}", &{family}::{command.minimal()});'
                          for command in sorted(group, key=lambda c: c.name))
        body.append(f"pub(crate) fn {family}(check: &mut Check) {{\n" + lines.replace("check(", "check.minimal(") + "\n}\n")
    enums = [name for name in ENUMS if re.search(rf"\b{name}::", "\n".join(body))]
    text = (f"//! Each command in its shortest form. {NOTE}\n\nuse onecopy_valkey::command::word::{{{', '.join(enums)}}};\n"
            f"use onecopy_valkey::command::{{{', '.join(sorted(families))}}};\n\nuse crate::Check;\n\n" + "\n".join(body))
    return rustfmt(text)


def generate(definitions):
    facts = json.loads(Path(definitions).read_text())["commands"]
    commands, rows = [], []
    for name, definition in facts.items():
        command = Command(name, definition)
        rows.append(command)
        if "function" in definition:  # the others only hold subcommands
            commands.append(command)
    families = {}
    for command in sorted(commands, key=lambda command: command.name):
        families.setdefault(command.definition["group"], []).append(command)
    files = {}
    for family, group in families.items():
        files |= family_files(family, group)
    files["src/command/word.rs"] = words_file()
    files["src/command/table/entries.rs"] = table_file(rows)
    files["tests/minimal_commands/all.rs"] = minimal_file(commands)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with what is committed")
    parser.add_argument("definitions", help="the JSON file with the definitions")
    arguments = parser.parse_args()
    files = generate(arguments.definitions)
    stale = []
    committed = {str(path.relative_to(HERE)) for path in (HERE / "src/command").rglob("*.rs")
                 if NOTE in path.read_text().split("\n\n", 1)[0]}
    for name in sorted(committed - files.keys()):
        stale.append(name)
        if not arguments.check:
            (HERE / name).unlink()
    for name, text in sorted(files.items()):
        path = HERE / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not arguments.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    if arguments.check and stale:
        sys.exit("\n".join(["these files are not what the definitions give:"] + stale))
    print(f"{len(files)} files, {sum(text.count(chr(10)) for text in files.values())} lines, {len(stale)} written"
          if not arguments.check else "every file is what the definitions give")


if __name__ == "__main__":
    main()
