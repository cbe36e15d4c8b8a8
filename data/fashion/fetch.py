"""Makes images/: 70,000 photographs of clothes as PNG files, a folder for each split and class.

They come from Debian's package dataset-fashion-mnist: the installed one, else downloaded with apt and
unpacked here; where there is no apt, from where Keras has them.
"""

from __future__ import annotations

import gzip
import shutil
import struct
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from downloads import FetchError, fetch, run, spread, verify

PACKAGE = "dataset-fashion-mnist"
INSTALLED = Path("usr/share/datasets/fashion-mnist")
KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets"
# Of the files' contents: how they are compressed differs from place to place.
SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
CLASSES = (
    *("t-shirt", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle-boot"),
)
SIDE = 28
ROWS = 70_000
# Of the 60,000 that are for training, the last ones are kept for early stopping.
TRAIN = 55_000
_IMAGES_HEADER, _LABELS_HEADER = 16, 8
_TIMEOUT_SECONDS = 60

Image = tuple[str, int, str, bytes]


def make(target: Path, downloads: Path, rows: int | None) -> str:
    """Writes images/SPLIT/CLASS/NUMBER.png."""
    folder = _files(downloads)
    written = 0
    for split, number, label, pixels in spread(_images(folder), ROWS, rows):
        path = target / split / label / f"{number:05d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_png(pixels))
        written += 1
    return f"{written:,} images" if written == ROWS else f"{written:,} of {ROWS:,} images"


def _files(downloads: Path) -> Path:
    """The folder of the four files."""
    if (Path("/") / INSTALLED).is_dir():
        return Path("/") / INSTALLED
    ways: tuple[Callable[[Path], Path], ...] = (_from_debian, _from_keras)
    failures = []
    for way in ways:
        try:
            return way(downloads)
        except FetchError as error:
            failures.append(str(error))
    raise FetchError("\n  ".join(["there are two ways to get it, and neither works:", *failures]))


def _from_debian(downloads: Path) -> Path:
    """Downloads and unpacks the package without installing it; needs no root."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise FetchError("this system has no apt-get and dpkg-deb")
    lists, cache, found = downloads / "lists", downloads / "cache", downloads / "package"
    for each in (lists / "partial", cache / "archives" / "partial", found):
        each.mkdir(parents=True)
    # Lists of its own: the system's may be empty or old, and only root may renew them.
    apt = ["apt-get", "-qq", "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}"]
    run([*apt, "update"], "the list of Debian's packages could not be downloaded")
    run([*apt, "download", PACKAGE], f"Debian's package {PACKAGE} could not be downloaded", cwd=downloads)
    archive = next(downloads.glob(f"{PACKAGE}_*.deb"))
    run(["dpkg-deb", "-x", str(archive), str(found)], f"{archive.name} could not be unpacked")
    return found / INSTALLED


def _from_keras(downloads: Path) -> Path:
    for name in SHA256:
        try:
            with urllib.request.urlopen(f"{KERAS}/{name}.gz", timeout=_TIMEOUT_SECONDS) as answer:
                (downloads / f"{name}.gz").write_bytes(answer.read())
        except (urllib.error.URLError, OSError) as error:
            raise FetchError(f"{name}.gz could not be downloaded from {KERAS}: {error}") from None
    return downloads


def _images(folder: Path) -> Iterator[Image]:
    """Each image's split, number, class and pixels."""
    for prefix, count in (("train", 60_000), ("t10k", 10_000)):
        pixels = _read(folder, f"{prefix}-images-idx3-ubyte")[_IMAGES_HEADER:]
        labels = _read(folder, f"{prefix}-labels-idx1-ubyte")[_LABELS_HEADER:]
        for number in range(count):
            split = "test" if prefix == "t10k" else "train" if number < TRAIN else "eval"
            one = pixels[number * SIDE * SIDE : (number + 1) * SIDE * SIDE]
            yield split, number, CLASSES[labels[number]], one


def _read(folder: Path, name: str) -> bytes:
    try:
        content = gzip.decompress((folder / f"{name}.gz").read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{folder / name}.gz cannot be read: {error}") from None
    return verify(content, SHA256[name], f"{folder / name}.gz")


def _png(pixels: bytes) -> bytes:
    """A grey image as a PNG file: https://www.w3.org/TR/png."""
    # A line starts with its filter: 0, none.
    lines = b"".join(b"\0" + pixels[start : start + SIDE] for start in range(0, len(pixels), SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


if __name__ == "__main__":
    fetch("images", PACKAGE, make)
