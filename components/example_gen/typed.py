"""The columns of a block, each of its type, as they are written and as they are looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError
from components.example_gen import arrow_types, survey
from components.example_gen.arrow_types import Cells
from components.example_gen.config import DataConfig
from components.example_gen.convert import convert
from components.example_gen.patterns import INFERRED
from components.example_gen.readers import Reader


class Typer:
    """Gives the cells of blocks their types.

    Args:
      lists: the columns of which a row may have several values.
      where: what stands in messages for the source.

    Attributes:
      changed: column to how many of its numbers float32 does not hold.
      too_large: column to how many of them are beyond float32's range; they count as missing.
    """

    def __init__(self, config: DataConfig, reader: Reader, lists: Collection[str], where: str) -> None:
        self._config, self._reader, self._lists, self._where = config, reader, lists, where
        self._missing = pa.array(list(config.missing), pa.string())
        self.changed: dict[str, int] = {}
        self.too_large: dict[str, int] = {}

    def batch(self, cells: pa.RecordBatch, types: Mapping[str, str]) -> pa.RecordBatch:
        """The columns that `types` names, each of its type; null where missing."""
        return pa.RecordBatch.from_arrays(
            [self._column(cells, name, kind) for name, kind in types.items()], list(types)
        )

    def texts(self, cells: pa.RecordBatch, names: Iterable[str]) -> dict[str, pa.Array]:
        """Columns as trimmed texts, whatever their types; null where missing."""
        found = {}
        for name in names:
            plain, parse = self._plain(cells, name)
            if plain.kind == "float":
                finite = pc.is_finite(plain.values)
                plain = Cells("float", pc.if_else(finite, plain.values, None), plain.lengths)
            values = convert(plain, "text", self._missing, parse).values
            found[name] = self._shaped(name, pc.utf8_trim_whitespace(values), plain)
        return found

    def _column(self, cells: pa.RecordBatch, name: str, kind: str) -> pa.Array:
        plain, parse = self._plain(cells, name)
        converted = convert(plain, kind, self._missing, parse)
        for number, counts in ((converted.changed, self.changed), (converted.too_large, self.too_large)):
            if number:
                counts[name] = counts.get(name, 0) + number
        return self._shaped(name, converted.values, plain)

    def _plain(self, cells: pa.RecordBatch, name: str) -> tuple[Cells, bool]:
        """The column's plain form, and whether its texts are read as delimited text is."""
        at = cells.schema.get_field_index(name)
        if at < 0:
            return Cells("nothing", pa.nulls(cells.num_rows)), False
        plain = arrow_types.plain(cells.column(at))
        if plain is None:
            raise UserError(f"column {name!r} is a {cells.column(at).type} here", where=self._where)
        return plain, survey.infers(cells.schema.field(at), self._config, self._reader) == INFERRED

    def _shaped(self, name: str, values: pa.Array, plain: Cells) -> pa.Array:
        lengths = plain.lengths
        if lengths is None:
            return values
        if values.null_count:
            # What is not of the column's type is missing from its list.
            owners = np.repeat(np.arange(len(lengths)), lengths)
            there = values.is_valid().to_numpy(zero_copy_only=False)
            lengths, values = np.bincount(owners[there], minlength=len(lengths)), values.drop_null()
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        if name in self._lists:
            absent = np.zeros(len(lengths), bool) if plain.absent is None else plain.absent
            return pa.ListArray.from_arrays(pa.array(offsets, mask=np.append(absent, False)), values)
        # No row has more than one value.
        places = np.where(lengths > 0, offsets[:-1], 0)
        return values.take(pa.array(places, mask=lengths == 0))
