"""ExampleGen: the user's rows as tf.Examples, split."""

from __future__ import annotations

from typing import ClassVar

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import BeamComponent, LazyBeamExecutorSpec, text_parameters


class ExampleGenSpec(ComponentSpec):
    """TFX's ExampleGen contract."""

    PARAMETERS = text_parameters("config", "label", "task", "fingerprint", "code")
    INPUTS: ClassVar[dict] = {}
    OUTPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
    }


class ExampleGen(BeamComponent):
    """Reads the source of the `data` section into train, eval and test splits.

    Args:
      config: the `data` section.
      label: the column to predict.
      task: binary, multiclass, multilabel, regression, or empty to infer it.
      fingerprint: of the source's contents; the executor ignores it, it tells changed data from unchanged.
      code: fingerprint of the code that shapes the step; of every component.
    """

    TFX_TYPE = "tfx.components.example_gen.component.FileBasedExampleGen"
    SPEC_CLASS = ExampleGenSpec
    EXECUTOR_SPEC = LazyBeamExecutorSpec("components.example_gen.executor.Executor")
