"""What the configuration's JSON Schema says about one option: its type in words, its names, its place."""

from __future__ import annotations

from typing import Any

from pipeline.yaml_lines import KeyPath

# What stands for the free keys of a mapping when its options are named.
_FREE_KEY = {"features": "COLUMN", "columns": "COLUMN", "gate": "METRIC", "steps": "STEP"}


class Schema:
    """A JSON Schema as pydantic writes it, walked by the path of an option.

    Args:
      root: the schema of the whole configuration.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        """The node without references, and without the `null` of an option that may be left out."""
        while True:
            if "$ref" in node:
                node = self.root["$defs"][node["$ref"].rsplit("/", 1)[-1]]
                continue
            branches = [branch for branch in node.get("anyOf", ()) if branch.get("type") != "null"]
            if len(branches) != 1:
                return node
            node = {**{key: node[key] for key in ("description",) if key in node}, **branches[0]}

    def walk(self, loc: KeyPath) -> tuple[KeyPath, dict[str, Any]]:
        """Follows pydantic's location of an error, which also names the branches of unions.

        Returns the path of the option in the file, and the schema there. Stops where the path does.
        """
        node, path = self.resolve(self.root), []
        for part in loc:
            branch = self._branch(node, part)
            if branch is not None:
                node = branch
                continue
            child = self.child(node, part)
            if child is None:
                break
            path.append(part)
            node = child
        return tuple(path), node

    def child(self, node: dict[str, Any], part: str | int) -> dict[str, Any] | None:
        """The schema of a key or an item of `node`; None when it has no such thing."""
        if isinstance(part, int):
            items = node.get("items")
            return self.resolve(items) if isinstance(items, dict) else None
        if part in node.get("properties", ()):
            return self.resolve(node["properties"][part])
        free = node.get("additionalProperties")
        return self.resolve(free) if isinstance(free, dict) and part != "[key]" else None

    def kinds(self, node: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The alternatives of a node that a key such as `kind` tells apart, by that key's value."""
        mapping = node.get("discriminator", {}).get("mapping", {})
        return {kind: self.resolve({"$ref": reference}) for kind, reference in mapping.items()}

    def alternatives(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        """The schemas of which the value must meet one; the node itself when there is no choice."""
        branches = node.get("anyOf") or node.get("oneOf")
        return [self.resolve(branch) for branch in branches] if branches else [node]

    def types(self, node: dict[str, Any]) -> set[str]:
        """The JSON types that the node takes."""
        return {branch.get("type", "object") for branch in self.alternatives(node)}

    def describe(self, node: dict[str, Any]) -> str:
        """What the node takes, in words: `an integer greater than 0`."""
        branches = self.alternatives(node)
        if len(branches) > 1:
            kinds = self.kinds(node)
            if kinds:
                tag = node["discriminator"]["propertyName"]
                return f"a mapping with {tag}: one of {', '.join(sorted(kinds))}"
            return " or ".join(self.describe(branch) for branch in branches)
        node = branches[0]
        if "enum" in node:
            return f"one of {', '.join(map(str, node['enum']))}"
        if "const" in node:
            return str(node["const"])
        kind = node.get("type", "")
        if kind in ("integer", "number"):
            return ("an integer" if kind == "integer" else "a number") + _bounds(node)
        if kind == "boolean":
            return "true or false"
        if kind == "string":
            return _text(node)
        if kind == "array":
            items = node.get("items")
            return f"a list, each item {self.describe(self.resolve(items))}" if items else "a list"
        if kind == "null":
            return "nothing"
        names = node.get("properties")
        return f"a mapping of options: {', '.join(names)}" if names else "a mapping"

    def options(self) -> list[str]:
        """The path of every option, in order; free keys are in capitals: features.COLUMN.kind."""
        found: dict[str, None] = {}
        self._collect(self.resolve(self.root), "", found)
        return list(found)

    def _collect(self, node: dict[str, Any], prefix: str, found: dict[str, None]) -> None:
        for branch in self.alternatives(node):
            for name, child in branch.get("properties", {}).items():
                found[prefix + name] = None
                self._collect(self.resolve(child), f"{prefix}{name}.", found)
            free = branch.get("additionalProperties")
            if isinstance(free, dict):
                name = _FREE_KEY.get(prefix.rstrip(".").rsplit(".", 1)[-1], "NAME")
                self._collect(self.resolve(free), f"{prefix}{name}.", found)

    def _branch(self, node: dict[str, Any], part: str | int) -> dict[str, Any] | None:
        kinds = self.kinds(node)
        if kinds:
            return kinds.get(str(part))
        if len(node.get("anyOf", ())) > 1:
            return next((each for each in self.alternatives(node) if each.get("title") == part), None)
        return None


def _bounds(node: dict[str, Any]) -> str:
    words = (
        ("exclusiveMinimum", "greater than"),
        ("minimum", "of at least"),
        ("exclusiveMaximum", "below"),
        ("maximum", "of at most"),
    )
    return " and".join(f" {word} {node[key]:g}" for key, word in words if key in node)


def _text(node: dict[str, Any]) -> str:
    if node.get("minLength") == node.get("maxLength") == 1:
        return "a single character"
    if "pattern" in node:
        about = f" ({node['description']})" if "description" in node else ""
        return f"text that matches {node['pattern']}{about}"
    return "text"
