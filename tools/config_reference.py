"""Write docs/configuration.md from the sections' own descriptions.

Usage: .venv/bin/python tools/config_reference.py [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pipeline.config import json_schema

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
_HEAD = """# Configuration

`pipeline.yaml` is the whole interface. Every key has a default except `data.source` and `label`; an unknown
key is an error that names the line and the key that was probably meant. `--set a.b=c` overrides a key for
one command, `headrace config` prints the resolved whole, `headrace config --schema` this page as JSON Schema.

*This page is made by `tools/config_reference.py`.*
"""


def _type(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    if "$ref" in spec:
        name = spec["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in spec:
        return f"`{spec['const']}`"
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    for key in ("anyOf", "oneOf"):
        if key in spec:
            return " or ".join(_type(part, defs) for part in spec[key] if part.get("type") != "null")
    if spec.get("type") == "array":
        return f"list of {_type(spec.get('items', {}), defs)}" if spec.get("items") else "list"
    if spec.get("type") == "object":
        inner = spec.get("additionalProperties")
        return f"mapping to {_type(inner, defs)}" if isinstance(inner, dict) else "mapping"
    return {"string": "text", "number": "number", "integer": "integer", "boolean": "true or false"}.get(
        spec.get("type", ""), ""
    )


def _default(spec: dict[str, Any], required: bool) -> str:
    if required:
        return "needed"
    value = spec.get("default")
    if value is None or "$ref" in spec or isinstance(value, dict):
        return ""
    return f"`{json.dumps(value)}`"


def _table(model: dict[str, Any], defs: dict[str, Any]) -> list[str]:
    lines = ["| key | takes | default | |", "|---|---|---|---|"]
    for key, spec in model["properties"].items():
        text = spec.get("description", "").replace("|", "\\|")
        needed = key in model.get("required", ())
        lines.append(f"| `{key}` | {_type(spec, defs)} | {_default(spec, needed)} | {text} |")
    return lines


def page() -> str:
    """The page's text."""
    schema = json_schema()
    defs = schema["$defs"]
    lines = [_HEAD, "## Top level", "", *_table(schema, defs)]
    for name, model in defs.items():
        lines += ["", f"## {name}", "", model.get("description", ""), "", *_table(model, defs)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE} is out of date\n  fix: .venv/bin/python tools/config_reference.py")
    else:
        PAGE.write_text(page())
