"""Run ExampleValidator: hold the statistics of every split against the schema."""

from __future__ import annotations

import tensorflow_data_validation as tfdv
from absl import logging
from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import say
from components.schema_gen.executor import load as load_schema
from components.statistics_gen.executor import load as load_statistics

FILE_NAME = "SchemaDiff.pb"
_SHOWN = 5


class Executor(base_executor.BaseExecutor):
    """Writes Split-NAME/SchemaDiff.pb and the `blessed` property, as TFX's ExampleValidator does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        statistics = artifact_utils.get_single_instance(input_dict["statistics"])
        schema = load_schema(artifact_utils.get_single_instance(input_dict["schema"]))
        output = artifact_utils.get_single_instance(output_dict["anomalies"])
        splits = artifact_utils.decode_split_names(statistics.split_names)
        output.split_names = artifact_utils.encode_split_names(splits)
        output.span = statistics.span
        blessed, found = {}, []
        for split in splits:
            dataset = statistics_pb2.DatasetFeatureStatisticsList(
                datasets=[load_statistics(statistics, split)]
            )
            anomalies = tfdv.validate_statistics(dataset, schema)
            folder = artifact_utils.get_split_uri([output], split)
            fileio.makedirs(folder)
            with fileio.open(f"{folder}/{FILE_NAME}", "wb") as stream:
                stream.write(anomalies.SerializeToString())
            sentences = _sentences(split, anomalies)
            blessed[split] = 0 if sentences else 1
            found.extend(sentences)
        output.set_json_value_custom_property("blessed", blessed)
        for sentence in found:
            logging.warning("anomaly: %s", sentence)
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        say(
            output,
            f"{len(found)} anomalies, kept as warnings: {'; '.join(found[:_SHOWN])}{more}"
            if found
            else "no anomalies",
        )


def _sentences(split: str, anomalies: anomalies_pb2.Anomalies) -> list[str]:
    found = [
        f"{split}: {name}: {info.description.rstrip('. ')}"
        for name, info in sorted(anomalies.anomaly_info.items())
    ]
    if anomalies.HasField("dataset_anomaly_info"):
        found.append(f"{split}: {anomalies.dataset_anomaly_info.description.rstrip('. ')}")
    return found
