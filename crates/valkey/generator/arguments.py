"""Arguments, flattened: the fields and methods of a command's builder."""

import dataclasses
import re
from dataclasses import dataclass

from .known import ARGUMENTS, BLOCKS, ENUMS, REQUIRED, TYPES
from .words import bulk, camel, doc_of, enum_for, plural, snake, token_of

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
                                   doc_of(argument))]
        else:
            item.type, item.initial = f"Option<{type_}>", "None"
            item.methods = [Method(item.field, [param], f"self.{item.field} = Some({convert.format(name)});",
                                   doc_of(argument))]
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
            methods=[Method(name, [], f"self.{name} = true;", doc_of(argument))]))

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
            # To the caller these words are values like any other: `*`, `$`, `RESET`.
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
                                   doc_of(argument))]
            self.tagged(item, prefix, True, False)
        elif optional:
            item = Item(field=name, type="Option<Token>", initial="None")
            for alternative in argument["arguments"]:
                word = token_of(alternative)
                item.methods.append(Method(self.method_name(alternative), [],
                                           f"self.{name} = Some(Token({bulk(word)}));",
                                           doc_of(alternative)))
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
                method, params, (token, values), doc_of(alternative)))
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
                                   doc_of(argument)))

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
        doc = doc_of(argument)
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
