"""Pusher: puts a blessed model where it is served from."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class PusherSpec(ComponentSpec):
    """TFX's Pusher contract."""

    PARAMETERS = text_parameters("config", "code")
    INPUTS = {
        "model": ChannelParameter(type=standard_artifacts.Model),
        "model_blessing": ChannelParameter(type=standard_artifacts.ModelBlessing),
        "infra_blessing": ChannelParameter(type=standard_artifacts.InfraBlessing),
    }
    OUTPUTS = {
        "pushed_model": ChannelParameter(type=standard_artifacts.PushedModel),
    }


class Pusher(Component):
    """Copies a model that both blessings pass into a new version directory.

    Args:
      config: the `push` section, with `to` an absolute folder.
    """

    TFX_TYPE = "tfx.components.pusher.component.Pusher"
    SPEC_CLASS = PusherSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.pusher.executor.Executor")
