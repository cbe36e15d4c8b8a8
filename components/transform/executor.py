"""Run Transform: one analysis of train, then one pass over every split, in large batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import apache_beam as beam
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from absl import logging
from tensorflow_transform.tf_metadata import dataset_metadata, metadata_io
from tfx.types import artifact_utils
from tfx_bsl.public import tfxio

from components import user_code
from components.base import BeamExecutor, say
from components.example_gen.found import Found
from components.records import FILE_FORMAT, read_batches, split_files, splits_of
from components.schema_gen.executor import load as load_schema
from components.schema_gen.stored import as_stored
from components.transform.apply import Apply
from components.transform.config import TransformConfig
from components.transform.images import most_rows
from components.transform.infer import make_plan, parse_features
from components.transform.own import preprocessing_fn, with_own_inputs
from components.transform.plan import FeaturePlan
from components.transform.preprocessing import sized


class Executor(BeamExecutor):
    """Writes the transform graph with its plan, and every split transformed if that is asked for."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        found = Found.load(examples.uri)
        reviewed = load_schema(artifact_utils.get_single_instance(input_dict["schema"]))
        schema = as_stored(reviewed, found)
        graph = artifact_utils.get_single_instance(output_dict["transform_graph"])
        plan = make_plan(found, parse_features(exec_properties["config"]))
        options = TransformConfig.model_validate_json(exec_properties["options"])
        own = (
            user_code.load(exec_properties["user_code"], options.function, ("inputs", "plan"))
            if options.function
            else None
        )
        for feature in plan.features:
            logging.info("%s: %s (%s)", feature.name, feature.config.kind, feature.why)
        batch_rows = min(options.batch_rows, most_rows(plan))
        config = tfxio.TFExampleBeamRecord(physical_format="tfrecords", schema=schema).TensorAdapterConfig()
        with self._make_beam_pipeline() as pipeline, tft_beam.Context(temp_dir=self._get_tmp_dir()):
            batches = (
                pipeline
                | "Files" >> beam.Create(split_files(examples, "train"))
                | "Read" >> beam.FlatMap(read_batches, found.types, batch_rows)
            )
            function = (batches, config) | tft_beam.AnalyzeDataset(preprocessing_fn(plan, own))
            _ = function | tft_beam.WriteTransformFn(graph.uri)
        # TFT itself writes what comes out of the transform, not what goes in.
        metadata_io.write_metadata(
            dataset_metadata.DatasetMetadata(schema), f"{graph.uri}/{tft.TFTransformOutput.RAW_METADATA_DIR}"
        )
        output = tft.TFTransformOutput(graph.uri)
        plan = with_own_inputs(plan, output) if own else sized(plan, output)
        # Without materialized examples there is no such output.
        transformed = output_dict.get("transformed_examples")
        plan = plan.model_copy(update={"materialized": bool(transformed)})
        plan.save(graph.uri)
        if transformed:
            _describe(transformed[0], examples)
            shards = _shards(examples, transformed[0])
            with self._make_beam_pipeline() as pipeline:
                _ = (
                    pipeline
                    | "Shards" >> beam.Create(shards)
                    | beam.Reshuffle()
                    | beam.ParDo(Apply(graph.uri, batch_rows))
                )
        say(graph, _account(plan))


def _describe(transformed: Any, examples: Any) -> None:
    transformed.split_names = examples.split_names
    transformed.span = examples.span
    transformed.set_string_custom_property("file_format", FILE_FORMAT)
    transformed.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")


def _shards(examples: Any, transformed: Any) -> list[tuple[str, str]]:
    """Each file of examples with the one that is made of it, of all splits."""
    pairs = []
    for split in splits_of(examples):
        files = split_files(examples, split)
        folder = artifact_utils.get_split_uri([transformed], split)
        for number, file in enumerate(files):
            pairs.append((file, f"{folder}/transformed_examples-{number:05d}-of-{len(files):05d}.gz"))
    return pairs


def _account(plan: FeaturePlan) -> str:
    weighed = f"; rows weighed by {plan.weight.column}" if plan.weight else ""
    if plan.own:
        return f"{len(plan.own)} model inputs from your preprocessing_fn{weighed}"
    kinds = Counter(feature.config.kind for feature in plan.used)
    used = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    dropped = "".join(f"; dropped {feature.name}: {feature.why}" for feature in plan.dropped)
    return f"{len(plan.used)} columns used ({used}){dropped}{weighed}"
