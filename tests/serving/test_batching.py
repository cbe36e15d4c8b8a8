"""Requests that wait are answered together, each with its own answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serving.batching import Batcher, BatchingParameters
from serving.model import Model, load_model
from serving.status import Code, StatusError


@pytest.fixture(scope="module")
def model(binary_base: Path) -> Model:
    return load_model(binary_base / "17", 17)


class Batches:
    """A batcher that notes the rows of each call."""

    def __init__(self, **parameters: Any) -> None:
        self.rows: list[int] = []
        self.workers = ThreadPoolExecutor(2)
        self.batcher = Batcher(
            self.workers,
            BatchingParameters(**parameters),
            lambda model, rows, seconds: self.rows.append(rows),
        )

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            return await work()

        with self.workers:
            return asyncio.run(main())

    async def call(self, model: Model, name: str, seconds: float = 20.0, **inputs: Any) -> Any:
        arrays = {key: np.asarray(value) for key, value in inputs.items()}
        model.check(name, arrays)
        return await self.batcher.call(model, name, arrays, time.monotonic() + seconds)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


async def gather(*calls: Awaitable[Any]) -> list[Any]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


def test_what_waits_goes_together_up_to_the_limit(model: Model) -> None:
    batches = Batches(max_batch_size=8)
    calls = [lambda i=i: batches.call(model, "add", a=floats(i, i), b=floats(1, 2)) for i in range(10)]
    answers = batches.run(lambda: gather(*(call() for call in calls)))
    assert [answer["sum"].tolist() for answer in answers] == [[i + 1, i + 2] for i in range(10)]
    assert batches.rows == [2, 8, 8, 2]  # the first does not wait for anyone


def test_what_many_send_at_the_same_time_goes_together(model: Model) -> None:
    """From the socket to the queue, one request takes more turns of the event loop than another."""
    batches = Batches()

    async def send(number: int) -> Any:
        for _ in range(number % 3):
            await asyncio.sleep(0)
        return await batches.call(model, "add", a=floats(number), b=floats(1))

    async def rounds() -> list[list[Any]]:
        return [await gather(*(send(number) for number in range(12))) for _ in range(3)]

    answers = batches.run(rounds)
    assert [[answer["sum"].tolist() for answer in each] for each in answers] == [
        [[number + 1] for number in range(12)]
    ] * 3
    assert batches.rows[0] == 1  # nothing says yet that many ask
    assert batches.rows[-2:] == [12, 12]


def test_a_larger_request_goes_alone(model: Model) -> None:
    batches = Batches(max_batch_size=2)
    sent = [floats(1), floats(1, 2, 3, 4), floats(5)]
    answers = batches.run(lambda: gather(*(batches.call(model, "add", a=x, b=x) for x in sent)))
    assert [answer["sum"].tolist() for answer in answers] == [(2 * x).tolist() for x in sent]
    assert batches.rows == [1, 4, 1]


def test_a_bad_request_fails_alone(model: Model) -> None:
    def strings(*values: bytes) -> np.ndarray:
        return np.array(values, np.object_)

    batches = Batches()
    sent = [strings(b""), strings(b""), strings(b"no example"), strings(b"", b"")]
    answers = batches.run(lambda: gather(*(batches.call(model, "regress", inputs=x) for x in sent)))
    assert [len(answers[index]["outputs"]) for index in (0, 1, 3)] == [1, 1, 2]
    assert isinstance(answers[2], StatusError)
    assert answers[2].code is Code.INVALID_ARGUMENT
    assert len(batches.rows) == 2


def test_inputs_of_unlike_lengths_are_not_mixed(model: Model) -> None:
    """Put together, these two would have five rows each, and answers that mean nothing."""
    batches = Batches()
    pairs = [(1, 1), (3, 2), (2, 3), (1, 3)]
    answers = batches.run(
        lambda: gather(
            *(
                batches.call(model, "add", a=np.ones(a, np.float32), b=np.ones(b, np.float32))
                for a, b in pairs
            )
        )
    )
    assert [isinstance(answer, StatusError) for answer in answers] == [False, True, True, False]
    assert answers[3]["sum"].tolist() == [2, 2, 2]


def test_outputs_without_the_inputs_rows_are_not_mixed(model: Model) -> None:
    """`scalar` says that it has no rows; `whole` says it has, and has not."""
    batches = Batches()
    sent = [floats(1), floats(2, 3), floats(4)]
    answers = batches.run(lambda: gather(*(batches.call(model, "scalar", x=x) for x in sent)))
    assert [answer["total"] for answer in answers] == [1, 5, 4]
    batches = Batches()
    answers = batches.run(lambda: gather(*(batches.call(model, "whole", x=x) for x in sent)))
    assert [len(answer["count"]) for answer in answers] == [2, 4, 2]


def test_batches_are_filled_up_to_allowed_sizes(model: Model) -> None:
    batches = Batches(max_batch_size=8, allowed_batch_sizes=(4, 8))
    sent = [floats(1), floats(2, 3), floats(4, 5, 6)]
    answers = batches.run(lambda: gather(*(batches.call(model, "add", a=x, b=x) for x in sent)))
    assert [answer["sum"].tolist() for answer in answers] == [(2 * x).tolist() for x in sent]
    batches = Batches(max_batch_size=8, allowed_batch_sizes=(4, 8))
    answers = batches.run(lambda: gather(*(batches.call(model, "scalar", x=x) for x in sent)))
    assert [answer["total"] for answer in answers] == [1, 5, 15]


def test_no_batching(model: Model) -> None:
    batches = Batches(enabled=False)
    answers = batches.run(
        lambda: gather(*(batches.call(model, "add", a=floats(i), b=floats(i)) for i in range(5)))
    )
    assert [answer["sum"].tolist() for answer in answers] == [[2 * i] for i in range(5)]
    assert batches.rows == [1] * 5


def test_a_full_queue_refuses(model: Model) -> None:
    batches = Batches(max_batch_size=2, max_enqueued_batches=2)
    answers = batches.run(
        lambda: gather(*(batches.call(model, "slow", x=floats(50 if i == 0 else 0)) for i in range(8)))
    )
    refused = [answer for answer in answers if isinstance(answer, StatusError)]
    assert len(refused) == 3  # one is under way, four wait
    assert {error.code for error in refused} == {Code.UNAVAILABLE}
    assert refused[0].message.startswith(
        "The batch scheduling queue to which this task was submitted is full"
    )


def test_who_waits_too_long_is_told_and_not_computed(model: Model) -> None:
    batches = Batches()

    async def work() -> list[Any]:
        first = asyncio.create_task(batches.call(model, "slow", x=floats(300)))
        await asyncio.sleep(0)
        late = await gather(batches.call(model, "slow", 0.02, x=floats(1)))
        gone = asyncio.create_task(batches.call(model, "slow", x=floats(1)))
        await asyncio.sleep(0)
        gone.cancel()
        last = batches.call(model, "slow", x=floats(1))
        return [*late, *await gather(first, last)]

    late, first, last = batches.run(work)
    assert (late.code, late.message) == (Code.DEADLINE_EXCEEDED, "Deadline exceeded")
    assert (first["y"].tolist(), last["y"].tolist()) == ([300], [1])
    assert batches.rows == [1, 1]
