"""Names, words of the protocol, and arguments as help shows them."""

import re

from .known import ENUMS, KEYWORDS


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


def doc_of(argument):
    """One line about an option: how it is written, and since when there is one where that was not always."""
    since = f", since {argument['since']}" if "since" in argument else ""
    return f"`{usage(argument, bare=True)}`{since}"
