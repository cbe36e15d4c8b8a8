"""Run ExampleGen: scan for types, then encode, split and write, each a map over the files."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import apache_beam as beam
from absl import logging
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import BeamExecutor, say
from components.errors import UserError
from components.example_gen import columns, ingest, sources, splits
from components.example_gen.config import DataConfig
from components.label import LabelSpec, find_label
from components.records import FILE_FORMAT


class Executor(BeamExecutor):
    """Writes the rows of the source as one shard of every split for each of its files."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = DataConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        files = sources.find_files(config.source)

        scans = self._merge(self._over_files("scan", ingest.Scan(config), files))
        types = _types(config, scans)
        label = _label(exec_properties["label"], exec_properties["task"] or None, scans, types)

        plan = ingest.Plan(config=config, types=types, label=label, uri=examples.uri, shards=len(files))
        tally = ingest.total(self._over_files("write", ingest.Write(plan), files))
        splits.check(tally.rows, tally.classes, label.name)

        examples.split_names = artifact_utils.encode_split_names(list(config.split.parts))
        examples.set_string_custom_property("file_format", FILE_FORMAT)
        examples.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")
        examples.set_string_custom_property("input_fingerprint", exec_properties["fingerprint"])
        examples.span, examples.version = 0, 0
        examples.set_int_custom_property("rows", sum(tally.rows.values()))
        notes = _notes(scans, tally, label)
        for note in notes:
            logging.info("%s", note)
        ingest.Found(
            label=label,
            types=types,
            values={
                name: len(scan.values) if scan.values is not None else None for name, scan in scans.items()
            },
            rows=tally.rows,
            classes=tally.classes,
            present=tally.present,
            notes=notes,
        ).save(examples.uri)
        counted = ", ".join(f"{split} {number:,}" for split, number in tally.rows.items())
        say(examples, f"{sum(tally.rows.values()):,} rows ({counted})" + "".join(f"; {n}" for n in notes))

    def _over_files(self, name: str, work: beam.DoFn, files: list[Path]) -> list[Any]:
        """Runs `work` on each file and gives its results in the order of the files."""
        found = f"{self._get_tmp_dir()}/{name}.jsonl"
        with self._make_beam_pipeline() as pipeline:
            _ = (
                pipeline
                | "Files" >> beam.Create(list(enumerate(map(str, files))))
                | "Spread" >> beam.Reshuffle()
                | name.capitalize() >> beam.ParDo(work)
                | "Keep" >> beam.io.WriteToText(found, num_shards=1, shard_name_template="")
            )
        with fileio.open(found) as stream:
            results = sorted((json.loads(line) for line in stream), key=lambda result: result["index"])
        for result in results:
            if "error" in result:
                raise UserError.from_json(result["error"])
        return [result["found"] for result in results]

    def _merge(self, per_file: list[dict[str, Any]]) -> dict[str, columns.ColumnScan]:
        merged: dict[str, columns.ColumnScan] = {}
        first_file: str | None = None
        for found in per_file:
            scans = {name: columns.ColumnScan(**scan) for name, scan in found["columns"].items()}
            if first_file is None:
                first_file, merged = found["file"], scans
                continue
            if set(scans) != set(merged):
                odd = sorted(set(scans) ^ set(merged))
                raise UserError(
                    f"columns differ from those of {first_file}: {', '.join(map(repr, odd[:5]))}",
                    where=found["file"],
                    fix="give all files of a source the same columns",
                )
            for name, scan in scans.items():
                merged[name].merge(scan)
        return merged


def _types(config: DataConfig, scans: dict[str, columns.ColumnScan]) -> dict[str, str]:
    """Each column's type, without those that are excluded; declared types win."""
    for key, names in (("columns", config.columns), ("exclude", config.exclude)):
        for name in names:
            if name not in scans:
                raise _no_column(name, list(scans), f"data.{key}")
    return {
        name: config.columns.get(name, scan.inferred)
        for name, scan in scans.items()
        if name not in config.exclude
    }


def _label(name: str, task: Any, scans: dict[str, columns.ColumnScan], types: dict[str, str]) -> LabelSpec:
    if name not in types:
        raise _no_column(name, list(types), "label")
    return find_label(name, types[name], scans[name].values, task)


def _no_column(name: str, known: list[str], where: str) -> UserError:
    near = difflib.get_close_matches(name, known, n=1)
    return UserError(
        f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
        where=where,
        fix=f"name one of its columns: {', '.join(known[:20])}{', …' if len(known) > 20 else ''}",
    )


def _notes(scans: dict[str, columns.ColumnScan], tally: ingest.Tally, label: LabelSpec) -> list[str]:
    """What a person should know about how the rows were read, a sentence each."""
    notes = [stray for scan in scans.values() if (stray := scan.stray())]
    for name, scan in scans.items():
        if scan.not_finite:
            notes.append(f"column {name!r}: {scan.not_finite:,} cells say nan or inf and count as missing")
    for name, changed in tally.narrowed.items():
        notes.append(
            f"column {name!r}: float32 changes {changed:,} whole numbers; declare it integer to keep them"
        )
    if tally.unlabelled:
        notes.append(f"dropped {tally.unlabelled:,} rows whose label {label.name!r} is missing")
    return notes
