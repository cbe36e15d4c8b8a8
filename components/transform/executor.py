"""Run Transform: one analysis of train and one pass over every split, in large record batches."""

from __future__ import annotations

import gzip
from collections import Counter
from typing import Any

import apache_beam as beam
import pyarrow as pa
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from absl import logging
from apache_beam.io import filebasedsink
from tensorflow_transform.tf_metadata import dataset_metadata, metadata_io
from tfx.types import artifact_utils
from tfx_bsl.coders import example_coder
from tfx_bsl.public import tfxio

from components import user_code
from components.base import BeamExecutor, say
from components.example_gen.found import Found
from components.records import FILE_FORMAT, frames, read_batches, split_files, splits_of
from components.schema_gen.executor import load as load_schema
from components.schema_gen.stored import as_stored
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
        # Without materialized examples there is no such output.
        splits = splits_of(examples) if "transformed_examples" in output_dict else []
        with self._make_beam_pipeline() as pipeline, tft_beam.Context(temp_dir=self._get_tmp_dir()):
            batches = {
                split: pipeline
                | f"Files[{split}]" >> beam.Create(split_files(examples, split))
                | f"Read[{split}]" >> beam.FlatMap(read_batches, schema, batch_rows)
                for split in splits or ["train"]
            }
            function = (batches["train"], config) | tft_beam.AnalyzeDataset(preprocessing_fn(plan, own))
            _ = function | tft_beam.WriteTransformFn(graph.uri)
            if splits:
                (transformed,) = output_dict["transformed_examples"]
                _describe(transformed, examples)
                _write_transformed(batches, config, function, transformed)
        # TFT itself writes what comes out of the transform, not what goes in.
        metadata_io.write_metadata(
            dataset_metadata.DatasetMetadata(schema), f"{graph.uri}/{tft.TFTransformOutput.RAW_METADATA_DIR}"
        )
        output = tft.TFTransformOutput(graph.uri)
        plan = with_own_inputs(plan, output) if own else sized(plan, output)
        plan = plan.model_copy(update={"materialized": bool(splits)})
        plan.save(graph.uri)
        say(graph, _account(plan))


def _describe(transformed: Any, examples: Any) -> None:
    transformed.split_names = examples.split_names
    transformed.span = examples.span
    transformed.set_string_custom_property("file_format", FILE_FORMAT)
    transformed.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")


def _write_transformed(batches: dict[str, Any], config: Any, function: Any, transformed: Any) -> None:
    """Adds to the Beam pipeline what applies the graph to every split and writes it."""
    for split, raw in batches.items():
        folder = artifact_utils.get_split_uri([transformed], split)
        (data, _metadata) = ((raw, config), function) | f"Transform[{split}]" >> (
            tft_beam.TransformDataset(output_record_batches=True)
        )
        _ = (
            data
            | f"Encode[{split}]" >> beam.ParDo(_Encode())
            | f"Write[{split}]" >> beam.io.Write(_BlockSink(f"{folder}/transformed_examples"))
        )


class _Encode(beam.DoFn):
    """A record batch as one gzip member that holds its examples as TFRecords."""

    def setup(self) -> None:
        self._encoder = example_coder.RecordBatchToExamplesEncoder()

    def process(self, element: tuple[pa.RecordBatch, dict[str, Any]]) -> Any:
        records = self._encoder.encode(element[0])
        yield gzip.compress(frames(records), compresslevel=1, mtime=0)


class _BlockSink(filebasedsink.FileBasedSink):
    """Appends ready gzip members to shards; a gzip file may hold several (RFC 1952, section 2.2)."""

    def __init__(self, prefix: str) -> None:
        super().__init__(
            prefix,
            coder=beam.coders.BytesCoder(),
            file_name_suffix=".gz",
            mime_type="application/octet-stream",
            compression_type=beam.io.filesystem.CompressionTypes.UNCOMPRESSED,
        )

    def write_encoded_record(self, file_handle: Any, encoded_value: bytes) -> None:
        file_handle.write(encoded_value)


def _account(plan: FeaturePlan) -> str:
    weighed = f"; rows weighed by {plan.weight.column}" if plan.weight else ""
    if plan.own:
        return f"{len(plan.own)} model inputs from your preprocessing_fn{weighed}"
    kinds = Counter(feature.config.kind for feature in plan.used)
    used = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    dropped = "".join(f"; dropped {feature.name}: {feature.why}" for feature in plan.dropped)
    return f"{len(plan.used)} columns used ({used}){dropped}{weighed}"
