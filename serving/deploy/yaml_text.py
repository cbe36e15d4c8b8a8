"""Documents as YAML that a person would have written."""

from __future__ import annotations

import io
import json
from typing import Any


def to_yaml(*documents: Any, head: str = "") -> str:
    """The documents, one after the other, below a comment."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 4096  # no line is folded
    yaml.indent(mapping=2, sequence=4, offset=2)
    parts = []
    for document in documents:
        stream = io.StringIO()
        yaml.dump(json.loads(json.dumps(document)), stream)  # no part twice: that would become an alias
        parts.append(stream.getvalue())
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return comment + "---\n".join(parts)
