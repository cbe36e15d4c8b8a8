"""A reader may be left before its end: to look at the columns, or because a row stops the run."""

from __future__ import annotations

import pytest

from components.errors import UserError
from components.example_gen.config import DataConfig
from components.example_gen.readers import InputFile, make_reader

# Several blocks of Arrow's, so that it reads ahead while the first one is looked at.
ROWS = 1_500_000
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "rows.csv"
    with open(path, "w") as stream:
        stream.write("a,b\n")
        stream.writelines(f"{i},some text of {i}\n" for i in range(ROWS))
    return path


@pytest.mark.parametrize("taken", [1, 2])
def test_the_rest_need_not_be_read(large, taken):
    reader = make_reader(DataConfig(source=str(large)), "csv")
    [piece] = reader.pieces([InputFile(str(large))])
    for _ in range(5):
        blocks = reader.blocks(piece)
        for _ in range(taken):
            assert len(next(blocks).rows)
        blocks.close()


def test_a_row_that_stops_the_run_stops_it(large, tmp_path):
    path = tmp_path / "bad.csv"
    lines = large.read_text().splitlines()
    lines[3] += ",too,many"
    path.write_text("\n".join(lines))
    reader = make_reader(DataConfig(source=str(path)), "csv")
    [piece] = reader.pieces([InputFile(str(path))])
    with pytest.raises(UserError, match="1 row does not have 2 cells"):
        list(reader.blocks(piece))
