"""Where the rows are: the `source` of the config becomes files, and files a fingerprint."""

from __future__ import annotations

import hashlib
import importlib.util
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from components.errors import UserError
from components.example_gen import database, files, spans
from components.example_gen.config import DataConfig, SplitSources
from components.example_gen.files import FileStat
from components.example_gen.images.paths import image_paths
from components.example_gen.readers import FORMATS, InputFile, format_of
from components.example_gen.split_config import SPLITS

_FOLDERS = {"validation": "eval", "valid": "eval", "val": "eval", **{name: name for name in SPLITS}}


@dataclass(frozen=True)
class Inputs:
    """What the source came to.

    Attributes:
      files: in the order in which they are read.
      format: one of FORMATS.
      spans: the spans that were taken, ascending; empty when the source names none.
      version: that of the last span, when the source names versions.
    """

    files: tuple[InputFile, ...]
    format: str
    spans: tuple[int, ...] = ()
    version: int | None = None
    stats: tuple[FileStat, ...] = ()


def find(config: DataConfig) -> Inputs:
    """The files behind a source.

    Args:
      config: the section, its sources absolute paths, URLs or package:paths.

    Raises:
      UserError: when nothing is there, or what is there cannot be read as one set of rows.
    """
    if database.is_database(config):
        return Inputs((), "sql")
    given: list[tuple[str | None, str]] = (
        list(config.source.given.items())
        if isinstance(config.source, SplitSources)
        else [(None, config.source)]
    )
    found: list[tuple[str | None, FileStat]] = []
    taken: dict[str | None, tuple[tuple[int, ...], int | None]] = {}
    for split, source in given:
        if spans.has_span(source):
            spanned = spans.find(source, config.span)
            found.extend((split, stat) for stat in spanned.files)
            taken[split] = (spanned.spans, spanned.version)
        elif config.span != "latest":
            raise UserError(
                f"{source} names no spans",
                where="data.span",
                fix="write {SPAN}, or {YYYY}, {MM} and {DD}, where they stand in the path",
            )
        else:
            found.extend(_expand(source, split, config.format))
    if len(set(taken.values())) > 1:
        shown = ", ".join(f"{split} {each}" for split, (each, _) in taken.items())
        raise UserError(f"the splits have different spans or versions: {shown}", where="data.source")
    kind = format_of([stat.path for _, stat in found], config.format)
    chosen, version = next(iter(taken.values()), ((), None))
    return Inputs(
        tuple(InputFile(stat.path, split) for split, stat in found),
        kind,
        chosen,
        version,
        tuple(stat for _, stat in found),
    )


def _expand(source: str, split: str | None, declared: str | None) -> Iterator[tuple[str | None, FileStat]]:
    """The files of one path, folder or glob, each with its split."""
    path = _package_path(source) if source.startswith("package:") else source
    matched = files.match(path)
    if matched:
        yield from ((split, stat) for stat in matched)
        return
    folders = _split_folders(path) if split is None else {}
    if folders:
        if "train" not in folders.values():
            raise UserError(
                f"the folder {path} has no train/ beside {', '.join(folders)}/", where="data.source"
            )
        for name, target in folders.items():
            yield from ((target, stat) for stat in _in_folder(posixpath.join(path, name), declared))
        return
    yield from ((split, stat) for stat in _in_folder(path, declared))


def _split_folders(path: str) -> dict[str, str]:
    """The folders in a folder that are named as splits, with the split."""
    if files.is_remote(path):
        start = len(path.rstrip("/")) + 1
        inside = {stat.path[start:].split("/")[0] for stat in files.list_folder(path, deep=True)}
    else:
        inside = (
            {each.name for each in Path(path).iterdir() if each.is_dir()} if Path(path).is_dir() else set()
        )
    found = {name: _FOLDERS[name] for name in sorted(inside & _FOLDERS.keys())}
    ordered = sorted(found.items(), key=lambda item: SPLITS.index(item[1]))
    # A folder of classes may have one that is called "test"; one alone is no split.
    return dict(ordered) if len(set(found.values())) > 1 else {}


def _in_folder(folder: str, declared: str | None) -> list[FileStat]:
    """The files of a folder that can be read: its tables, else all images or texts in it and its folders."""
    formats = [FORMATS[declared]] if declared else list(FORMATS.values())
    nested = [each for each in formats if each.nested]
    flat = [each for each in formats if not each.nested]
    found = [stat for stat in files.list_folder(folder) if any(each.takes(stat.path) for each in flat)]
    if nested and not found:
        deep = files.list_folder(folder, deep=True)
        found = [stat for stat in deep if any(each.takes(stat.path) for each in nested)]
    if found:
        return found
    if not files.is_remote(folder) and not Path(folder).is_dir():
        raise UserError(
            f"no such file: {folder}",
            where="data.source",
            fix="check the path; it is relative to pipeline.yaml",
        )
    raise UserError(
        f"the folder {folder} holds no file that can be read",
        where="data.source",
        fix=f"expected names ending in {', '.join(end for each in formats for end in each.suffixes)}",
    )


def _package_path(source: str) -> str:
    name, _, inside = source.removeprefix("package:").partition("/")
    # find_spec of a top-level package does not import it.
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"no installed package {name!r} in {source!r}",
            where="data.source",
            fix=f"install {name}, or correct the name; expected package:NAME/path/inside",
        )
    return str(Path(next(iter(spec.submodule_search_locations))) / inside)


def fingerprint(config: DataConfig) -> str:
    """SHA-256 that tells whether the data changed.

    Of local files it covers each name, split and all contents, and the images that their cells name. Of
    remote files, whose contents would have to be fetched, it covers the checksum that the file system
    keeps, else size and time of change. Of a query it covers the rows that it gives: it is run for that.
    """
    if database.is_database(config):
        return database.fingerprint(config)
    inputs = find(config)
    total = hashlib.sha256(f"{inputs.spans} {inputs.version}\n".encode())
    for file, stat in zip(inputs.files, inputs.stats):
        content = files.checksum(stat) if files.is_remote(stat.path) else _digest(stat.path)
        # Where a folder is a class, its name counts.
        depth = 2 if FORMATS[inputs.format].nested else 1
        name = "/".join(file.path.split("/")[-depth:])
        total.update(f"{file.split or ''}/{name}\0{content}\n".encode())
    for path in image_paths(config, inputs.format, inputs.files):
        total.update(f"{path}\0{_content_of_image(path)}\n".encode())
    return total.hexdigest()


def _content_of_image(path: str) -> str:
    """What an image is now; reading it will tell if there is none."""
    if files.is_remote(path):
        return "".join(files.checksum(stat) for stat in files.match(path))
    return _digest(path) if Path(path).is_file() else ""


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with files.reading(path), open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
