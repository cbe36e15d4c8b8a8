"""Run StatisticsGen: TFDV over large record batches, all splits in one Beam pipeline."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from typing import Any

import apache_beam as beam
import tensorflow as tf
import tensorflow_data_validation as tfdv
from tensorflow_data_validation.statistics import stats_impl
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx_bsl.public.proto import slicing_spec_pb2

from components.base import BeamExecutor, say
from components.errors import UserError
from components.example_gen.found import Found
from components.records import split_files, splits_of
from components.statistics_gen.batches import read, read_at_once
from components.statistics_gen.config import StatisticsConfig
from components.statistics_gen.files import QUANTILES, load_all, path_of

# Columns whose values are no words or numbers: counts and sizes are all that can be said of them.
_OPAQUE = ("bytes", "image")
# So much, compressed, fits in memory several times over.
_FEW_ROWS, _FEW_BYTES = 100_000, 64 << 20


class Executor(BeamExecutor):
    """Writes Split-NAME/FeatureStats.pb, as TFX's StatisticsGen does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = StatisticsConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        statistics = artifact_utils.get_single_instance(output_dict["statistics"])
        found = Found.load(examples.uri)
        splits = splits_of(examples)
        statistics.split_names = artifact_utils.encode_split_names(splits)
        statistics.span = examples.span
        statistics.set_string_custom_property("data", _identity(examples, found))
        options = options_of(config, found)
        if _are_few(examples, splits, found) and not config.slices:
            _compute_here(examples, statistics, splits, found, options)
        else:
            self._compute(examples, statistics, splits, found, options)
        datasets = load_all(statistics.uri, splits[0]).datasets
        columns = f"{len(found.types)} columns over {len(splits)} splits"
        slices = f", and of {len(datasets) - 1} slices" if config.slices else ""
        say(statistics, columns + (f", weighted by {found.weight}" if found.weight else "") + slices)

    def _compute(
        self, examples: Any, statistics: Any, splits: list[str], found: Found, options: tfdv.StatsOptions
    ) -> None:
        with self._make_beam_pipeline() as pipeline:
            for split in splits:
                _ = (
                    pipeline
                    | f"Files[{split}]" >> beam.Create(split_files(examples, split))
                    | f"Read[{split}]" >> beam.FlatMap(read, found.types)
                    | f"Statistics[{split}]" >> tfdv.GenerateStatistics(options)
                    | f"Write[{split}]" >> tfdv.WriteStatisticsToBinaryFile(path_of(statistics.uri, split))
                )


def _are_few(examples: Any, splits: list[str], found: Found) -> bool:
    if sum(found.rows.values()) > _FEW_ROWS:
        return False
    files = [file for split in splits for file in split_files(examples, split)]
    return sum(tf.io.gfile.stat(file).length for file in files) <= _FEW_BYTES


def _compute_here(
    examples: Any, statistics: Any, splits: list[str], found: Found, options: tfdv.StatsOptions
) -> None:
    """What `_compute` does, by the same code of TFDV, without Beam: a pipeline costs more than few rows."""
    for split in splits:
        rows = read_at_once(split_files(examples, split), found.types)
        made = stats_impl.generate_statistics_in_memory(rows, options)
        fileio.makedirs(os.path.dirname(path_of(statistics.uri, split)))
        with fileio.open(path_of(statistics.uri, split), "wb") as stream:
            stream.write(made.SerializeToString())


def options_of(config: StatisticsConfig, found: Found) -> tfdv.StatsOptions:
    """What TFDV is asked for."""
    # TFDV takes a feature for bytes, not for text, when it has an image domain.
    opaque = schema_pb2.Schema()
    for name, kind in found.types.items():
        if kind in _OPAQUE:
            feature = opaque.feature.add(name=name, type=schema_pb2.BYTES)
            feature.image_domain.SetInParent()
    return tfdv.StatsOptions(
        schema=opaque if opaque.feature else None,
        weight_feature=found.weight,
        slicing_config=_slicing(config, found),
        num_quantiles_histogram_buckets=QUANTILES,
    )


def _slicing(config: StatisticsConfig, found: Found) -> slicing_spec_pb2.SlicingConfig | None:
    if not config.slices:
        return None
    slicing = slicing_spec_pb2.SlicingConfig()
    for columns in config.slices:
        for name in columns:
            _check_slice(name, found)
        slicing.slicing_specs.add(feature_keys=list(columns))
    return slicing


def _check_slice(name: str, found: Found) -> None:
    where = "statistics.slices"
    if name not in found.types:
        near = difflib.get_close_matches(name, found.types, n=1)
        raise UserError(
            f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
            where=where,
            fix=f"name one of: {', '.join(found.types)}",
        )
    if found.types[name] == "float" or found.types[name] in _OPAQUE:
        raise UserError(
            f"column {name!r} is {found.types[name]}, whose values are no groups",
            where=where,
            fix="slice by a column of text or whole numbers",
        )


def _identity(examples: Any, found: Found) -> str:
    """A hash of which rows these are, read how; the same whenever statistics of them are computed again."""
    fingerprint = examples.get_string_custom_property("input_fingerprint")
    facts = json.dumps([fingerprint, found.types, found.rows], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()
