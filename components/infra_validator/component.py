"""InfraValidator: tries the exported model as a server would."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class InfraValidatorSpec(ComponentSpec):
    """TFX's InfraValidator contract."""

    PARAMETERS = text_parameters("config", "code")
    INPUTS = {
        "model": ChannelParameter(type=standard_artifacts.Model),
        "examples": ChannelParameter(type=standard_artifacts.Examples),
    }
    OUTPUTS = {
        "blessing": ChannelParameter(type=standard_artifacts.InfraBlessing),
    }


class InfraValidator(Component):
    """Serves the export from a fresh process, asks it about real rows, and adds a warm-up file to it.

    Args:
      config: the `infra_validate` section.
    """

    TFX_TYPE = "tfx.components.infra_validator.component.InfraValidator"
    SPEC_CLASS = InfraValidatorSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.infra_validator.executor.Executor")
