"""Ingest side by side: stock CsvExampleGen and ExampleGen, on the same taxi rows in one run.

Each measurement is a process of its own that runs a pipeline of the one component with TFX's
LocalDagRunner, on Beam in memory. The seconds are those of the run, without imports; for ExampleGen they
include the content hash that decides about the cache, where stock looks at sizes and times. The memory is
the peak of the process; what the imports alone take is in the last column.

Stock reads no Parquet and no folders of images; these rows are ours alone. Of the largest number of rows
only memory is compared, and only with itself at a quarter of it: stock would take many minutes.

Usage: python benchmarks/ingest.py [--rows 15000 150000 1000000] [--most 4000000] [--images 10000] [FOLDER]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def taxi_rows(rows: int) -> Iterator[Any]:
    """The rows that TFX ships as tables of texts, over and over, each time some hours later."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import tfx

    path = Path(tfx.__file__).parent / "examples/chicago_taxi_pipeline/data/big_tipper_label/data.csv"
    names = path.open().readline().strip().split(",")
    texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    table = pa_csv.read_csv(path, convert_options=texts)
    at = names.index("trip_start_timestamp")
    moments = table.column(at).cast(pa.int64())
    for number in range(-(-rows // len(table))):
        later = pc.add(moments, number * 900).cast(pa.string())
        yield table.set_column(at, names[at], later).slice(0, rows - number * len(table))


def write_csv(path: Path, rows: int) -> None:
    """The rows as stock can read them: without quotes."""
    import pyarrow.compute as pc

    with open(path, "w") as stream:
        for number, table in enumerate(taxi_rows(rows)):
            if not number:
                stream.write(",".join(table.column_names) + "\n")
            filled = [pc.fill_null(column, "") for column in table.columns]
            lines = pc.binary_join_element_wise(*filled, ",")
            stream.write("\n".join(lines.to_pylist()) + "\n")


def write_parquet(path: Path, source: Path) -> None:
    """The rows of the CSV file with the types that pyarrow finds."""
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    pq.write_table(pa_csv.read_csv(source), path, row_group_size=100_000)


def write_images(folder: Path, count: int) -> None:
    """Grey images of 28 x 28 pixels in two folders."""
    import numpy as np
    from PIL import Image

    noise = np.random.default_rng(0)
    for label in ("day", "night"):
        (folder / label).mkdir(parents=True)
    for number in range(count):
        pixels = noise.integers(0, 256, (28, 28), np.uint8)
        Image.fromarray(pixels).save(folder / ("day", "night")[number % 2] / f"{number:06d}.png")


def run_one(who: str, source: Path, label: str, folder: Path) -> dict[str, float]:
    """Runs one component on a source in this process, which imports what that takes and no more."""
    from tfx.orchestration.local.local_dag_runner import LocalDagRunner
    from tfx.orchestration.metadata import sqlite_metadata_connection_config
    from tfx.orchestration.pipeline import Pipeline

    from pipeline.beam import BeamConfig

    if who == "stock":
        from tfx.components.example_gen.csv_example_gen.component import CsvExampleGen
    else:
        from components.example_gen import executor, sources  # noqa: F401
        from components.example_gen.component import ExampleGen
        from components.example_gen.config import DataConfig
        from pipeline.sections import as_json

    imports = peak_mb()
    began = time.perf_counter()
    if who == "stock":
        component = CsvExampleGen(input_base=str(source.parent))
    else:
        config = DataConfig(source=str(source))
        component = ExampleGen(
            config=as_json(config),
            label=label,
            task="",
            fingerprint=sources.fingerprint(config),
            code="",
        )
    pipeline = Pipeline(
        pipeline_name="ingest",
        pipeline_root=str(folder / "root"),
        components=[component],
        metadata_connection_config=sqlite_metadata_connection_config(str(folder / "metadata.db")),
        beam_pipeline_args=BeamConfig().pipeline_args(),
    )
    LocalDagRunner().run(pipeline)
    return {"seconds": time.perf_counter() - began, "peak": peak_mb(), "imports": imports}


def peak_mb() -> float:
    """The most memory that this process had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def measure(who: str, source: Path, label: str = "big_tipper") -> dict[str, float]:
    """The same in a process of its own, with nothing left behind."""
    with tempfile.TemporaryDirectory(dir=source.parent.parent) as folder:
        command = [sys.executable, "-W", "ignore", __file__, "--one", who, str(source), label, folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{who} failed on {source}:\n{done.stderr[-4000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def line(what: str, rows: int, stock: dict[str, float] | None, ours: dict[str, float]) -> str:
    """A row of the table."""
    cells = [what, f"{rows:,}"]
    cells += [f"{stock['seconds']:.1f} s" if stock else "-", f"{ours['seconds']:.1f} s"]
    cells += [f"{stock['seconds'] / ours['seconds']:.1f}x" if stock else "-"]
    cells += [f"{stock['peak']:,.0f} MB" if stock else "-", f"{ours['peak']:,.0f} MB"]
    return f"| {' | '.join([*cells, '{imports:,.0f} MB'.format(**ours)])} |"


def compare(folder: Path, rows: list[int], most: int, images: int) -> None:
    """Writes the data, measures and prints the table as it grows."""
    print("| source | rows | stock | ours | faster | stock's peak | our peak | of it imports |")
    print("|---|---|---|---|---|---|---|---|")
    for number in sorted(rows):
        source = folder / f"csv-{number}" / "data.csv"
        source.parent.mkdir()
        write_csv(source, number)
        print(line("CSV", number, measure("stock", source), measure("ours", source)), flush=True)
        if number == max(rows):
            parquet = folder / "parquet" / "data.parquet"
            parquet.parent.mkdir()
            write_parquet(parquet, source)
            print(line("Parquet", number, None, measure("ours", parquet)), flush=True)
        shutil.rmtree(source.parent)
    if images:
        write_images(folder / "images", images)
        print(line("images, 28 x 28", images, None, measure("ours", folder / "images", "label")), flush=True)
    if most:
        source = folder / "csv-most" / "data.csv"
        source.parent.mkdir()
        write_csv(source, most)
        print(line("CSV", most, None, measure("ours", source)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        who, source, label, folder = sys.argv[2:6]
        print(json.dumps(run_one(who, Path(source), label, Path(folder))))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[15_000, 150_000, 1_000_000])
    parser.add_argument("--most", type=int, default=4_000_000, help="0: do not measure it")
    parser.add_argument("--images", type=int, default=10_000, help="0: do not measure them")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=None, help="where to put the data for a while"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        compare(Path(scratch), options.rows, options.most, options.images)
