"""Columns of images: the files that cells name, or hold, as checked images with their measures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from components.errors import cut
from components.example_gen import files
from components.example_gen.images.check import BadImage, CheckedImage, check_image
from components.example_gen.images.paths import folder_of, image_path
from components.example_gen.readers import bad_rows
from components.example_gen.readers.base import Block, Piece, Reader, Skipped

# What stands beside an image column NAME, as NAME/height: the names of TensorFlow's own image data sets.
FACTS = {"height": "integer", "width": "integer", "channels": "integer", "format": "text", "filename": "text"}
_ARROW = {"integer": pa.int64(), "text": pa.string()}
# So much goes on together, however many rows a block has that names its images only.
_CHUNK_BYTES, _CHUNK_ROWS = 32 << 20, 2_000


def fact_types(name: str) -> dict[str, str]:
    """The columns that stand beside an image column, with their types."""
    return {f"{name}/{fact}": kind for fact, kind in FACTS.items()}


def load_images(
    blocks: Iterable[Block], columns: Sequence[str], reader: Reader, piece: Piece
) -> Iterator[Block]:
    """The blocks of a piece with their image columns as encoded images, and the columns of `fact_types`.

    A cell of text is a path, relative to the folder of the piece's file; a cell of bytes is an image file.
    A cell without either stays missing.

    Raises:
      UserError: images cannot be read, and data.on_bad_row does not skip them; names them all.
    """
    skips = reader.config.on_bad_row == "skip"
    missing = frozenset(reader.config.missing)
    folder = folder_of(piece)
    bad: list[Skipped] = []
    for block in blocks:
        skipped, remarks = block.skipped, block.remarks
        for chunk in _chunks(block, columns, folder, missing):
            if not skips:
                bad.extend(chunk.bad)
            if not bad:
                yield chunk.as_block(block, (*skipped, *chunk.bad), remarks)
                skipped, remarks = (), {}
    if bad:
        raise bad_rows.refusal(
            reader,
            piece,
            bad,
            f"images that cannot be read: {len(bad):,}",
            "mend or remove them, or leave them out with data.on_bad_row: skip",
        )


def path_column(name: str) -> str:
    """The column that keeps where an image column's images came from."""
    return f"{name}/filename"


@dataclass
class _Chunk:
    """Some rows of a block with their images.

    Attributes:
      at: the index of each row in its block.
      images: of each image column, the image of each row.
      filenames: the path that each was read from.
      bad: rows whose image cannot be read.
    """

    at: list[int] = field(default_factory=list)
    images: dict[str, list[CheckedImage | None]] = field(default_factory=dict)
    filenames: dict[str, list[str | None]] = field(default_factory=dict)
    bad: list[Skipped] = field(default_factory=list)
    bytes: int = 0

    @property
    def full(self) -> bool:
        return self.bytes >= _CHUNK_BYTES or len(self.at) + len(self.bad) >= _CHUNK_ROWS

    def as_block(self, block: Block, skipped: tuple[Skipped, ...], remarks: Mapping[str, int]) -> Block:
        """These rows of the block, their images in place of what named them."""
        at = pa.array(self.at, pa.int64())
        columns: dict[str, pa.Array] = {}
        counted = Counter(remarks)
        for name, column in zip(block.batch.schema.names, block.batch.columns):
            if name not in self.images:
                columns[name] = column.take(at)
                continue
            images = self.images[name]
            columns[name] = pa.array([image and image.encoded for image in images], pa.binary())
            for fact, kind in FACTS.items():
                values = (
                    self.filenames[name]
                    if fact == "filename"
                    else [image and getattr(image, fact) for image in images]
                )
                columns[f"{name}/{fact}"] = pa.array(values, _ARROW[kind])
            for image in images:
                counted.update(image.remarks if image else ())
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        return Block(batch, block.rows[np.array(self.at, np.int64)], skipped, dict(counted))


def _chunks(block: Block, columns: Sequence[str], folder: str, missing: frozenset[str]) -> Iterator[_Chunk]:
    cells = {
        name: block.batch.column(index)
        for index, name in enumerate(block.batch.schema.names)
        if name in columns
    }
    chunk = _Chunk(images={name: [] for name in cells}, filenames={name: [] for name in cells})
    for index in range(block.batch.num_rows):
        _add(chunk, block, index, cells, folder, missing)
        if chunk.full:
            yield chunk
            chunk = _Chunk(images={name: [] for name in cells}, filenames={name: [] for name in cells})
    # Also without rows: the block may have remarks, and rows that it skipped itself.
    yield chunk


def _add(
    chunk: _Chunk,
    block: Block,
    index: int,
    cells: Mapping[str, pa.Array],
    folder: str,
    missing: frozenset[str],
) -> None:
    found: dict[str, CheckedImage | None] = {}
    names: dict[str, str | None] = {}
    for name, column in cells.items():
        cell = column[index].as_py()
        if isinstance(cell, str):
            cell = None if cell.strip() in missing else cell
            names[name] = cell
        try:
            found[name] = _read(cell, folder) if cell else None
        except BadImage as error:
            chunk.bad.append(Skipped(int(block.rows[index]), f"{name}: {error}", names.get(name) or ""))
            return
    chunk.at.append(index)
    for name, image in found.items():
        chunk.images[name].append(image)
        chunk.filenames[name].append(_shown(names.get(name)))
        chunk.bytes += len(image.encoded) if image else 0


def _read(cell: str | bytes, folder: str) -> CheckedImage:
    if isinstance(cell, bytes):
        return check_image(cell)
    path = image_path(cell, folder)
    try:
        if files.is_remote(path):
            with files.open_raw(path) as stream:
                return check_image(stream.read())
        with open(path, "rb") as local:
            return check_image(local.read())
    except FileNotFoundError:
        raise BadImage("no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, BadImage):
            raise
        raise BadImage(f"cannot be read: {getattr(error, 'strerror', None) or cut(error)}") from None


def _shown(path: str | None) -> str | None:
    """What is kept of a path: of one that holds on this machine only, the class and the name."""
    if path is None or not (os.path.isabs(path) or files.is_remote(path)):
        return path
    return "/".join(path.split("/")[-2:])
