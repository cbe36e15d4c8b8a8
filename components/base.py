"""What all components share: executors named by path, and TFX's own type names in ML Metadata."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

import apache_beam as beam
from tfx import types
from tfx.dsl.components.base import base_beam_component, base_beam_executor, base_component, executor_spec
from tfx.types.component_spec import ExecutionParameter


class LazyExecutorSpec(executor_spec.ExecutorClassSpec):
    """Names an executor by its path, so that building the graph imports none of them."""

    def __init__(self, class_path: str) -> None:
        self._class_path = class_path
        self.executor_class = None
        self.extra_flags: list[str] = []

    def copy(self) -> LazyExecutorSpec:
        return type(self)(self._class_path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._class_path,))


class LazyBeamExecutorSpec(executor_spec.BeamExecutorSpec):
    """The same, for executors that run a Beam pipeline."""

    def __init__(self, class_path: str) -> None:
        self._class_path = class_path
        self.executor_class = None
        self.extra_flags: list[str] = []
        self.beam_pipeline_args: list[str] = []

    def copy(self) -> LazyBeamExecutorSpec:
        twin = type(self)(self._class_path)
        twin.beam_pipeline_args = list(self.beam_pipeline_args)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._class_path,))


def text_parameters(*names: str) -> dict[str, ExecutionParameter]:
    """Parameters of a component: all are text, sections of the config as JSON."""
    return {name: ExecutionParameter(type=str) for name in names}


class _Declared:
    """A component that is fully declared by its SPEC_CLASS: it makes its output channels itself.

    Attributes:
      TFX_TYPE: the type of its executions in ML Metadata: that of the TFX component whose contract it keeps.
    """

    TFX_TYPE: ClassVar[str]
    SPEC_CLASS: Any

    def __init__(self, without: Collection[str] = (), **inputs_and_parameters: Any) -> None:
        """Args: the inputs and parameters; and `without`, the optional outputs that it will not make."""
        outputs = {
            key: types.Channel(type=declared.type)
            for key, declared in self.SPEC_CLASS.OUTPUTS.items()
            if key not in without
        }
        super().__init__(self.SPEC_CLASS(**inputs_and_parameters, **outputs))  # type: ignore[call-arg]

    @classmethod
    def get_class_type(cls) -> str:
        return cls.TFX_TYPE


class Component(_Declared, base_component.BaseComponent):
    """Base of the components that run in plain Python."""


class BeamComponent(_Declared, base_beam_component.BaseBeamComponent):
    """Base of the components whose executor runs a Beam pipeline."""


class BeamExecutor(base_beam_executor.BaseBeamExecutor):
    """A Beam executor that does not package TFX anew for every step.

    The stock base class builds a source archive of the installed TFX whenever Beam options are
    given, for remote workers; ours find the code in their image.
    """

    def __init__(self, context: base_beam_executor.BaseBeamExecutor.Context | None = None) -> None:
        args = list(context.beam_pipeline_args or []) if context else []
        if context:
            context.beam_pipeline_args = []
        super().__init__(context)
        self._beam_pipeline_args = args

    def _make_beam_pipeline(self) -> beam.Pipeline:
        return beam.Pipeline(argv=self._beam_pipeline_args)


def say(artifact: Any, sentence: str) -> None:
    """Leaves the step's one-sentence account on its main artifact, for the summary and ML Metadata."""
    artifact.set_string_custom_property("summary", sentence)
