"""Run Evaluator: predictions in large batches, TFMA's metrics over them, and the gate's verdict."""

from __future__ import annotations

import difflib
import json
import math
from typing import Any

import apache_beam as beam
import tensorflow_model_analysis as tfma
from absl import logging
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import BeamExecutor, say
from components.errors import UserError
from components.evaluator.config import DEFAULT_GATES, METRICS, OF_A_CONSTANT, EvaluateConfig
from components.evaluator.constant import WriteConstant, constant, has_constant
from components.evaluator.eval_config import eval_config
from components.evaluator.gate import Verdict, judge
from components.evaluator.noise import standard_errors
from components.evaluator.predictions import LABEL, WEIGHT, Exported, Predict
from components.evaluator.results import measured
from components.records import split_files
from components.schema_gen.executor import load as load_schema

SPLIT = "test"


class Executor(BeamExecutor):
    """Writes TFMA's evaluation, and BLESSED or NOT_BLESSED as TFX's Evaluator does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = EvaluateConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        schema = load_schema(artifact_utils.get_single_instance(input_dict["schema"]))
        model = artifact_utils.get_single_instance(input_dict["model"])
        baseline = next(iter(input_dict.get("baseline_model") or ()), None)
        evaluation = artifact_utils.get_single_instance(output_dict["evaluation"])
        blessing = artifact_utils.get_single_instance(output_dict["blessing"])

        candidate = Exported(path_utils.serving_model_path(model.uri))
        gate = config.gate or DEFAULT_GATES[candidate.about["task"]]
        _check_names(config, candidate.about["task"], [feature.name for feature in schema.feature])
        models = {tfma.CANDIDATE_KEY: candidate.path}
        cannot = ""
        if baseline:
            cannot = _cannot_compare(candidate, baseline, schema)
            if not cannot:
                models[tfma.BASELINE_KEY] = path_utils.serving_model_path(baseline.uri)
        self._evaluate(models, candidate, config, gate, split_files(examples, SPLIT), evaluation.uri)

        compared = len(models) > 1
        # TFMA forgets the name of a model that is alone.
        found = measured(evaluation.uri, tfma.CANDIDATE_KEY if compared else "", candidate)
        metrics = found.metrics
        before = measured(evaluation.uri, tfma.BASELINE_KEY, candidate).metrics if compared else None
        errors = {} if "weight_input" in candidate.about else standard_errors(found)
        verdict = judge(metrics, before, gate, constant(evaluation.uri), errors)
        if cannot:
            verdict = Verdict(verdict.blessed, f"{verdict.sentence}; {cannot}")
        _bless(blessing, verdict, model, baseline)
        logging.info("%s", verdict.sentence)
        evaluation.set_string_custom_property("metrics", _as_json(metrics))
        if before is not None:
            evaluation.set_string_custom_property("baseline_metrics", _as_json(before))
        shown = ", ".join(_shown(name, value) for name, value in metrics.items())
        if found.of_classes:
            classes = {name: _finite(values) for name, values in found.of_classes.items()}
            evaluation.set_string_custom_property("class_metrics", json.dumps(classes))
        say(evaluation, f"{verdict.sentence} ({SPLIT}, {found.extent}: {shown}{found.unmeasured})")

    def _evaluate(
        self,
        models: dict[str, str],
        candidate: Exported,
        config: EvaluateConfig,
        gate: dict[str, Any],
        files: list[str],
        output: str,
    ) -> None:
        task = candidate.about["task"]
        slices = sorted({column for columns in config.slices for column in columns})
        known = {LABEL: candidate.about["label_input"]}
        if "weight_input" in candidate.about:
            known[WEIGHT] = candidate.about["weight_input"]
        with self._make_beam_pipeline() as pipeline:
            predicted = (
                pipeline
                | "Files" >> beam.Create(files)
                | "Predict" >> beam.ParDo(Predict(models, task, known, slices))
            )
            if has_constant(task):
                _ = predicted | "Constant" >> WriteConstant(task, output)
            _ = predicted | "Evaluate" >> tfma.ExtractEvaluateAndWriteResults(
                eval_config=eval_config(
                    task,
                    config.slices,
                    gate,
                    has_baseline=len(models) > 1,
                    weighted=WEIGHT in known,
                    classes=len(candidate.about.get("classes", ())),
                ),
                eval_shared_model={name: _shared(name, path) for name, path in models.items()},
                output_path=output,
            )


def _shared(name: str, path: str) -> tfma.types.EvalSharedModel:
    """Tells TFMA of a model whose predictions are in the data already."""
    return tfma.types.EvalSharedModel(
        model_path=path,
        model_name=name,
        is_baseline=name == tfma.BASELINE_KEY,
        model_type=tfma.constants.MATERIALIZED_PREDICTION,
    )


def _check_names(config: EvaluateConfig, task: str, columns: list[str]) -> None:
    for name, bound in (config.gate or {}).items():
        if name not in METRICS[task]:
            raise UserError(
                f"task {task} has no metric {name!r}",
                where="evaluate.gate",
                fix=f"name one of: {', '.join(METRICS[task])}",
            )
        if bound.beats_constant and name not in OF_A_CONSTANT.get(task, ()):
            raise UserError(
                f"{name} of task {task} has no constant to beat",
                where=f"evaluate.gate.{name}.beats_constant",
                fix="give it a min or a max",
            )
    for name in (column for names in config.slices for column in names):
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            raise UserError(
                f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
                where="evaluate.slices",
                fix=f"name one of: {', '.join(columns)}",
            )


def _cannot_compare(candidate: Exported, baseline: Any, schema: schema_pb2.Schema) -> str:
    """Why the latest blessed model cannot be held against the candidate; empty when it can."""
    try:
        before = Exported(path_utils.serving_model_path(baseline.uri))
    except Exception as error:  # each file system has its own
        return f"the latest blessed model cannot be read ({error}), so no comparison"
    if before.question != candidate.question:
        return "the latest blessed model predicts another label or other classes, so no comparison"
    types = {feature.name: feature.type for feature in schema.feature}
    for name, kind in before.about["features"].items():
        if types.get(name, _stored_type(kind)) != _stored_type(kind):
            return f"the latest blessed model expects column {name!r} to be {kind}, so no comparison"
    return ""


def _stored_type(kind: str) -> Any:
    """How a column of this type stands in examples."""
    if kind in ("integer", "boolean"):
        return schema_pb2.INT
    return schema_pb2.FLOAT if kind == "float" else schema_pb2.BYTES


def _shown(name: str, value: float) -> str:
    if math.isnan(value):
        return f"no {name}" + (": no row is predicted positive" if name == "precision" else "")
    return f"{name} {value:.4f}"


def _as_json(metrics: dict[str, float]) -> str:
    """The metrics, with null for what cannot be measured: JSON knows no NaN."""
    return json.dumps(_finite(metrics))


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _bless(blessing: Any, verdict: Verdict, model: Any, baseline: Any) -> None:
    """Marks the blessing as TFX's Evaluator does, so that its resolvers and Pusher understand it."""
    blessing.set_string_custom_property("current_model", model.uri)
    blessing.set_int_custom_property("current_model_id", model.id)
    if baseline:
        blessing.set_string_custom_property("baseline_model", baseline.uri)
        blessing.set_int_custom_property("baseline_model_id", baseline.id)
    blessing.set_int_custom_property("blessed", 1 if verdict.blessed else 0)
    blessing.set_string_custom_property("reason", verdict.sentence)
    fileio.makedirs(blessing.uri)
    with fileio.open(f"{blessing.uri}/{'BLESSED' if verdict.blessed else 'NOT_BLESSED'}", "w") as stream:
        stream.write("")
