"""The trial: what is asked of a server that has loaded the export, and what its answers must be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from components.infra_validator.calls import Grpc, Rest, rest_answers
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.exported import DEFAULT, RAW, TRANSFORM, Answers, Exported, difference
from components.infra_validator.failed import Failed, Refused
from components.infra_validator.rows import Rows, b64, missing, without

_MEASURED, _MEASURED_SECONDS = 100, 2.0  # requests, and when to stop before so many
_UNMEASURED = 5  # the first ones pay for what is made on the way
_MIB = 2**20


class Server(Protocol):
    """What serves the model in a trial."""

    url: str
    grpc: str
    load_seconds: float

    def memory_bytes(self) -> int: ...


@dataclass(frozen=True)
class Figures:
    """What a trial measured; 0 bytes of memory where the system does not tell."""

    load_seconds: float
    p50_ms: float
    p99_ms: float
    memory_mb: float


def expectations(model: Exported, rows: Rows) -> dict[str, Answers]:
    """What the model itself answers, by signature, for all rows.

    Raises:
      Failed: it does not.
    """
    return {
        name: model.answer(name, rows.serialized) for name in (DEFAULT, TRANSFORM) if name in model.signatures
    }


def try_out(
    server: Server,
    model: Exported,
    rows: Rows,
    expected: Mapping[str, Answers],
    config: InfraValidateConfig,
) -> Figures:
    """Asks all that there is to ask.

    Args:
      server: what is tried.
      model: the same, in this process.
      rows: what it is asked about.
      expected: what `expectations` gives for them.
      config: the limits.

    Raises:
      Failed: the first thing that is wrong.
      TimeoutError: an answer did not come.
    """
    rest, grpc = Rest(server.url, model.name), Grpc(server.grpc, model.name)
    try:
        _check_answers(rest, grpc, rows, expected)
        _check_left_out(rest, model, rows)
        _check_refusals(rest, model, rows)
        p50, p99 = _latency(rest, rows, config)
        figures = Figures(server.load_seconds, p50, p99, server.memory_bytes() / _MIB)
    finally:
        rest.close()
        grpc.close()
    _check_limits(figures, config)
    return figures


def _check_answers(rest: Rest, grpc: Grpc, rows: Rows, expected: Mapping[str, Answers]) -> None:
    """All rows over every route; the model in this process says what the answers must be."""
    everything = list(range(len(rows.serialized)))
    answers = expected[DEFAULT]

    def by_json(part: list[int]) -> Answers:
        return _accepted(rest, RAW, rows.instances(part), answers, f"{RAW} by REST JSON")

    def by_example(part: list[int]) -> Answers:
        instances = [b64(rows.serialized[index]) for index in part]
        return _accepted(rest, DEFAULT, instances, answers, f"{DEFAULT} by REST tf.Example")

    def by_grpc(signature: str) -> Callable[[list[int]], Answers]:
        def call(part: list[int]) -> Answers:
            examples = np.array([rows.serialized[index] for index in part], np.object_)
            return grpc.predict(signature, {"examples": examples})

        return call

    _compare(answers, by_json, rows, rows.plain, f"{RAW} by REST JSON")
    _compare(answers, by_example, rows, everything, f"{DEFAULT} by REST tf.Example")
    for signature, own in expected.items():
        _compare(own, by_grpc(signature), rows, everything, f"{signature} by gRPC")


def _compare(
    expected: Answers, ask: Callable[[list[int]], Answers], rows: Rows, indexes: Sequence[int], route: str
) -> None:
    for part in rows.chunks(indexes):
        odd = difference({name: value[part] for name, value in expected.items()}, ask(part))
        if odd:
            raise Failed(f"{route} does not answer as the model itself does: {odd}")


def _accepted(rest: Rest, signature: str, instances: Any, like: Answers, what: str) -> Answers:
    code, document = rest.predict(signature, instances)
    if code != 200:
        raise Failed(f"{what}: expected code 200, received {code}: {_error(document)}")
    return rest_answers(document, like)


def _check_left_out(rest: Rest, model: Exported, rows: Rows) -> None:
    """Rows that lack a column, each in turn, and one that lacks all.

    Where the model itself cannot do without a column, the server must refuse the row as the client's mistake.
    """
    import tensorflow as tf

    for column in model.inputs:
        _left_out(rest, model, without(rows.serialized[0], column), f"a row without column {column!r}")
    empty = _left_out(rest, model, tf.train.Example().SerializeToString(), "a row without any column")
    if not empty:
        return
    instance = _instance(model, {name: missing(dtype) for name, dtype in model.raw_types.items()})
    odd = difference(empty, _accepted(rest, RAW, [instance], empty, "a row of missing values by REST JSON"))
    if odd:
        raise Failed(f"a row of missing values by REST JSON is not answered as an empty tf.Example: {odd}")


def _left_out(rest: Rest, model: Exported, example: bytes, what: str) -> Answers:
    """The answer of the model and the server; empty where both refuse."""
    try:
        expected = model.answer(DEFAULT, [example])
    except Refused:
        _refused(rest, DEFAULT, [b64(example)], what)
        return {}
    except Failed as problem:
        raise Failed(f"{what}: {problem}") from problem
    odd = difference(expected, _accepted(rest, DEFAULT, [b64(example)], expected, what))
    if odd:
        raise Failed(f"{what} is not answered as the model itself does: {odd}")
    return expected


def _check_refusals(rest: Rest, model: Exported, rows: Rows) -> None:
    """Requests that are the client's mistake: each must be refused as one, and the server go on."""
    for what, signature, instances in _mistakes(model, rows):
        _refused(rest, signature, instances, what)
    index = rows.plain[:1]
    if index:
        code, document = rest.predict(RAW, rows.instances(index))
        if code != 200:
            raise Failed(f"after refused requests a good one is refused, too: {code}: {_error(document)}")


