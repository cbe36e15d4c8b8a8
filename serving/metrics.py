"""Counters and histograms in Prometheus' text format, under TensorFlow Serving's names where it has them."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterable

Labels = tuple[str, ...]


def _exponential(start: float, factor: float, count: int) -> list[float]:
    """TensorFlow's Buckets::Exponential: the last bucket has no upper limit."""
    return [start * factor**index for index in range(count - 1)]


MICROSECONDS = _exponential(10, 1.8, 33)
COUNTS = _exponential(1, 2, 15)


class Counter:
    """A number a set of label values, that only grows."""

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        self.name, self.help, self._labels = name, help, labels
        self._values: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def add(self, *values: str, by: float = 1) -> None:
        with self._lock:
            self._values[values] = self._values.get(values, 0) + by

    def lines(self) -> Iterable[str]:
        yield f"# TYPE {self.name} counter"
        for values, number in sorted(self._values.copy().items()):
            yield f"{self.name}{{{_pairs(self._labels, values)}}} {number:.17g}"


class Histogram:
    """How values are distributed, a set of label values."""

    def __init__(self, name: str, help: str, labels: Labels, limits: list[float]) -> None:
        self.name, self.help, self._labels, self._limits = name, help, labels, limits
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def add(self, *values: str, of: float) -> None:
        with self._lock:
            counts = self._counts.setdefault(values, [0] * (len(self._limits) + 1))
            counts[bisect.bisect_left(self._limits, of)] += 1
            self._sums[values] = self._sums.get(values, 0.0) + of

    def lines(self) -> Iterable[str]:
        yield f"# TYPE {self.name} histogram"
        for values, counts in sorted(self._counts.copy().items()):
            pairs, total = _pairs(self._labels, values), 0
            for limit, count in zip([*map("{:g}".format, self._limits), "+Inf"], list(counts)):
                total += count
                yield f'{self.name}_bucket{{{pairs},le="{limit}"}} {total}'
            yield f"{self.name}_sum{{{pairs}}} {self._sums[values]:.17g}"
            yield f"{self.name}_count{{{pairs}}} {total}"


class Metrics:
    """What the server counts. Times are in microseconds, as TensorFlow Serving has them."""

    def __init__(self) -> None:
        model = ("model_name",)
        self.requests = Counter(":tensorflow:serving:request_count", "Requests.", (*model, "status"))
        self.latency = Histogram(
            ":tensorflow:serving:request_latency", "From request to answer.",
            (*model, "API", "entrypoint"), MICROSECONDS,
        )  # fmt: skip
        self.runtime = Histogram(
            ":tensorflow:serving:runtime_latency", "A call of the model.",
            (*model, "API", "runtime"), MICROSECONDS,
        )  # fmt: skip
        self.examples = Histogram(
            ":tensorflow:serving:request_example_counts", "tf.Examples a request.", ("model",), COUNTS
        )
        self.examples_total = Counter(
            ":tensorflow:serving:request_example_count_total", "tf.Examples.", ("model",)
        )
        self.batch_rows = Histogram(
            ":tensorflow:serving:batching_session:processed_batch_size", "Rows of a call.", model, COUNTS
        )
        self.http = Counter("headrace_http_responses_total", "Answers over HTTP.", ("code",))
        self.logged = Counter(
            "headrace_logged_requests_total", "Requests offered to the request log.", (*model, "outcome")
        )
        self._gauges: list[tuple[str, Labels, Callable[[], dict[Labels, float]]]] = []

    def gauge(self, name: str, labels: Labels, read: Callable[[], dict[Labels, float]]) -> None:
        """Adds numbers that are read when the page is asked for."""
        self._gauges.append((name, labels, read))

    def text(self) -> str:
        """The page."""
        lines: list[str] = []
        for metric in vars(self).values():
            if isinstance(metric, (Counter, Histogram)):
                lines += [f"# HELP {metric.name} {metric.help}", *metric.lines()]
        for name, labels, read in self._gauges:
            lines.append(f"# TYPE {name} gauge")
            lines += [
                f"{name}{{{_pairs(labels, values)}}} {number:.17g}" for values, number in read().items()
            ]
        return "\n".join(lines) + "\n"


def _pairs(labels: Labels, values: Labels) -> str:
    return ",".join(f'{label}="{_escape(value)}"' for label, value in zip(labels, values, strict=True))


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
