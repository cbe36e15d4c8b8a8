"""Run ExampleGen: scan for types, then encode, split and write, each a map over the pieces of the source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
from absl import logging
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import BeamExecutor, say
from components.errors import UserError
from components.example_gen import database, ingest, notes, sources, splitting
from components.example_gen.config import DataConfig
from components.example_gen.derive import Expression, as_label
from components.example_gen.found import Found
from components.example_gen.images.load import fact_types
from components.example_gen.readers import Piece, Reader, make_reader
from components.example_gen.split_shards import is_dealt
from components.example_gen.splits.choose import held_back
from components.example_gen.splits.lookahead import Lookahead
from components.example_gen.survey import Survey, column_types, merge_pieces, no_column
from components.example_gen.tally import Tally, total
from components.label import LabelSpec, find_label
from components.records import FILE_FORMAT

_SKIPPED = "skipped_rows.jsonl"


class Executor(BeamExecutor):
    """Writes the rows of the source as one shard of every split for each of its pieces."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = DataConfig.model_validate_json(exec_properties["config"])
        if not config.folder_names:
            config = config.model_copy(update={"folder_names": exec_properties["label"]})
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        inputs = sources.find(config)
        reader = make_reader(config, inputs.format)
        if inputs.format == "sql":
            pieces = database.keep_rows(config, self._get_tmp_dir())
        else:
            pieces = reader.pieces(inputs.files)

        expression = _expression(exec_properties["label"], reader, pieces)
        if expression:
            config = _with_label(config, expression)
            reader = make_reader(config, inputs.format)
        config = _without_derived_features(config, exec_properties["label"])
        scanned = self._over_pieces("scan", ingest.Scan(config, inputs.format), pieces)
        survey = merge_pieces([Survey.from_json(each) for each in scanned], pieces, reader)
        reader.scanned = True
        types = column_types(survey, config, reader, pieces)
        label = _label(exec_properties["label"], exec_properties["task"] or None, survey, types)
        said = notes.notes(survey, types, config, reader, pieces)

        plan = ingest.Plan(
            config=config,
            format=inputs.format,
            types=_written(types, config.exclude),
            lists=tuple(name for name in types if survey.columns[name].longest > 1),
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
        for note in said:
            logging.info("%s", note)
        Found(
            label=label,
            types=plan.types,
            lists=tuple(name for name in plan.lists if name in plan.types),
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
            notes=said,
            weight=config.weight,
            weight_mean=outcome.weight_mean,
            held_back=held_back(config.split, plan.types),
            straddling=outcome.straddling,
        ).save(examples.uri)
        say(examples, "; ".join([*outcome.account, *said]))

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


def _expression(label: str, reader: Reader, pieces: Sequence[Piece]) -> Expression | None:
    """The label, where it is an expression rather than a column."""
    first = next((block for piece in pieces[:1] for block in reader.blocks(piece)), None)
    return as_label(label, first.batch.schema.names) if first else None


def _with_label(config: DataConfig, expression: Expression) -> DataConfig:
    """The `data` section with the label's column derived, and what it is made of out of the model's sight."""
    hidden = [name for name in expression.columns if name not in (*config.exclude, *config.keep)]
    return config.model_copy(
        update={
            "derive": {**config.derive, expression.text: expression.text},
            "exclude": (*config.exclude, *hidden),
        }
    )


def _without_derived_features(config: DataConfig, label: str) -> DataConfig:
    """The `data` section in which computed columns are no features: a request would not hold them."""
    kept = (label, config.weight, config.split.column, *config.keep, *config.exclude)
    hidden = [name for name in config.derive if name not in kept]
    return config.model_copy(update={"exclude": (*config.exclude, *hidden)}) if hidden else config


def _written(types: Mapping[str, str], exclude: Sequence[str]) -> dict[str, str]:
    """The columns that rows are written with: those that are not excluded, and the facts of each image."""
    kept = {name: kind for name, kind in types.items() if name not in exclude}
    for name in [name for name, kind in kept.items() if kind == "image"]:
        for fact, kind in fact_types(name).items():
            if fact in types:
                raise UserError(
                    f"the data has a column {fact!r}, as a measure of the image {name!r} is to be called",
                    where="data.columns",
                    fix="rename one of the two",
                )
            kept[fact] = kind
    return kept


def _label(name: str, task: Any, survey: Survey, types: Mapping[str, str]) -> LabelSpec:
    if name not in types:
        raise no_column(name, list(types), "label")
    scan = survey.columns[name]
    if scan.longest > 1:
        raise UserError("a row has several values of it", where=f"label {name!r}", fix="choose another label")
    return find_label(name, types[name], scan.distinct_values(types[name]), task)


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
