"""The formats, and the one place that picks the reader of a file."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.errors import UserError
from components.example_gen.readers.base import Block, InputFile, Piece, Reader, Skipped

if TYPE_CHECKING:
    from components.example_gen.config import DataConfig

__all__ = [
    "FORMATS",
    "Block",
    "Format",
    "InputFile",
    "Piece",
    "Reader",
    "Skipped",
    "format_of",
    "make_reader",
]

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_COMPRESSED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True)
class Format:
    """How a format is told and who reads it.

    Attributes:
      suffixes: endings of its files' names.
      module: the module in this package whose class READER reads it; imported when it is needed.
      infix: what is telling anywhere in a name: part.tfrecord-00000-of-00002.
      compressed: whether the suffixes may be followed by .gz, .bz2 or .zst.
      nested: whether its files lie in folders of folders, such as a folder a class.
    """

    suffixes: tuple[str, ...]
    module: str
    infix: str = ""
    compressed: bool = False
    nested: bool = False

    def takes(self, name: str) -> bool:
        """Whether a file of that name is of this format."""
        name = name.lower()
        if self.compressed:
            name = next((name.removesuffix(end) for end in _COMPRESSED if name.endswith(end)), name)
        return name.endswith(self.suffixes) or (bool(self.infix) and self.infix in name.rsplit("/", 1)[-1])


# A new format is a line here and a module with a Reader.
FORMATS: dict[str, Format] = {
    "csv": Format((".csv", ".tsv"), "delimited", compressed=True),
    "parquet": Format((".parquet", ".pq"), "parquet"),
    "jsonl": Format((".jsonl", ".ndjson"), "jsonl", compressed=True),
    "avro": Format((".avro",), "avro"),
    "tfrecord": Format((".tfrecord", ".tfrecords"), "tfrecord", compressed=True, infix="tfrecord"),
    "arrow": Format((".arrow", ".feather"), "arrow_files"),
    "sql": Format((), "sql"),
    "images": Format(IMAGE_SUFFIXES, "images", nested=True),
    "texts": Format((".txt",), "texts", compressed=True, nested=True),
}


def format_of(names: Iterable[str], declared: str | None = None) -> str:
    """The format that files of these names have.

    Raises:
      UserError: when a name tells no format, or two names tell two.
    """
    if declared:
        return declared
    found: dict[str, str] = {}
    for name in names:
        kind = next((kind for kind, each in FORMATS.items() if each.takes(name)), None)
        if kind is None:
            known = ", ".join(suffix for each in FORMATS.values() for suffix in each.suffixes)
            raise UserError(
                f"cannot tell the format of {name.rsplit('/', 1)[-1]}: expected a name ending in {known}",
                where="data.source",
                fix=f"name the format: data.format: one of {', '.join(FORMATS)}",
            )
        found.setdefault(kind, name)
    if len(found) > 1:
        two = " and ".join(f"{name.rsplit('/', 1)[-1]} ({kind})" for kind, name in list(found.items())[:2])
        raise UserError(
            f"files of two formats: {two}",
            where="data.source",
            fix="name the files of one; in a folder, data.format says which",
        )
    return next(iter(found))


def make_reader(config: DataConfig, kind: str) -> Reader:
    """The reader of a format, set up as the `data` section says."""
    module = importlib.import_module(f"{__name__}.{FORMATS[kind].module}")
    reader = module.READER(config)
    if config.separate:
        from components.example_gen.separate import with_lists

        reader.blocks = with_lists(reader.blocks, config.separate, config.missing)
    if config.derive:
        from components.example_gen.derive import with_derived

        reader.blocks = with_derived(reader.blocks, config.derive, config.missing)
    return reader
