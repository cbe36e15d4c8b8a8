"""The graph as tasks: what each declares, takes and waits for, before it is written as a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.kubeflow.container import Declared
from pipeline.kubeflow.tasks import FIND, LOOKUPS

DATA_TASK, SOURCE_TASK = "Data", "Source"
# Steps that keep something for the next run, or for their own next try. Others need not run anew when the
# place is another: what a container is told is part of what its cache entry goes by.
_KEEPERS = ("ExampleValidator", "Trainer", "Evaluator")


@dataclass(frozen=True)
class From:
    """An output of another task."""

    task: str
    key: str


@dataclass(frozen=True)
class Runtime:
    """A parameter of the run."""

    name: str


@dataclass
class Task:
    """A task of the spec.

    Attributes:
      declared: what its container knows of it.
      artifacts: input key to where it comes from.
      parameters: key to a constant, or to where it comes from.
      results: keys of the parameters that it gives.
      after: tasks that it waits for without taking anything from them.
      cached: whether what it did before may be taken instead.
    """

    declared: Declared
    artifacts: dict[str, From] = field(default_factory=dict)
    parameters: dict[str, str | From | Runtime] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cached: bool = True


def step_tasks(compiled: Any, keep: str) -> Iterator[Task]:
    """The tasks of a graph that TFX's compiler has compiled.

    Resolvers become two tasks each: one that chooses in every run, and one that fetches what was chosen and
    comes from the cache. Where nothing is kept there is neither, and nor are the inputs that they feed.
    """
    from tfx.orchestration.local import runner_utils

    deployment = runner_utils.extract_local_deployment_config(compiled)
    nodes = [each.pipeline_node for each in compiled.nodes]
    left_out = set() if keep else {node.node_info.id for node in nodes if node.node_info.id in LOOKUPS}
    for node in nodes:
        name = node.node_info.id
        if name in left_out:
            continue
        if name in LOOKUPS:
            yield from _lookup(node, nodes, keep)
        else:
            yield _step(node, runner_utils.extract_executor_spec(deployment, name), keep, left_out)


def _step(node: Any, spec: Any, keep: str, left_out: set[str]) -> Task:
    beam = None
    if spec.DESCRIPTOR.name == "BeamExecutableSpec":
        beam = tuple(arg.value.string_value for arg in spec.beam_pipeline_args_placeholders)
        spec = spec.python_executor_spec
    channels = {
        key: value.channels[0]
        for key, value in node.inputs.inputs.items()
        if value.channels[0].producer_node_query.id not in left_out
    }
    artifacts = {key: From(each.producer_node_query.id, each.output_key) for key, each in channels.items()}
    producers = {each.task for each in artifacts.values()}
    return Task(
        Declared(
            step=node.node_info.id,
            executor=spec.class_path,
            inputs={key: each.artifact_query.type.name for key, each in channels.items()},
            optional=tuple(sorted(key for key in channels if not node.inputs.inputs[key].min_count)),
            outputs={key: each.artifact_spec.type.name for key, each in node.outputs.outputs.items()},
            beam=beam,
            keep=keep if node.node_info.id in _KEEPERS else "",
        ),
        artifacts=artifacts,
        parameters={key: value.field_value.string_value for key, value in node.parameters.parameters.items()},
        after=tuple(sorted(set(node.upstream_nodes) - producers - left_out)),
    )


def _lookup(node: Any, nodes: list[Any], keep: str) -> Iterator[Task]:
    name = node.node_info.id
    # TFX's compiler names a resolver's inputs anew; the one that comes out of this run is the current one.
    current = next(
        channel
        for value in node.inputs.inputs.values()
        for channel in value.channels
        if channel.producer_node_query.id
    )
    finding = f"{name}{FIND}"
    yield Task(
        Declared(
            step=finding, task="find_kept", inputs={"current": current.artifact_query.type.name}, keep=keep
        ),
        artifacts={"current": From(current.producer_node_query.id, current.output_key)},
        results=("key",),
        cached=False,
    )
    taken = {
        channel.output_key: channel.artifact_query.type.name
        for other in nodes
        for value in other.inputs.inputs.values()
        for channel in value.channels
        if channel.producer_node_query.id == name
    }
    yield Task(
        Declared(step=name, task="fetch_kept", outputs=taken, keep=keep),
        parameters={"key": From(finding, "key")},
    )
