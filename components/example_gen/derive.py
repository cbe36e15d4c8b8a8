"""Columns that are computed from others, such as a label that says tips > 0.2 * fare.

An expression is a small part of Python's: numbers, texts in quotes, columns by name (in backticks where
the name is no identifier), arithmetic, comparisons, `in [..]`, `and`, `or`, `not`. A row in which any
column of it is missing has no value.
"""

from __future__ import annotations

import ast
import difflib
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError, cut
from components.example_gen import arrow_types
from components.example_gen.readers.base import Block

_ARITHMETIC: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type, Callable] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Expression:
    """An expression over columns.

    Args:
      text: the expression.
      where: the key of the config that holds it, for messages.

    Attributes:
      columns: the names that it uses, in the order in which they stand.

    Raises:
      UserError: when it cannot be parsed, or says more than expressions may.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text, self._where = text, where
        self._quoted: dict[str, str] = {}
        try:
            self._tree = ast.parse(re.sub(r"`([^`]*)`", self._identifier, text.strip()), mode="eval").body
        except SyntaxError as error:
            raise self._mistake(f"cannot be parsed: {error.msg}") from None
        names = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        self.columns = tuple(dict.fromkeys(self._quoted.get(name, name) for name in names))
        if not self.columns:
            raise self._mistake("names no column")

    def _identifier(self, match: re.Match[str]) -> str:
        name = f"_quoted_{len(self._quoted)}"
        self._quoted[name] = match.group(1)
        return name

    def _mistake(self, what: str, fix: str = "") -> UserError:
        return UserError(
            f"the expression {cut(self.text)!r} {what}",
            where=self._where,
            fix=fix or "such as: tips > 0.2 * fare, or status in ['late', 'lost']; `odd name` in backticks",
        )

    def compute(self, batch: pa.RecordBatch, missing: pa.Array) -> pa.Array:
        """The expression's value in each row: boolean, or float64; null where a column of it is missing.

        Args:
          batch: the columns.
          missing: texts that count as missing.

        Raises:
          UserError: for a column that is not there, or a text where a number is needed.
        """
        valid = np.ones(batch.num_rows, bool)
        with np.errstate(all="ignore"):
            values = self._value(self._tree, batch, missing, valid)
        values = np.broadcast_to(values, valid.shape)
        if values.dtype != bool:
            values = values.astype(np.float64)
            valid &= np.isfinite(values)
        return pa.array(values, mask=~valid)

    def _value(self, node: ast.AST, batch: pa.RecordBatch, missing: pa.Array, valid: np.ndarray) -> Any:
        def value(part: ast.AST) -> Any:
            return self._value(part, batch, missing, valid)

        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return np.asarray(node.value)
        if isinstance(node, ast.Name):
            return self._number(self._quoted.get(node.id, node.id), batch, missing, valid)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            return _ARITHMETIC[type(node.op)](value(node.left) * 1.0, value(node.right) * 1.0)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -(value(node.operand) * 1.0)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~_truth(value(node.operand))
        if isinstance(node, ast.BoolOp):
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return combine.reduce([np.broadcast_to(_truth(value(part)), valid.shape) for part in node.values])
        if isinstance(node, ast.Compare):
            return self._compare(node, batch, missing, valid)
        raise self._mistake("says more than an expression may")

    def _compare(
        self, node: ast.Compare, batch: pa.RecordBatch, missing: pa.Array, valid: np.ndarray
    ) -> np.ndarray:
        parts = [node.left, *node.comparators]
        texts = any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in ast.walk(node))

        def side(part: ast.AST) -> Any:
            if isinstance(part, (ast.List, ast.Tuple)):
                return [side(item) for item in part.elts]
            if texts and isinstance(part, ast.Constant):
                return str(part.value)
            if texts and isinstance(part, ast.Name):
                return self._text(self._quoted.get(part.id, part.id), batch, missing, valid)
            return self._value(part, batch, missing, valid)

        result = np.ones(valid.shape, bool)
        for left, op, right in zip(parts, node.ops, parts[1:]):
            if isinstance(op, (ast.In, ast.NotIn)):
                choices = side(right)
                if not isinstance(choices, list):
                    raise self._mistake("needs a list behind `in`")
                held = np.logical_or.reduce([side(left) == choice for choice in choices])
                result &= ~held if isinstance(op, ast.NotIn) else held
            elif type(op) in _COMPARISONS:
                result &= _COMPARISONS[type(op)](side(left), side(right))
            else:
                raise self._mistake("says more than an expression may")
        return result

    def _cells(self, name: str, batch: pa.RecordBatch) -> arrow_types.Cells:
        at = batch.schema.get_field_index(name)
        if at < 0:
            near = difflib.get_close_matches(name, batch.schema.names, n=1)
            raise self._mistake(
                f"names a column {name!r}, which the data has not",
                f"did you mean {near[0]!r}?"
                if near
                else f"the columns are: {', '.join(batch.schema.names[:20])}",
            )
        cells = arrow_types.plain(batch.column(at))
        if cells is None or cells.lengths is not None:
            raise self._mistake(f"needs one value a row of {name!r}")
        return cells

    def _text(self, name: str, batch: pa.RecordBatch, missing: pa.Array, valid: np.ndarray) -> np.ndarray:
        values = self._cells(name, batch).values
        text = pc.utf8_trim_whitespace(values.cast(pa.string()))
        gone = pc.or_(pc.is_null(text), pc.is_in(text, value_set=missing))
        valid &= ~gone.to_numpy(zero_copy_only=False)
        return np.array(pc.fill_null(text, "").to_pylist(), dtype=object)

    def _number(self, name: str, batch: pa.RecordBatch, missing: pa.Array, valid: np.ndarray) -> np.ndarray:
        values = self._cells(name, batch).values
        if pa.types.is_string(values.type):
            text = pc.utf8_trim_whitespace(values)
            values = pc.if_else(pc.is_in(text, value_set=missing), pa.scalar(None, pa.string()), text)
            try:
                values = values.cast(pa.float64())
            except pa.ArrowInvalid:
                raise self._mistake(
                    f"needs numbers in {name!r}, where there is {_first_text(values)!r}",
                    "compare it with a text in quotes, or add the token to data.missing",
                ) from None
        elif pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        valid &= np.isfinite(numbers)
        return numbers


def _truth(value: Any) -> Any:
    return value if value.dtype == bool else value != 0


def _first_text(values: pa.Array) -> str:
    for value in values.drop_null().to_pylist():
        try:
            float(value)
        except ValueError:
            return cut(value)
    return ""


def with_derived(
    blocks: Callable[[Any], Iterator[Block]], derive: Mapping[str, str], missing: Iterable[str]
) -> Callable[[Any], Iterator[Block]]:
    """The blocks of a reader with the computed columns added behind their own."""
    # A label that is an expression is called by its text.
    expressions = {
        name: Expression(text, "label" if name == text else f"data.derive.{name}")
        for name, text in derive.items()
    }
    tokens = pa.array(list(missing), pa.string())

    def added(piece: Any) -> Iterator[Block]:
        for block in blocks(piece):
            batch = block.batch
            for name, expression in expressions.items():
                if name in batch.schema.names:
                    raise UserError(
                        f"the data has a column {name!r} already",
                        where=f"data.derive.{name}",
                        fix="rename it",
                    )
                column = expression.compute(block.batch, tokens)
                batch = pa.RecordBatch.from_arrays(
                    [*batch.columns, column], schema=batch.schema.append(pa.field(name, column.type))
                )
            yield replace(block, batch=batch)

    return added


def as_label(label: str, names: Iterable[str]) -> Expression | None:
    """The label as an expression over columns; None when it is one of these, or no expression."""
    known = set(names)
    if label in known:
        return None
    try:
        expression = Expression(label, "label")
    except UserError:
        return None
    return expression if len(expression.columns) > 1 or label != expression.columns[0] else None
