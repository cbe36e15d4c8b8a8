"""A Grafana dashboard over TensorFlow Serving's metrics; the embedded server has them by the same names."""

from __future__ import annotations

import json
from typing import Any

_RATE = "[$__rate_interval]"


def dashboard(model: str) -> str:
    """The dashboard's JSON, for the model's requests, latencies, batches and versions."""
    by_model = '{model_name="$model"}'
    latency = f":tensorflow:serving:request_latency_bucket{by_model}"
    failed = ':tensorflow:serving:request_count{model_name="$model",status!="OK"}'
    panels = [
        _panel("Requests a second, by status", "reqps", {
            "{{status}}": f"sum by (status) (rate(:tensorflow:serving:request_count{by_model}{_RATE}))",
        }),
        _panel("Requests that failed", "percentunit", {
            "failed": f"sum(rate({failed}{_RATE})) / "
            f"sum(rate(:tensorflow:serving:request_count{by_model}{_RATE}))",
        }),
        _panel("Time from request to answer", "µs", {
            f"p{share}": f"histogram_quantile(0.{share}, sum by (le) (rate({latency}{_RATE})))"
            for share in ("50", "95", "99")
        }),
        _panel("Time in the model, p99", "µs", {
            "{{runtime}}": "histogram_quantile(0.99, sum by (le, runtime) "
            f"(rate(:tensorflow:serving:runtime_latency_bucket{by_model}{_RATE})))",
        }),
        _panel("Rows in a batch, mean", "short", {
            "rows": f"sum(rate(:tensorflow:serving:batching_session:processed_batch_size_sum{_RATE})) / "
            f"sum(rate(:tensorflow:serving:batching_session:processed_batch_size_count{_RATE}))",
        }),
        _panel("Memory", "bytes", {
            "{{pod}}": 'container_memory_working_set_bytes{container="tensorflow-serving"} '
            "or headrace_resident_bytes",
        }),
    ]  # fmt: skip
    for number, panel in enumerate(panels):
        panel["id"] = number + 1
        panel["gridPos"] = {"x": number % 2 * 12, "y": number // 2 * 8, "w": 12, "h": 8}
    variable = {
        "name": "model",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": "label_values(:tensorflow:serving:request_count, model_name)", "refId": "models"},
        "current": {"text": model, "value": model},
        "refresh": 2,
    }
    return json.dumps(
        {
            "uid": "headrace-serving",
            "title": "Model serving",
            "schemaVersion": 39,
            "editable": True,
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "templating": {"list": [variable]},
            "panels": panels,
        },
        indent=2,
    )


_SOURCE = {"type": "prometheus", "uid": "prometheus"}


def _panel(title: str, unit: str, queries: dict[str, str]) -> dict[str, Any]:
    """A panel of lines: legend to PromQL."""
    return {
        "title": title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
            for number, (legend, query) in enumerate(queries.items())
        ],
    }
