"""Arrow's many types as the few that columns can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Set on a field whose text cells may be of any type, whatever its format says: where a file mixes them.
MIXED = {b"headrace": b"mixed"}


@dataclass(frozen=True)
class Cells:
    """A column of a block in its plain form.

    Attributes:
      kind: integer (int64), float (float64), boolean (bool), date, datetime or text (string), bytes (binary),
        or nothing (null): no cell tells a type.
      values: the values; of a list column those of all cells, one after the other.
      lengths: how many values each cell has, when the column is one of lists.
      absent: which of these cells are no list at all, which is another thing than an empty one.
      origin: the Arrow type, where the plain form holds less than it does.
    """

    kind: str
    values: pa.Array
    lengths: np.ndarray | None = None
    origin: str = ""
    absent: np.ndarray | None = None


def flatten(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the fields of structs as columns of their own: address.city."""
    if not any(pa.types.is_struct(field.type) for field in batch.schema):
        return batch
    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table.combine_chunks().to_batches()[0] if len(table) else table_batch(table)


def table_batch(table: pa.Table) -> pa.RecordBatch:
    """All of a table as one batch."""
    columns = [
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays(column.chunks)
        if column.num_chunks
        else pa.array([], column.type)
        for column in table.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def plain(array: pa.Array) -> Cells | None:
    """The array in its plain form; None for a type that no feature can have."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _plain_lists(array)
    if pa.types.is_null(kind):
        return Cells("nothing", array)
    if pa.types.is_boolean(kind):
        return Cells("boolean", array)
    if pa.types.is_integer(kind):
        return _plain_integers(array)
    if pa.types.is_floating(kind):
        return Cells("float", _widened(array) if kind == pa.float16() else array.cast(pa.float64()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _plain_text(array)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _plain_bytes(array)
    if pa.types.is_date(kind):
        return Cells("date", array.cast(pa.date32(), safe=False).cast(pa.string()))
    if pa.types.is_timestamp(kind):
        return Cells("datetime", _iso(array))
    if pa.types.is_time(kind):
        return Cells("text", _without_zeros(array), origin=str(kind))
    if pa.types.is_duration(kind):
        return Cells("integer", array.cast(pa.int64()), origin=str(kind))
    if pa.types.is_decimal(kind):
        return _plain_decimals(array)
    return None


def _plain_lists(array: pa.Array) -> Cells | None:
    absent = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.where(array.is_valid().to_numpy(zero_copy_only=False), array.type.list_size, 0)
        array = array.drop_null()
    else:
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    inner = plain(array.flatten())
    if inner is None or inner.lengths is not None:
        return None
    missing = inner.values.is_null().to_numpy(zero_copy_only=False)
    if missing.any():
        owner = np.repeat(np.arange(len(lengths)), lengths)[~missing]
        lengths = np.bincount(owner, minlength=len(lengths))
        inner = Cells(inner.kind, inner.values.drop_null(), origin=inner.origin)
    return Cells(inner.kind, inner.values, lengths, inner.origin, absent)


def _plain_integers(array: pa.Array) -> Cells:
    if array.type == pa.uint64() and (pc.max(array).as_py() or 0) >= 2**63:
        return Cells("text", array.cast(pa.string()), origin="uint64")
    return Cells("integer", array.cast(pa.int64()))


def _widened(array: pa.Array) -> pa.Array:
    """Half floats as doubles, which older Arrow cannot cast itself."""
    return pa.array(array.to_numpy(zero_copy_only=False).astype(np.float64), mask=np.array(array.is_null()))


def _plain_text(array: pa.Array) -> Cells:
    try:
        # Those who write Parquet do not always check what they call text.
        array.validate(full=True)
    except pa.ArrowInvalid:
        return Cells("bytes", array.cast(pa.binary()))
    return Cells("text", array.cast(pa.string()))


def _plain_bytes(array: pa.Array) -> Cells:
    binary = array.cast(pa.binary())
    try:
        return Cells("text", binary.cast(pa.string()))
    except pa.ArrowInvalid:
        return Cells("bytes", binary)


def _plain_decimals(array: pa.Array) -> Cells:
    if array.type.scale <= 0:
        try:
            return Cells("integer", array.cast(pa.int64()))
        except pa.ArrowInvalid:
            return Cells(
                "text", pa.array([_digits(each) for each in array], pa.string()), origin=str(array.type)
            )
    return Cells("float", array.cast(pa.float64()), origin="decimal")


def _digits(value: pa.Scalar) -> str | None:
    return None if value.as_py() is None else f"{value.as_py():f}"


def _without_zeros(array: pa.Array) -> pa.Array:
    """Moments or times as Python's isoformat writes them: six digits of a fraction of a second, or none."""
    text, unit = array.cast(pa.string()), str(array.type).partition("[")[2][:2]
    if unit.startswith("s"):
        return text
    if unit == "ms":
        text = pc.replace_substring_regex(text, "$", "000")
    elif unit == "ns":
        text = pc.replace_substring_regex(text, r"(\.\d{6})000$", r"\1")
    return pc.replace_substring_regex(text, r"\.0+$", "")


def _iso(array: pa.Array) -> pa.Array:
    """Moments as 2026-01-31T17:45:02, in UTC with a Z where they know their time zone."""
    zone = array.type.tz
    if zone:
        array = array.cast(pa.timestamp(array.type.unit, "UTC")).cast(pa.timestamp(array.type.unit))
    text = pc.replace_substring(_without_zeros(array), " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(text, "Z", "") if zone else text
