"""Run the nodes of a compiled graph: each as soon as what it needs is there, some at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tfx.orchestration.local import runner_utils
from tfx.proto.orchestration import pipeline_pb2

from pipeline.local.launch import Outcome, Session, launch

_MOST_AT_ONCE = 4


def upstream(pipeline: pipeline_pb2.Pipeline) -> dict[str, set[str]]:
    """Node to the nodes that it directly waits for, in topological order."""
    return {
        node.pipeline_node.node_info.id: set(node.pipeline_node.upstream_nodes) for node in pipeline.nodes
    }


def downstream(pipeline: pipeline_pb2.Pipeline, start: str) -> set[str]:
    """`start` and all nodes that wait for it, directly or not."""
    reached = {start}
    for name, needs in upstream(pipeline).items():
        if needs & reached:
            reached.add(name)
    return reached


def ancestors(pipeline: pipeline_pb2.Pipeline, end: str) -> set[str]:
    """`end` and all nodes that it waits for, directly or not."""
    needed = {end}
    for name, needs in reversed(list(upstream(pipeline).items())):
        if name in needed:
            needed |= needs
    return needed


def run(
    pipeline: pipeline_pb2.Pipeline, chosen: set[str], session: Session, ended: Callable[[Outcome], None]
) -> list[Outcome]:
    """Runs the chosen nodes; after a failure starts nothing that waits for it, and nothing new.

    Args:
      pipeline: the compiled graph, with its run id.
      chosen: the nodes to run, with everything that they wait for.
      session: what the launches share.
      ended: called with each outcome as it comes.

    Returns:
      An outcome for every node of the graph, in topological order.
    """
    needs = upstream(pipeline)
    nodes = {node.pipeline_node.node_info.id: node.pipeline_node for node in pipeline.nodes}
    deployment = runner_utils.extract_local_deployment_config(pipeline)
    outcomes: dict[str, Outcome] = {}
    waiting = [name for name in nodes if name in chosen]
    running: dict[Future[Outcome], str] = {}
    failed = False
    at_once = max(1, min(_MOST_AT_ONCE, os.cpu_count() or 1))
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while waiting or running:
                for name in list(waiting):
                    if not failed and len(running) < at_once and needs[name] <= outcomes.keys():
                        waiting.remove(name)
                        spec = runner_utils.extract_executor_spec(deployment, name)
                        running[pool.submit(launch, nodes[name], spec, pipeline, session)] = name
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    name = running.pop(future)
                    outcomes[name] = future.result()
                    failed = failed or outcomes[name].state == "FAILED"
                    ended(outcomes[name])
        except BaseException:
            # An interrupt above all. The pool waits for its threads, they for the steps: so those go first.
            session.workers.stop()
            raise
    for name in nodes:
        if name not in outcomes:
            reason = "an earlier step failed" if name in chosen else "not asked for"
            outcomes[name] = Outcome(name, "SKIPPED", reason)
    return [outcomes[name] for name in nodes]
