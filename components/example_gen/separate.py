"""Cells that hold several values, as lists: `sport|politics` in a column of CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError
from components.example_gen.readers.base import Block


def with_lists(
    blocks: Callable[[Any], Iterator[Block]], separators: Mapping[str, str], missing: Iterable[str]
) -> Callable[[Any], Iterator[Block]]:
    """The blocks of a reader in which the cells of some columns are taken apart.

    Args:
      separators: column to what stands between its values.
      missing: texts that count as missing.
    """
    # Nothing between the separators is no value, but a cell without any is a list of none.
    tokens = pa.array([token for token in missing if token], pa.string())

    def parted(piece: Any) -> Iterator[Block]:
        for block in blocks(piece):
            batch = block.batch
            for name, separator in separators.items():
                at = batch.schema.get_field_index(name)
                if at < 0 or pa.types.is_null(batch.column(at).type):
                    continue
                if not pa.types.is_string(batch.column(at).type):
                    kind = batch.column(at).type
                    raise UserError(
                        f"the cells of {name!r} are {kind}, and only texts can be taken apart",
                        where=f"data.separate.{name}",
                        fix="take it out",
                    )
                lists = values_of(batch.column(at), separator, tokens)
                columns = [lists if i == at else column for i, column in enumerate(batch.columns)]
                schema = batch.schema.set(at, pa.field(name, lists.type))
                batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            yield replace(block, batch=batch)

    return parted


def values_of(cells: pa.Array, separator: str, missing: pa.Array) -> pa.Array:
    """The values of text cells, without the blanks around them, as lists; null where the cell is missing."""
    cells = pc.utf8_trim_whitespace(cells)
    cells = pc.if_else(pc.is_in(cells, value_set=missing), pa.scalar(None, pa.string()), cells)
    absent = cells.is_null().to_numpy(zero_copy_only=False)
    lists = pc.split_pattern(cells.drop_null(), separator)
    values = pc.utf8_trim_whitespace(lists.flatten())
    there = pc.and_(pc.not_equal(values, ""), pc.invert(pc.is_in(values, value_set=missing)))
    keep = there.to_numpy(zero_copy_only=False)
    owners = np.flatnonzero(~absent)[pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)]
    lengths = np.bincount(owners[keep], minlength=len(cells))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, mask=np.append(absent, False)), values.filter(there))
