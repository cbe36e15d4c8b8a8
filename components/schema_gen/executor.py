"""Run SchemaGen: infer a schema from what the train split shows, and let a reviewed one win."""

from __future__ import annotations

from typing import Any

import tensorflow_data_validation as tfdv
from absl import logging
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components.base import say
from components.example_gen.found import Found
from components.schema_gen.difference import sentences, unified
from components.schema_gen.infer import infer
from components.schema_gen.pbtxt import parse
from components.statistics_gen.files import load as load_statistics

FILE_NAME = "schema.pbtxt"
# The artifact's property with the difference between the schema and the data, as text. Not a file
# beside schema.pbtxt: TFX's own components take the one file that lies there.
DIFFERENCE = "difference"
_SHOWN = 3


class Executor(base_executor.BaseExecutor):
    """Writes schema.pbtxt. Every feature is optional in shape, so that a request may leave any out."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        statistics = artifact_utils.get_single_instance(input_dict["statistics"])
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        output = artifact_utils.get_single_instance(output_dict["schema"])
        train = load_statistics(statistics.uri, "train")
        schema = infer(train, Found.load(examples.uri))
        account = "inferred from train"
        if exec_properties["reviewed"]:
            reviewed = parse(exec_properties["reviewed"], "the reviewed schema")
            account = _held(output, reviewed, schema)
            schema = reviewed
        tfdv.write_schema_text(schema, f"{output.uri}/{FILE_NAME}")
        known = f"{len(schema.string_domain)} with a set of known values"
        say(output, f"{len(schema.feature)} features, {known}; {account}")


def load(schema: object) -> schema_pb2.Schema:
    """The schema in a Schema artifact."""
    return tfdv.load_schema_text(f"{schema.uri}/{FILE_NAME}")  # type: ignore[attr-defined]


def _held(output: Any, reviewed: Any, inferred: Any) -> str:
    """Keeps how the reviewed schema differs from the data, and says it in a sentence."""
    said = sentences(reviewed, inferred)
    output.set_string_custom_property("reviewed", "1")
    lines = [f"# {sentence}" for sentence in said]
    lines.append(unified(inferred, reviewed, "inferred from train", "reviewed"))
    output.set_string_custom_property(DIFFERENCE, "\n".join(lines))
    for sentence in said:
        logging.info("%s", sentence)
    if not said:
        return "as reviewed, which is what the data looks like"
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return f"as reviewed, which differs from the data: {'; '.join(said[:_SHOWN])}{more}"
