"""Run SchemaGen: infer a schema from what the train split shows."""

from __future__ import annotations

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components.base import say
from components.statistics_gen.executor import load as load_statistics

FILE_NAME = "schema.pbtxt"


class Executor(base_executor.BaseExecutor):
    """Writes schema.pbtxt. Every feature is optional in shape, so that a request may leave any out."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        statistics = artifact_utils.get_single_instance(input_dict["statistics"])
        output = artifact_utils.get_single_instance(output_dict["schema"])
        train = statistics_pb2.DatasetFeatureStatisticsList(datasets=[load_statistics(statistics, "train")])
        schema = tfdv.infer_schema(train, infer_feature_shape=False)
        _mark_images(schema)
        tfdv.write_schema_text(schema, f"{output.uri}/{FILE_NAME}")
        say(output, f"{len(schema.feature)} features, {len(schema.string_domain)} with a set of known values")


def _mark_images(schema: schema_pb2.Schema) -> None:
    """Says which features are images: those whose height stands beside them."""
    names = {feature.name for feature in schema.feature}
    for feature in schema.feature:
        if f"{feature.name}/height" in names:
            feature.image_domain.SetInParent()


def load(schema: object) -> schema_pb2.Schema:
    """The schema in a Schema artifact."""
    return tfdv.load_schema_text(f"{schema.uri}/{FILE_NAME}")  # type: ignore[attr-defined]
