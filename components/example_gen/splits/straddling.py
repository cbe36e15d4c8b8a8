"""Count the rows of eval and test whose content is in train as well.

Workers leave a file of hashes for each of their shards; they are compared a slice of the hash space at
a time, so that memory stays the same however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tfx.dsl.io import fileio

# Rows whose hashes are in memory at one time, 8 bytes each and as much again to sort them.
SLICE_ROWS = 4_000_000
# Of more slices than this so many are compared, and the numbers are scaled up.
MOST_SLICES = 16
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Straddling:
    """Where the hashes of contents are kept, and how many of them.

    Attributes:
      folder: where the workers leave them.
      slices: into how many slices the hash space is cut.
      looked_at: how many of those are kept and compared.
    """

    folder: str
    slices: int
    looked_at: int

    @classmethod
    def of(cls, folder: str, rows: int) -> Straddling:
        """For so many rows, at most."""
        slices = max(1, -(-rows // SLICE_ROWS))
        return cls(folder, slices, min(slices, MOST_SLICES))

    @property
    def exact(self) -> bool:
        """Whether every row is looked at."""
        return self.looked_at == self.slices

    def writer(self, split: str, shard: int) -> HashWriter:
        """For the hashes of one shard."""
        return HashWriter(self, f"{self.folder}/{split}/{shard:05d}")

    def count(self, splits: Sequence[str]) -> dict[str, int]:
        """Of each split but train: how many rows have their content in train as well."""
        found = {split: 0 for split in splits if split != "train"}
        for number in range(self.looked_at):
            train = np.unique(np.concatenate(list(self._hashes("train", number))))
            for split in found:
                for hashes in self._hashes(split, number):
                    found[split] += int(_among(hashes, train).sum())
        return {split: round(number * self.slices / self.looked_at) for split, number in found.items()}

    def slice_of(self, hashes: np.ndarray) -> np.ndarray:
        """The number of the slice that each hash is in."""
        return hashes % np.uint64(self.slices)

    def _hashes(self, split: str, number: int) -> Iterator[np.ndarray]:
        yield np.zeros(0, np.uint64)
        folder = f"{self.folder}/{split}"
        for shard in sorted(fileio.listdir(folder)) if fileio.exists(folder) else ():
            with fileio.open(f"{folder}/{shard}", "rb") as stream:
                while block := stream.read(_CHUNK_BYTES):
                    hashes = np.frombuffer(block, np.uint64)
                    yield hashes[self.slice_of(hashes) == number] if self.slices > 1 else hashes


class HashWriter:
    """Writes the hashes of one shard, those that are looked at."""

    def __init__(self, straddling: Straddling, path: str) -> None:
        self._straddling = straddling
        fileio.makedirs(path.rsplit("/", 1)[0])
        self._stream: Any = fileio.open(path, "wb")

    def write(self, hashes: np.ndarray) -> None:
        if not self._straddling.exact:
            hashes = hashes[self._straddling.slice_of(hashes) < self._straddling.looked_at]
        self._stream.write(np.ascontiguousarray(hashes).tobytes())

    def close(self) -> None:
        self._stream.close()


def _among(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each hash is in `known`, which is sorted."""
    if not len(known):
        return np.zeros(len(hashes), bool)
    return known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
