"""Folders of texts, a folder for each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from components.errors import UserError
from components.example_gen import files
from components.example_gen.readers import bad_rows
from components.example_gen.readers.base import Block, InputFile, Piece, Skipped
from components.example_gen.readers.decoding import NoText, decode
from components.example_gen.readers.folders import FolderReader, folder_name

_BLOCK_CHARACTERS = 8 << 20


class TextsReader(FolderReader):
    """Reads each file as one text."""

    column = "text"

    @property
    def types(self) -> dict[str, str]:  # type: ignore[override]
        return {self.column: "text", self.folder_column: "text"}

    def pieces(self, files: Sequence[InputFile]) -> list[Piece]:
        if len(files) == 1:
            raise UserError(
                "one text is one row",
                where=files[0].path,
                fix="if it holds a table: data.format: csv; else name the folder of the classes' folders",
            )
        return super().pieces(files)

    def blocks(self, piece: Piece) -> Iterator[Block]:
        skips = self.config.on_bad_row == "skip"
        bad: list[Skipped] = []
        gathered = _Gathered(self.column, self.folder_column)
        for row, path in enumerate(piece.paths, start=1):
            with files.reading(path), files.open_bytes(path) as stream:
                content = stream.read()
            try:
                text, remarks = decode(content, self.config.encoding)
            except NoText as error:
                (gathered.skipped if skips else bad).append(Skipped(row, str(error)))
                continue
            gathered.add(row, path, text, remarks)
            if gathered.characters >= _BLOCK_CHARACTERS:
                yield gathered.block()
                gathered = _Gathered(self.column, self.folder_column)
        if bad:
            raise bad_rows.refusal(
                self,
                piece,
                bad,
                f"files that hold no text: {len(bad):,}",
                "mend or remove them, or leave them out with data.on_bad_row: skip",
            )
        yield gathered.block()


class _Gathered:
    """The texts of one block."""

    def __init__(self, column: str, folder_column: str) -> None:
        self._column, self._folder_column = column, folder_column
        self._rows: list[int] = []
        self._paths: list[str] = []
        self._texts: list[str | None] = []
        self._remarks: Counter[str] = Counter()
        self.skipped: list[Skipped] = []
        self.characters = 0

    def add(self, row: int, path: str, text: str, remarks: Counter[str]) -> None:
        self._rows.append(row)
        self._paths.append(path)
        self._texts.append(text or None)
        self._remarks.update(remarks)
        self.characters += len(text)

    def block(self) -> Block:
        columns = {
            self._column: pa.array(self._texts, pa.string()),
            self._folder_column: pa.array(map(folder_name, self._paths), pa.string()),
        }
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        return Block(batch, np.array(self._rows, np.int64), tuple(self.skipped), dict(self._remarks))


READER = TextsReader
