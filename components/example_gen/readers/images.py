"""Folders of images, a folder for each class. The images themselves are read when rows are written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from components.example_gen.readers.base import Block, Piece
from components.example_gen.readers.folders import FolderReader, folder_name


class ImagesReader(FolderReader):
    """Gives each file's path, which is then loaded as any column of images is."""

    column = "image"

    @property
    def types(self) -> dict[str, str]:  # type: ignore[override]
        return {self.column: "image", self.folder_column: "text"}

    def blocks(self, piece: Piece) -> Iterator[Block]:
        columns = {
            self.column: pa.array(piece.paths, pa.string()),
            self.folder_column: pa.array(map(folder_name, piece.paths), pa.string()),
        }
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        yield Block(batch, np.arange(1, len(piece.paths) + 1))


READER = ImagesReader
