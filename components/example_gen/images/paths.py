"""The files that the cells of image columns name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

import pyarrow as pa

from components.example_gen import files
from components.example_gen.config import DataConfig
from components.example_gen.readers import FORMATS, InputFile, Piece, make_reader


def folder_of(piece: Piece) -> str:
    """The folder that paths in a piece are relative to."""
    return posixpath.dirname(piece.path) if piece.paths else ""


def image_path(cell: str, folder: str) -> str:
    """Where the image is that a cell names."""
    return cell if files.is_remote(cell) else posixpath.join(folder, cell)


def image_paths(config: DataConfig, kind: str, inputs: Sequence[InputFile]) -> Iterator[str]:
    """Each path that the cells of the columns of type image name, once.

    Args:
      kind: the format of the source.
    """
    columns = {name for name, declared in config.columns.items() if declared == "image"}
    if not columns or FORMATS[kind].nested:
        return
    reader = make_reader(config, kind)
    missing = frozenset(config.missing)
    for piece in reader.pieces(inputs):
        seen: set[str] = set()
        for block in reader.blocks(piece):
            for name, column in zip(block.batch.schema.names, block.batch.columns):
                if name in columns and (
                    pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
                ):
                    seen.update(cell for cell in column.unique().to_pylist() if cell)
        folder = folder_of(piece)
        yield from (image_path(cell, folder) for cell in sorted(seen) if cell.strip() not in missing)
