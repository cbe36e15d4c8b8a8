"""Rows of eval and test that are in train as well are counted, exactly or from a part of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from components.example_gen.hashing import mixed
from components.example_gen.splits import straddling
from components.example_gen.splits.straddling import Straddling


def write(kept: Straddling, rows: dict[str, list[np.ndarray]]) -> dict[str, int]:
    for split, shards in rows.items():
        for shard, hashes in enumerate(shards):
            writer = kept.writer(split, shard)
            for block in np.array_split(hashes, 3):
                writer.write(block)
            writer.close()
    return kept.count(list(rows))


@pytest.mark.parametrize("slice_rows", [10, 1000, 10**6])
def test_every_row_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_rows: int) -> None:
    monkeypatch.setattr(straddling, "SLICE_ROWS", slice_rows)
    monkeypatch.setattr(straddling, "MOST_SLICES", 10**6)
    hashes = mixed(np.arange(500, dtype=np.uint64))
    rows = {
        "train": [hashes[:100], hashes[100:300]],
        "eval": [hashes[290:310], hashes[290:310]],
        "test": [hashes[300:], hashes[:0]],
    }
    kept = Straddling.of(str(tmp_path), 540)
    assert kept.exact
    assert write(kept, rows) == {"eval": 20, "test": 0}


def test_of_very_many_rows_a_part_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(straddling, "SLICE_ROWS", 1000)
    hashes = mixed(np.arange(100_000, dtype=np.uint64))
    kept = Straddling.of(str(tmp_path), 110_000)
    assert not kept.exact
    found = write(kept, {"train": [hashes], "eval": [hashes[:10_000]], "test": [hashes[:0]]})
    assert found["eval"] == pytest.approx(10_000, rel=0.1)
    assert sum(path.stat().st_size for path in tmp_path.glob("train/*")) < 8 * 20_000


def test_train_may_be_empty(tmp_path: Path) -> None:
    nothing = np.zeros(0, np.uint64)
    kept = Straddling.of(str(tmp_path), 0)
    assert write(kept, {"train": [nothing], "eval": [np.ones(3, np.uint64)]}) == {"eval": 0}
