"""What folders of images and of texts have in common: a file is a row, and its folder is its class."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from itertools import groupby

import farmhash

from components.errors import UserError
from components.example_gen.config import DataConfig
from components.example_gen.readers.base import InputFile, Piece, Reader

# A piece becomes a shard: not too many of them, and none too large.
_FEWEST_FILES, _MOST_FILES, _PIECES = 2_000, 10_000, 64


class FolderReader(Reader):
    """Makes the name of each file's folder a column: data.folder_names, which is the label if left out."""

    column: str  # of the images or texts themselves

    def __init__(self, config: DataConfig) -> None:
        super().__init__(config)
        if self.folder_column == self.column:
            raise UserError(
                f"{self.column!r} is the column of the {self.column}s themselves, not of their classes",
                where="label",
                fix="give the column of the folders' names another name",
            )

    @property
    def folder_column(self) -> str:
        """The column of the folders' names."""
        return self.config.folder_names or "class"

    def pieces(self, files: Sequence[InputFile]) -> list[Piece]:
        """A few thousand files a piece, classes mixed, in an order that depends on their names alone."""
        found: list[Piece] = []
        for split, group in groupby(
            sorted(files, key=lambda file: file.split or ""), lambda file: file.split
        ):
            paths = [file.path for file in group]
            _must_be_text(paths)
            _must_be_level(paths)
            paths.sort(key=lambda path: (farmhash.fingerprint64("/".join(path.split("/")[-2:])), path))
            size = min(max(_FEWEST_FILES, -(-len(paths) // _PIECES)), _MOST_FILES)
            found.extend(Piece(tuple(paths[at : at + size]), split) for at in range(0, len(paths), size))
        return found

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        return [piece.paths[row - 1] for row in rows]


def folder_name(path: str) -> str:
    """The name of the folder that a file lies in."""
    return posixpath.basename(posixpath.dirname(path))


def _must_be_text(paths: Sequence[str]) -> None:
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise UserError(
                f"a file's name is not UTF-8: {path.encode(errors='backslashreplace').decode()}",
                where="data.source",
                fix="rename it",
            ) from None


def _must_be_level(paths: Sequence[str]) -> None:
    """A file in a deeper or higher folder would get a class that was not meant."""
    depths: dict[int, str] = {}
    for path in paths:
        depths.setdefault(path.count("/"), path)
    if len(depths) > 1:
        shallow, deep = depths[min(depths)], depths[max(depths)]
        raise UserError(
            f"{shallow} lies higher than {deep}; expected all files in folders of classes, side by side",
            where="data.source",
            fix="move the files into the folders of their classes, CLASS/FILE",
        )
