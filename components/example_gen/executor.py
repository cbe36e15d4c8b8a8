"""Run ExampleGen: scan for types, then encode, split and write, each a map over the pieces of the source."""

from __future__ import annotations

import json
from typing import Any

import apache_beam as beam
from absl import logging
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import BeamExecutor, say
from components.errors import UserError
from components.example_gen import ingest, notes, sources, splitting
from components.example_gen.config import DataConfig
from components.example_gen.found import Found
from components.example_gen.opened import label_of, list_columns, open_source, written_types
from components.example_gen.readers import Piece
from components.example_gen.split_shards import is_dealt
from components.example_gen.splits.choose import held_back
from components.example_gen.splits.lookahead import Lookahead
from components.example_gen.survey import Survey, column_types, merge_pieces
from components.example_gen.tally import Tally, total
from components.label import LabelSpec
from components.records import FILE_FORMAT

_SKIPPED = "skipped_rows.jsonl"


class Executor(BeamExecutor):
    """Writes the rows of the source as one shard of every split for each of its pieces."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = DataConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        source = open_source(config, exec_properties["label"], self._get_tmp_dir())
        config, inputs, reader, pieces = source.config, source.inputs, source.reader, source.pieces
        scanned = self._over_pieces("scan", ingest.Scan(config, inputs.format), pieces)
        survey = merge_pieces([Survey.from_json(each) for each in scanned], pieces, reader)
        reader.scanned = True
        types = column_types(survey, config, reader, pieces)
        label = label_of(exec_properties["label"], exec_properties["task"] or None, survey, types)
        said = notes.notes(survey, types, config, reader, pieces)
        values = survey.columns[label.name].distinct_values(label.type)
        task = notes.of_task(label, exec_properties["task"] or None, values)

        plan = ingest.Plan(
            config=config,
            format=inputs.format,
            types=written_types(types, config.exclude),
            lists=list_columns(survey, types, label),
            scratch=self._get_tmp_dir(),
        )
        dealt = splitting.dealt_splits(config, inputs.files)
        chosen = splitting.choose_dealer(config, survey, types, label, dealt)
        if isinstance(chosen, Lookahead):
            look = ingest.Look(plan, chosen, splitting.needed(config, label))
            for seen in self._over_pieces(
                "look", look, [each for each in pieces if is_dealt(each.split, dealt)]
            ):
                chosen.merge(seen)
            chosen = chosen.dealer()
        split = splitting.split_plan(
            config,
            survey,
            label,
            dealt,
            chosen,
            uri=examples.uri,
            scratch=self._get_tmp_dir(),
            shards=len(pieces),
        )
        tally = total(self._over_pieces("write", ingest.Write(plan, split), pieces))
        outcome = splitting.judge(config, split, tally)
        said += [*_notes_of(tally, label, config, survey), *outcome.notes]
        if tally.skipped:
            _join([plan.skipped_file(index) for index in range(len(pieces))], f"{examples.uri}/{_SKIPPED}")

        examples.split_names = artifact_utils.encode_split_names(list(sources.SPLITS))
        examples.set_string_custom_property("file_format", FILE_FORMAT)
        examples.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")
        examples.set_string_custom_property("input_fingerprint", exec_properties["fingerprint"])
        examples.span = inputs.spans[-1] if inputs.spans else 0
        if inputs.version is not None:
            examples.version = inputs.version
        if len(inputs.spans) > 1:
            examples.set_string_custom_property("spans", ",".join(map(str, inputs.spans)))
        examples.set_int_custom_property("rows", sum(tally.rows.values()))
        examples.set_json_value_custom_property("split_rows", tally.rows)
        examples.set_json_value_custom_property("split_classes", tally.classes)
        examples.set_json_value_custom_property("straddling_rows", outcome.straddling)
        for note in [*task, *said]:
            logging.info("%s", note)
        Found(
            label=label,
            types=plan.types,
            lists=tuple(name for name in plan.lists if name in plan.types),
            longest={name: survey.columns[name].longest for name in plan.lists if name in plan.types},
            images={
                name: sizes
                for name, kind in plan.types.items()
                if kind == "image" and (sizes := tally.image_sizes(name))
            },
            excluded=tuple(name for name in types if name not in plan.types),
            values={
                name: survey.columns[name].distinct_count if name in survey.columns else None
                for name in plan.types
            },
            words={
                name: survey.columns[name].words / max(1, survey.columns[name].present)
                for name, kind in plan.types.items()
                if kind == "text" and name in survey.columns
            },
            rows=tally.rows,
            classes=tally.classes,
            present=tally.present,
            skipped=tally.skipped,
            notes=[*task, *said],
            weight=config.weight,
            weight_mean=outcome.weight_mean,
            held_back=held_back(config.split, plan.types),
            straddling=outcome.straddling,
        ).save(examples.uri)
        say(examples, "; ".join([*outcome.account, *task, *said]))

    def _over_pieces(self, name: str, work: beam.DoFn, pieces: list[Piece]) -> list[Any]:
        """Runs `work` on each piece and gives its results in the order of the pieces."""
        found = f"{self._get_tmp_dir()}/{name}.jsonl"
        with self._make_beam_pipeline() as pipeline:
            _ = (
                pipeline
                | "Pieces" >> beam.Create(list(enumerate(pieces)))
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


def _notes_of(tally: Tally, label: LabelSpec, config: DataConfig, survey: Survey) -> list[str]:
    """What only writing can tell."""
    said = []
    if tally.skipped > survey.skipped:
        unread = tally.skipped - survey.skipped
        said.append(f"skipped {unread:,} rows whose image cannot be read; see {_SKIPPED}")
    said += [
        f"column {name!r}: float32 changes {changed:,} numbers; declare it integer or text to keep them"
        for name, changed in tally.changed.items()
    ]
    said += [
        f"column {name!r}: {number:,} numbers are too large for float32 and count as missing"
        for name, number in tally.too_large.items()
    ]
    if tally.unlabelled:
        said.append(f"dropped {tally.unlabelled:,} rows whose label {label.name!r} is missing")
    if tally.classless:
        said.append(f"{tally.classless:,} rows have none of the classes of {label.name!r}, which is kept")
    if tally.unweighted:
        said.append(f"dropped {tally.unweighted:,} rows whose weight {config.weight!r} is missing")
    said += [
        notes.sentence(remark, number)
        for remark, number in tally.remarks.items()
        if remark not in survey.remarks
    ]
    return said


def _join(parts: list[str], whole: str) -> None:
    with fileio.open(whole, "w") as stream:
        for part in filter(fileio.exists, parts):
            with fileio.open(part) as lines:
                for line in lines:
                    stream.write(line)
