"""What a reader is: it turns a piece of the source into blocks of Arrow columns.

One module a format. A reader knows nothing of labels, splits or types that the user declares; it
says what stands in the file and which row it stands in. Types, splits and shards come after it and
are the same for every format.
"""

from __future__ import annotations

import abc
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from components.example_gen.config import DataConfig


@dataclass(frozen=True)
class InputFile:
    """A file of the source.

    Attributes:
      path: absolute path, or URL.
      split: the split that it was given for; None: its rows are dealt as data.split says.
    """

    path: str
    split: str | None = None


@dataclass(frozen=True)
class Piece:
    """What one worker reads at a time, and what becomes one shard of each split.

    Attributes:
      paths: one file, or several that are too small to be worth a piece each (images, texts).
      split: the split that its rows belong to; None: they are dealt as data.split says.
      part: from where to where in the file, in units of the format (row groups); None: all of it.
    """

    paths: tuple[str, ...]
    split: str | None = None
    part: tuple[int, int] | None = None

    @property
    def path(self) -> str:
        """The file, where there is one."""
        return self.paths[0]

    def __reduce__(self) -> tuple[Any, ...]:
        # On its way to a worker: thousands of paths that are nearly the same.
        return (_unpack, (zlib.compress("\0".join(self.paths).encode(), 1), self.split, self.part))


def _unpack(paths: bytes, split: str | None, part: tuple[int, int] | None) -> Piece:
    text = zlib.decompress(paths).decode()
    return Piece(tuple(text.split("\0")) if text else (), split, part)


@dataclass(frozen=True)
class Skipped:
    """A row that is left out because data.on_bad_row says so."""

    row: int
    reason: str
    text: str = ""


@dataclass(frozen=True)
class Block:
    """Some rows of a piece, few enough to fit in memory many times over.

    Attributes:
      batch: the columns, each of any Arrow type; a column may have another type, or be absent, in
        another block (what all blocks have in common is settled by the scan).
      rows: the number of each row in its piece, from 1; skipped rows have numbers too.
      skipped: rows of this block that are left out.
      remarks: what a person should know of how it was read, with how often; the sum over all blocks
        stands for {n}: {"{n} images have 4 channels": 3}. The same sentence is said once.
    """

    batch: pa.RecordBatch
    rows: np.ndarray
    skipped: tuple[Skipped, ...] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)


class Reader(abc.ABC):
    """Reads one format.

    Attributes:
      infers: which types a text column of this format may turn out to be, most specific first. Cells
        of delimited text may be anything; formats with types of their own leave it empty.
      sparse: whether a column may be absent from some rows or files altogether.
      one_type: whether integers in some rows and floats in others are an error rather than floats.
      types: type of the columns that the format itself fixes, such as {"image": "image"}.
      scanned: set when every piece has been read once, so that checks need not be made again.
    """

    infers: tuple[str, ...] = ()
    sparse: bool = False
    one_type: bool = False
    types: Mapping[str, str] = {}
    scanned: bool = False

    def __init__(self, config: DataConfig) -> None:
        self.config = config

    def pieces(self, files: Sequence[InputFile]) -> list[Piece]:
        """The source cut up; one piece a file unless the format has a cheap way to do better."""
        return [Piece((file.path,), file.split) for file in files]

    @abc.abstractmethod
    def blocks(self, piece: Piece) -> Iterator[Block]:
        """The rows of a piece.

        Raises:
          UserError: for what cannot be read, with file and place, unless it is skipped.
        """

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        """Where rows stand, as a person finds them: `trips.csv:17`. May read the file again: ask once."""
        return [f"{piece.path}: row {row}" for row in rows]
