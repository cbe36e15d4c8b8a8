"""`headrace predict` of a large file: by Beam, into shards."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from components.errors import UserError
from pipeline.bulk.chunks import RowFile
from pipeline.cli.model_path import ModelPath, is_project
from pipeline.cli.rows import no_row
from serving.manifest import read_manifest
from serving.names import input_name
from serving.rows import check_known, to_columns
from serving.versions import is_version_directory, list_versions, version_number

LARGE_MB = 256  # from here on a file is answered by Beam, whose import takes seconds
_MIB = 2**20


@dataclass(frozen=True)
class BulkOptions:
    """What the command line says of Beam.

    Attributes:
      beam: whether it asks for Beam.
      runner: of Beam; "" is the project's.
      workers: processes on this machine; 0 is what the project says.
      skip_bad: leave bad rows out.
    """

    beam: bool
    runner: str
    workers: int
    skip_bad: bool

    def wanted(self, file: str | None, literals: bool, out: str | None, url: str) -> bool:
        """Whether Beam is to answer: it was asked for, or the file is large and answers go into files."""
        asked = bool(self.beam or self.runner or self.workers or self.skip_bad)
        possible = file and file != "-" and not literals and out and not url
        if asked and not possible:
            raise UserError(
                "--beam, --runner, --workers and --on-bad-row skip are for a file of rows, answers in files, "
                "and a model on this machine",
                fix="give --rows FILE and --out FILE, and leave --row and --url out",
            )
        if asked or not possible:
            return asked
        assert file
        return Path(file).is_file() and Path(file).stat().st_size >= LARGE_MB * _MIB

    def args(self, path: Path, home: str | None) -> list[str]:
        """Beam's options: those of the project, if PATH is one, with what the command line says."""
        from pipeline.beam import BeamConfig
        from pipeline.config import load_config

        config = load_config(path, home=home).beam if is_project(path) else BeamConfig()
        args = config.pipeline_args()
        if self.runner:
            args = [f"--runner={self.runner}", *config.args]
        if self.workers:
            args += [f"--direct_num_workers={self.workers}", "--direct_running_mode=multi_processing"]
        return args


def predict_in_bulk(
    found: ModelPath, rows: RowFile, out: str, limit: int | None, beam_args: Sequence[str], skip_bad: bool
) -> None:
    """Answers the rows of a file into shards beside `out`, and says how many, and which were left out."""
    from pipeline.cli.answer_files import check_name
    from pipeline.cli.predict import say_differences

    check_name(out)
    version = found.path if is_version_directory(found.path) else list_versions(found.path)[0].path
    manifest = read_manifest(version)
    if manifest and rows.names:  # before Beam, whose workers see a part each
        inputs = {input_name(column): "DT_STRING" for column in manifest.features}
        check_known(to_columns([dict.fromkeys(rows.names)], inputs), rows.path)

    # Google's clients warn of Python's age, here and in workers, and Beam of what nobody asked for.
    warnings.simplefilter("ignore", FutureWarning)
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    from pipeline.bulk.answer import Job, answer_file, said_of_bad  # imports Beam

    images = [name for name, kind in manifest.features.items() if kind == "image"] if manifest else []
    job = Job(rows, version.resolve(), version_number(version.name) or 1, tuple(images), Path(out).absolute())
    shards, total = answer_file(job, beam_args=beam_args, limit=limit, skip_bad=skip_bad)
    if not shards:
        raise no_row(rows.path)
    say_differences(total.absent, total.ignored, manifest.label if manifest else found.label)
    if total.bad:
        click.echo(f"{said_of_bad(total)}; left out", err=True)
    first = Path(out).with_name(shards[0].name)
    where = f"{len(shards)} files: {first} …" if len(shards) > 1 else first
    click.echo(f"{total.answered:,} answer{'' if total.answered == 1 else 's'} in {where}", err=True)
