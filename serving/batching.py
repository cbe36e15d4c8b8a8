"""Requests that wait for a model are answered together, without timers.

While the model computes, what arrives waits; when it is done, all that waits (up to `max_batch_size` rows)
goes in one call, as soon as the event loop has read what many others sent by then. A lone client never
waits, and many clients share calls.
"""

from __future__ import annotations

import asyncio
import bisect
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from serving.model import Arrays, Model
from serving.status import Code, StatusError

Outputs = dict[str, np.ndarray]
# When many ask, a batch goes after some turns of the event loop without another request: from its socket to
# its queue a request takes a few. Each turn gives the interpreter away, so it must be worth it.
_MANY, _QUIET_TURNS = 4, 4


@dataclass(frozen=True)
class BatchingParameters:
    """How requests are put together; the names are TensorFlow Serving's.

    Args:
      enabled: whether they are at all.
      max_batch_size: the most rows in one call; a larger request goes by itself.
      max_enqueued_batches: how many full batches may wait for one signature; what comes then is refused.
      num_batch_threads: how many calls are computed at a time, over all models.
      allowed_batch_sizes: batches are filled up to one of these sizes, for devices that like few shapes.
    """

    enabled: bool = True
    max_batch_size: int = 256
    max_enqueued_batches: int = 16
    num_batch_threads: int = 2
    allowed_batch_sizes: tuple[int, ...] = ()


@dataclass
class _Task:
    inputs: Arrays
    rows: int
    # Of one row of each input: only like rows go together. None goes alone.
    shapes: tuple[tuple[int, ...], ...] | None
    deadline: float
    answer: asyncio.Future[Outputs]

    def like(self, other: _Task) -> bool:
        """Whether the two can go in one call."""
        return self.shapes is not None and self.shapes == other.shapes


@dataclass
class _Queue:
    """What waits for one signature of one version."""

    together: bool
    waiting: deque[_Task] = field(default_factory=deque)
    rows: int = 0
    under_way: int = 0
    usual: int = 0  # requests in a batch: the most of late
    gathering: bool = False


