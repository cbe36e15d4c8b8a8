"""Runs ExampleGen's executor on a source and reads back what it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import UserError
from components.example_gen import sources
from components.example_gen.config import DataConfig
from components.example_gen.found import Found
from components.example_gen.notes import notes
from components.example_gen.readers import make_reader
from components.example_gen.survey import Survey, column_types, merge_pieces, survey_piece

_RUNNER = "--runner=apache_beam.runners.portability.fn_api_runner.fn_runner.FnApiRunner"


@dataclass
class Ingested:
    """What ExampleGen left."""

    artifact: Any
    found: Found

    @property
    def uri(self) -> Path:
        return Path(self.artifact.uri)

    @property
    def notes(self) -> str:
        return "\n".join(self.found.notes)

    def rows(self, *splits: str) -> list[dict[str, list[Any]]]:
        """All rows of the splits (default: of all), each feature with its list of values."""
        import tensorflow as tf

        rows = []
        for split in splits or sources.SPLITS:
            for file in sorted(self.uri.glob(f"Split-{split}/*.gz")):
                for record in tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator():
                    features = tf.train.Example.FromString(record).features.feature
                    rows.append({name: _values(features[name]) for name in sorted(features)})
        return rows

    def column(self, name: str, *splits: str) -> list[Any]:
        """The single values of a column, None where missing, sorted by their text."""
        found = [(row.get(name) or [None])[0] for row in self.rows(*splits)]
        return sorted(found, key=lambda value: (value is None, str(value)))


def _values(feature: Any) -> list[Any]:
    kind = feature.WhichOneof("kind")
    values = list(getattr(feature, kind).value) if kind else []
    return [value.decode() if _is_text(value) else value for value in values]


def _is_text(value: Any) -> bool:
    if not isinstance(value, bytes):
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def ingest(
    folder: Path, data: dict[str, Any], label: str = "y", task: str = "", *, beam: bool = False
) -> Ingested:
    """Runs the executor as the local runner does, without ML Metadata and, unless asked for, without Beam."""
    from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor
    from tfx.types import standard_artifacts

    from components.example_gen.executor import Executor

    class WithoutBeam(Executor):
        def _over_pieces(self, name: str, work: Any, pieces: list[Any]) -> list[Any]:
            results = [json.loads(line) for each in enumerate(pieces) for line in work.process(each)]
            for result in results:
                if "error" in result:
                    raise UserError.from_json(result["error"])
            return [result["found"] for result in results]

    config = DataConfig.model_validate(data)
    artifact = standard_artifacts.Examples()
    artifact.uri = str(folder / "examples")
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    context = BaseBeamExecutor.Context(beam_pipeline_args=[_RUNNER], tmp_dir=str(scratch), unique_id="1")
    properties = {
        "config": json.dumps(config.model_dump(mode="json")),
        "label": label,
        "task": task,
        "fingerprint": "f",
        "code": "{}",
    }
    executor = (Executor if beam else WithoutBeam)(context)
    executor.Do({}, {"examples": [artifact]}, properties)
    return Ingested(artifact, Found.load(artifact.uri))


def survey_of(data: dict[str, Any]) -> Survey:
    """What the first pass sees: no label, no splits."""
    config = DataConfig.model_validate(data)
    inputs = sources.find(config)
    reader = make_reader(config, inputs.format)
    pieces = reader.pieces(inputs.files)
    surveys = [
        Survey.from_json(survey_piece(reader, piece, index, config).to_json())
        for index, piece in enumerate(pieces)
    ]
    return merge_pieces(surveys, pieces, reader)


def types_of(data: dict[str, Any]) -> dict[str, str]:
    """Each column's type, as inferred or declared."""
    config = DataConfig.model_validate(data)
    inputs = sources.find(config)
    reader = make_reader(config, inputs.format)
    return column_types(survey_of(data), config, reader, reader.pieces(inputs.files))


def notes_of(data: dict[str, Any]) -> str:
    """What the first pass says."""
    config = DataConfig.model_validate(data)
    inputs = sources.find(config)
    reader = make_reader(config, inputs.format)
    pieces = reader.pieces(inputs.files)
    survey = survey_of(data)
    return "\n".join(notes(survey, column_types(survey, config, reader, pieces), config, reader, pieces))
