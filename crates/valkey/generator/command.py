"""One command in Rust: its function, its builder, its options, what is sent and what its reply is read as."""

import re
from textwrap import wrap

from .arguments import VALUES, Flattener, sample
from .known import (ARGUMENTS, BLOCKS_FOR, BREAKS_ORDER, CONNECTION_STATE, ENDS_TRANSACTION, OUTPUTS, SHAPES,
                    TRANSACTION)
from .replies import output
from .words import camel, snake, usage


# An option that was not chosen, by its field's type.
PLAIN = {"bool": "!{}", "Option": "{}.is_none()", "Vec": "{}.is_empty()"}


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
        if self.name in TRANSACTION:
            flags.append("TRANSACTION")
        if self.name in ENDS_TRANSACTION:
            flags.append("ENDS_TRANSACTION")
        return flags

    @property
    def usage(self):
        arguments = self.definition.get("arguments") or ARGUMENTS.get(self.name, [])
        return " ".join([self.name] + [usage(argument) for argument in arguments])

    @property
    def complexity(self):
        """The expression without the sentence around it: of `O(1) for each, so O(N) for N` the second."""
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
        doc = "\n".join(f"/// {line}" for line in wrap(f"{method.doc}.", 110, break_on_hyphens=False))
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
        encode = self.render_encode()
        plain = self.render_plain()
        inherent = ""
        if plain:
            owner = f"{self.struct}{self.generics(lifetime=chr(39) + '_', shape='S')}"
            body = encode.replace("#[inline]\nfn encode<", "#[inline(never)]\nfn encode_any<")
            inherent = f"\n\nimpl{'<S>' if self.shape else ''} {owner} {{\n{body}\n}}"
            encode = plain
        parts = [f"type Output<'r> = {result};", f"fn flags(&self) -> Flags {{\n{flags}\n}}", encode]
        if self.name in BLOCKS_FOR:
            parts.append(self.render_blocking())
        keys = [item.keys for item in self.fields if item.keys]
        if keys:
            parts.append("fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {\n" + "\n".join(keys) + "\n}")
        return f"impl{generics} Command for {target} {{\n" + "\n\n".join(parts) + "\n}" + inherent

    def render_blocking(self):
        name, unit = BLOCKS_FOR[self.name]
        item = next(item for item in self.fields if item.field == name)
        if item.type.startswith("Option"):
            body = f"self.{name}.map_or(Blocking::No, Blocking::{unit})"
        else:
            body = f"Blocking::{unit}(self.{name})"
        return f"fn blocking(&self) -> Blocking {{\n{body}\n}}"

    def render_plain(self):
        """What most are, borrowed texts without options: all is looked at before anything is written, so that a compiler that sees
        the command being built knows the answers, and need not build it."""
        texts = [item for item in self.items if item.type == "Arg<'a>" and item.param]
        required = [item for item in self.items if not item.field or item.param]
        if not texts or any(item.count for item in required):
            return ""
        absent = [PLAIN.get(item.type.split("<")[0], "{}.count() == 0").format(f"self.{item.field}")
                  for item in self.items if item.field and not item.param]
        fixed = len(self.name.split(" ")) + sum(item.fixed for item in required)
        writes = [f"request.borrowed({item.field});" if item in texts else item.write for item in required]
        one = len(texts) == 1
        looked = ", ".join(f"self.{item.field}.borrowed()" for item in texts)
        found = ", ".join(f"Some({item.field})" for item in texts)
        guard = f" if {' && '.join(absent)}" if absent else ""
        body = "\n".join([f'request.fixed(b"*{fixed}\\r\\n{self.words_encoded()}");'] + writes)
        return ("#[inline]\nfn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {\n"
                f"match {looked if one else f'({looked})'} {{\n"
                f"{found if one else f'({found})'}{guard} => {{\n{body}\n}}\n"
                "_ => self.encode_any(request),\n}\n}")

    def words_encoded(self):
        return "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in self.name.split(" "))

    def render_encode(self):
        name = self.words_encoded()
        fixed = len(self.name.split(" ")) + sum(item.fixed for item in self.items)
        counts = [item.count for item in self.items if item.count]
        writes = [item.write for item in self.items if item.write]
        if not counts:
            head = f'request.fixed(b"*{fixed}\\r\\n{name}");'
        else:
            head = f'request.begin({" + ".join([str(fixed)] + counts)}, b"*0\\r\\n{name}");'
        return "#[inline]\nfn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {\n" + "\n".join([head] + writes) + "\n}"

    def minimal(self):
        """The shortest call that the server takes, and with how many arguments it goes out."""
        args, calls = [], []
        for item in self.items:
            if item.param:
                args.append(sample(item.param))
            elif item.least:
                calls.append(item.least[0])
        return f"{self.function}({', '.join(args)}){''.join(calls)}"


def flags_of(names):
    first, *others = names or ["NONE"]
    return f"Flags::{first}" + "".join(f".with(Flags::{name})" for name in others)