def _mistakes(model: Exported, rows: Rows) -> Iterator[tuple[str, str, Any]]:
    """What is wrong with a request, its signature and its rows."""
    types = model.raw_types
    good = _instance(model, {name: "" if dtype.name == "string" else 0 for name, dtype in types.items()})
    first = {dtype.name: name for name, dtype in reversed(types.items())}
    for dtype, wrong in {"float32": "far", "int64": "noon", "string": 5}.items():
        if dtype in first:
            mistake = _instance(model, {first[dtype]: wrong})
            yield f"{wrong!r} for {first[dtype]!r}, which is {dtype}", RAW, [{**good, **mistake}]
    yield "a row without any input of serving_raw", RAW, [{}]
    yield "an input that the model does not have", RAW, [{**good, "no_such_input": 1}]
    yield "bytes that are no tf.Example", DEFAULT, [b64(b"\xff\xff\xff")]
    column, name = next(iter(model.inputs.items()))
    yield (
        f"a tf.Example with column {column!r} in another type",
        DEFAULT,
        [_example_of_another_type(rows.serialized[0], column, types[name])],
    )
    yield "a signature that the model does not have", "no_such_signature", [{}]


def _instance(model: Exported, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the REST API takes them, one a column."""
    plain = {name: "" if value == b"" else value for name, value in values.items()}
    return {name: [value] if name in model.lists else value for name, value in plain.items()}


def _example_of_another_type(serialized: bytes, column: str, dtype: Any) -> dict[str, str]:
    import tensorflow as tf

    example = tf.train.Example.FromString(serialized)
    feature = example.features.feature[column]
    feature.Clear()
    if dtype.name == "string":
        feature.int64_list.value.append(1)
    else:
        feature.bytes_list.value.append(b"text")
    return b64(example.SerializeToString())


def _refused(rest: Rest, signature: str, instances: Any, what: str) -> None:
    code, document = rest.predict(signature, instances)
    if code != 400:
        said = f": {_error(document)}" if code != 200 else ""
        raise Failed(f"{what}: expected code 400, received {code}{said}")


def _latency(rest: Rest, rows: Rows, config: InfraValidateConfig) -> tuple[float, float]:
    """The median and the 99th percentile in milliseconds of requests with one row, one after the other.

    What else the machine did meanwhile counts against the model, so what is over a limit is measured again.
    """
    for attempt in range(2):
        p50, p99 = _measure(rest, rows)
        if attempt or (p50 <= config.max_p50_ms and p99 <= config.max_p99_ms):
            break
    return p50, p99


def _measure(rest: Rest, rows: Rows) -> tuple[float, float]:
    if rows.plain:
        requests: list[tuple[str, Any]] = [(RAW, rows.instances([index])) for index in rows.plain]
    else:
        requests = [(DEFAULT, [b64(example)]) for example in rows.serialized]
    taken: list[float] = []
    began = time.perf_counter()
    for signature, instances in itertools.islice(itertools.cycle(requests), _MEASURED + _UNMEASURED):
        started = time.perf_counter()
        rest.predict(signature, instances)
        taken.append((time.perf_counter() - started) * 1e3)
        if time.perf_counter() - began > _MEASURED_SECONDS:
            break
    counted = taken[_UNMEASURED:] or taken
    return float(np.percentile(counted, 50)), float(np.percentile(counted, 99))


def _check_limits(figures: Figures, config: InfraValidateConfig) -> None:
    for key, what, measured, unit in (
        ("max_load_seconds", "loading took", figures.load_seconds, "s"),
        ("max_p50_ms", "half of the requests took", figures.p50_ms, "ms"),
        ("max_p99_ms", "99 in 100 requests took up to", figures.p99_ms, "ms"),
        ("max_memory_mb", "the server holds", figures.memory_mb, "MiB"),
    ):
        allowed = getattr(config, key)
        if measured > allowed:
            raise Failed(f"{what} {measured:.4g} {unit}, allowed {allowed:g} {unit} (infra_validate.{key})")


def _error(document: Any) -> str:
    said = document.get("error", document) if isinstance(document, dict) else document
    return str(said)[:300]
