"""What the ids of a model input stand for, so that two models' ids can be told apart."""

from __future__ import annotations

import hashlib

import tensorflow_transform as tft
from tfx.dsl.io import fileio

from components.transform.config import CategoryFeature, TextFeature
from components.transform.plan import FeaturePlan, ModelInput, PlannedFeature, input_name
from components.transform.vocabularies import file_name


def names_of_ids(plan: FeaturePlan, graph: tft.TFTransformOutput) -> dict[str, list[str]]:
    """Each model input that holds ids, and a name for each of its ids.

    Of a vocabulary, the value; of a bucket, its number and how many there are. The ids of the user's
    own preprocessing_fn are known by the graph's vocabularies as a whole.
    """
    if plan.own:
        known = _digest(graph)
        return {tensor.name: _numbered(known, tensor.size) for tensor in plan.own if tensor.size}
    return {
        tensor.name: _names(feature, tensor, graph)
        for feature in plan.used
        for tensor in feature.inputs
        if tensor.size
    }


def _names(feature: PlannedFeature, tensor: ModelInput, graph: tft.TFTransformOutput) -> list[str]:
    config = feature.config
    has_vocabulary = isinstance(config, TextFeature) or (
        isinstance(config, CategoryFeature) and not config.hash
    )
    if not has_vocabulary or tensor.name != input_name(feature.name):
        return _numbered("bucket", tensor.size)
    with fileio.open(f"{graph.transform_savedmodel_dir}/assets/{file_name(feature.name)}", "rb") as stream:
        values = stream.read().decode(errors="surrogateescape").split("\n")[:-1]
    # 0 is a missing value or padding; behind the vocabulary come the buckets of what is outside it.
    outside = tensor.size - 1 - len(values)
    return ["missing", *(f"value {value}" for value in values), *_numbered("outside", outside)]


def _numbered(what: str, count: int) -> list[str]:
    return [f"{what} {i} of {count}" for i in range(count)]


def _digest(graph: tft.TFTransformOutput) -> str:
    folder, digest = f"{graph.transform_savedmodel_dir}/assets", hashlib.sha256()
    for name in sorted(fileio.listdir(folder)) if fileio.exists(folder) else ():
        with fileio.open(f"{folder}/{name}", "rb") as stream:
            digest.update(name.encode() + b"\0" + stream.read())
    return digest.hexdigest()[:12]
