"""A reader that is left before its end, as by an error, lets go of its file without a deadlock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_LEAVE = """
import sys
import time
from components.example_gen.config import DataConfig
from components.example_gen.readers import Piece, delimited, make_reader
from components.example_gen.readers.text import Utf8Stream

fast = Utf8Stream.read

def slow(self, size=-1):
    time.sleep(0.05)  # so that a read is under way when the reader is left
    return fast(self, size)

Utf8Stream.read = slow
delimited._BLOCK_BYTES = 1 << 16
reader = make_reader(DataConfig(source=sys.argv[1]), "csv")
for turn in range(6):
    blocks = reader.blocks(Piece((sys.argv[1],)))
    for _ in range(turn % 3 + 1):
        next(blocks)
    del blocks
print("left")
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_large_file_can_be_left_at_any_block(tmp_path: Path) -> None:
    source = tmp_path / "large.csv"
    line = ",".join(["a"] * 20) + "\n"
    source.write_text(",".join(f"c{i}" for i in range(20)) + "\n" + line * 200_000)
    done = subprocess.run(
        [sys.executable, "-c", _LEAVE, str(source)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "left\n", done.stderr
