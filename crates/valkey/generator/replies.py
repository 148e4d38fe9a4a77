"""The Rust types of replies, by their schemas."""

import json

from .known import BULK, ENTRY


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
