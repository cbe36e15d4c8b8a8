"""Run StatisticsGen: TFDV over large record batches, all splits in one Beam pipeline."""

from __future__ import annotations

from collections.abc import Mapping

import apache_beam as beam
import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2
from tfx.types import artifact_utils

from components.base import BeamExecutor, say
from components.example_gen.found import Found
from components.records import read_batches, split_files, splits_of

FILE_NAME = "FeatureStats.pb"


class Executor(BeamExecutor):
    """Writes Split-NAME/FeatureStats.pb, as TFX's StatisticsGen does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        statistics = artifact_utils.get_single_instance(output_dict["statistics"])
        splits = splits_of(examples)
        statistics.split_names = artifact_utils.encode_split_names(splits)
        statistics.span = examples.span
        options = tfdv.StatsOptions(schema=_bytes_only(Found.load(examples.uri).types))
        with self._make_beam_pipeline() as pipeline:
            for split in splits:
                path = f"{artifact_utils.get_split_uri([statistics], split)}/{FILE_NAME}"
                _ = (
                    pipeline
                    | f"Files[{split}]" >> beam.Create(split_files(examples, split))
                    | f"Read[{split}]" >> beam.FlatMap(read_batches)
                    | f"Statistics[{split}]" >> tfdv.GenerateStatistics(options)
                    | f"Write[{split}]" >> tfdv.WriteStatisticsToBinaryFile(path)
                )
        train = load(statistics, splits[0])
        say(statistics, f"{len(train.features)} columns over {len(splits)} splits")


def _bytes_only(types: Mapping[str, str]) -> schema_pb2.Schema | None:
    """Tells TFDV which columns are no text: of those it takes sizes, not values."""
    columns = [
        schema_pb2.Feature(name=name, type=schema_pb2.BYTES, image_domain=schema_pb2.ImageDomain())
        for name, kind in types.items()
        if kind in ("image", "bytes")
    ]
    return schema_pb2.Schema(feature=columns) if columns else None


def load(statistics: object, split: str) -> statistics_pb2.DatasetFeatureStatistics:
    """The statistics of one split of an ExampleStatistics artifact."""
    path = f"{artifact_utils.get_split_uri([statistics], split)}/{FILE_NAME}"
    return tfdv.load_stats_binary(path).datasets[0]