class Batcher:
    """Calls models in worker threads, several requests at a time where the signature allows it.

    All but the calls themselves happens on the event loop. A request that fails in a batch fails alone:
    the batch is done again one by one.

    Args:
      workers: where models compute.
      parameters: the limits.
      on_batch: told the rows of each call and its seconds, in the event loop.
    """

    def __init__(
        self,
        workers: Executor,
        parameters: BatchingParameters,
        on_batch: Callable[[Model, int, float], None] = lambda model, rows, seconds: None,
    ) -> None:
        self._workers, self._parameters, self._on_batch = workers, parameters, on_batch
        self._queues: weakref.WeakKeyDictionary[Model, dict[str, _Queue]] = weakref.WeakKeyDictionary()

    @property
    def waiting(self) -> int:
        """How many requests wait for a model."""
        return sum(len(queue.waiting) for queues in self._queues.values() for queue in queues.values())

    async def call(self, model: Model, name: str, inputs: Arrays, deadline: float) -> Outputs:
        """A signature's outputs for inputs that were checked.

        Args:
          deadline: when the answer has no use any more, by `time.monotonic`.

        Raises:
          StatusError: the model refuses, too many requests wait, or the deadline has passed.
        """
        queue = self._queue(model, name)
        loop = asyncio.get_running_loop()
        rows = len(next(iter(inputs.values()))) if queue.together else 1
        if queue.waiting and queue.rows + rows > self._room():
            raise StatusError(
                Code.UNAVAILABLE,
                "The batch scheduling queue to which this task was submitted is full; "
                f"currently {queue.rows} rows wait and {self._room()} may",
            )
        # Inputs of unlike lengths could fit together with those of another request, and must not.
        like = queue.together and all(len(array) == rows for array in inputs.values())
        shapes = tuple(array.shape[1:] for array in inputs.values()) if like else None
        task = _Task(inputs, rows, shapes, deadline, loop.create_future())
        queue.waiting.append(task)
        queue.rows += rows
        timer = loop.call_at(loop.time() + max(0.0, deadline - time.monotonic()), _expire, task)
        try:
            self._gather(model, name, queue)
            return await task.answer
        finally:
            timer.cancel()

    def _room(self) -> int:
        return self._parameters.max_batch_size * self._parameters.max_enqueued_batches

    def _queue(self, model: Model, name: str) -> _Queue:
        queues = self._queues.setdefault(model, {})
        if name not in queues:
            queues[name] = _Queue(self._parameters.enabled and model.signatures[name].batchable)
        return queues[name]

    def _gather(self, model: Model, name: str, queue: _Queue) -> None:
        """Dispatches when requests that arrived together are all in the queue, or enough for a batch are.

        Without this, the first of many requests would go alone, and the others while it is computed: small
        batches, whose calls take the interpreter from the event loop all the time.
        """
        if not queue.together or queue.usual < _MANY:
            self._dispatch(model, name, queue)
        elif queue.waiting and not queue.gathering:
            queue.gathering = True
            self._look(model, name, queue, len(queue.waiting), _QUIET_TURNS)

    def _look(self, model: Model, name: str, queue: _Queue, seen: int, turns: int) -> None:
        """Once a turn of the event loop, while requests for this queue come."""
        waiting = len(queue.waiting)
        if waiting > seen:
            turns = _QUIET_TURNS
        if turns and queue.rows < self._parameters.max_batch_size:
            asyncio.get_running_loop().call_soon(self._look, model, name, queue, waiting, turns - 1)
        else:
            queue.gathering = False
            self._dispatch(model, name, queue)

    def _dispatch(self, model: Model, name: str, queue: _Queue) -> None:
        most = 1 if queue.together else self._parameters.num_batch_threads
        while queue.waiting and queue.under_way < most:
            tasks = self._take(queue)
            if not tasks:
                continue
            queue.under_way += 1
            queue.usual = max(len(tasks), queue.usual - 1)
            running = asyncio.get_running_loop().run_in_executor(
                self._workers, _run, model, name, tasks, self._parameters.allowed_batch_sizes
            )

            def done(
                answers: asyncio.Future[tuple[list[Outputs | Exception], bool, float]],
                tasks: list[_Task] = tasks,
            ) -> None:
                queue.under_way -= 1
                results, rows_hold, seconds = answers.result()
                queue.together = queue.together and rows_hold
                self._on_batch(model, sum(task.rows for task in tasks), seconds)
                for task, result in zip(tasks, results, strict=True):
                    if task.answer.done():
                        continue
                    if isinstance(result, Exception):
                        task.answer.set_exception(result)
                    else:
                        task.answer.set_result(result)
                self._gather(model, name, queue)

            running.add_done_callback(done)

    def _take(self, queue: _Queue) -> list[_Task]:
        """The next batch; without those whom nobody waits for any more."""
        tasks: list[_Task] = []
        rows = 0
        while queue.waiting:
            task = queue.waiting[0]
            if not task.answer.done():
                fits = rows + task.rows <= self._parameters.max_batch_size
                if tasks and not (queue.together and fits and task.like(tasks[0])):
                    break
                tasks.append(task)
                rows += task.rows
            queue.waiting.popleft()
            queue.rows -= task.rows
        return tasks


def _expire(task: _Task) -> None:
    if not task.answer.done():
        task.answer.set_exception(StatusError(Code.DEADLINE_EXCEEDED, "Deadline exceeded"))


def _run(
    model: Model, name: str, tasks: list[_Task], sizes: tuple[int, ...]
) -> tuple[list[Outputs | Exception], bool, float]:
    """Each task's outputs or error, whether outputs had the inputs' rows, and the seconds it took."""
    started = time.perf_counter()
    answers: list[Outputs | Exception] | None = None
    rows_hold = True
    if len(tasks) > 1 or (sizes and tasks[0].shapes is not None):
        try:
            answers = _run_together(model, name, tasks, sizes)
            rows_hold = answers is not None
        except Exception:
            answers = None  # whose fault it is shows one by one
    if answers is None:
        answers = [_run_alone(model, name, task) for task in tasks]
    return answers, rows_hold, time.perf_counter() - started


def _run_alone(model: Model, name: str, task: _Task) -> Outputs | Exception:
    try:
        return model.run(name, task.inputs)
    except Exception as error:
        return error


def _run_together(
    model: Model, name: str, tasks: list[_Task], sizes: tuple[int, ...]
) -> list[Outputs | Exception] | None:
    """The outputs cut into each task's rows; None when they do not have the rows of the inputs."""
    total = sum(task.rows for task in tasks)
    at = bisect.bisect_left(sizes, total)
    padding = sizes[at] - total if at < len(sizes) else 0
    inputs = {}
    for key in tasks[0].inputs:
        parts = [task.inputs[key] for task in tasks]
        inputs[key] = np.concatenate([*parts, *([parts[0][:1]] * padding)])
    outputs = model.run(name, inputs)
    if any(array.ndim == 0 or len(array) != total + padding for array in outputs.values()):
        return None
    answers: list[Outputs | Exception] = []
    first = 0
    for task in tasks:
        answers.append({key: array[first : first + task.rows] for key, array in outputs.items()})
        first += task.rows
    return answers
