"""Classify and regress over REST, in TensorFlow Serving's words."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from http_calls import call
from serve_process import Running

TIPS = "/v1/models/tips"


def ask(server: Running, verb: str, content: Any) -> tuple[int, Any]:
    return call(f"{server.url}{TIPS}:{verb}", content)


def test_classify(server: Running) -> None:
    blue = {"b64": base64.b64encode(b"Blue").decode()}
    examples = [{"trip_miles": 2.0, "company": blue}, {"trip_miles": [7.0], "hour": 10, "company": "Red"}, {}]
    code, answer = ask(server, "classify", {"signature_name": "classify", "examples": examples})
    assert code == 200
    scores = [[0.75, 0.25], [0.2, 0.8], [1.0, 0.0]]
    assert answer == {
        "results": [[["no", pytest.approx(no)], ["yes", pytest.approx(yes)]] for no, yes in scores]
    }


def test_regress_with_a_context(server: Running) -> None:
    body = {"signature_name": "regress", "context": {"trip_miles": 4.0}, "examples": [{"hour": 5}, {}]}
    assert ask(server, "regress", body) == (200, {"results": [pytest.approx(0.45), pytest.approx(0.4)]})
    code, answer = call(f"{server.url}{TIPS}/versions/17:REGRESS", body)
    assert (code, len(answer["results"])) == (200, 2)


def one(**feature: Any) -> dict[str, Any]:
    return {"signature_name": "classify", "examples": [feature]}


BAD_REQUESTS: dict[str, tuple[str, Any, int, str]] = {
    "empty": ("classify", b"", 400, "JSON Parse error: The document is empty"),
    "no examples": ("classify", {}, 400, "When method is classify, key 'examples' is expected and was not"),
    "no list": ("classify", {"examples": 1}, 400, "Expecting 'examples' value to be an list/array"),
    "empty list": ("regress", {"examples": []}, 400, "'examples' value is an empty array"),
    "no object": ("regress", {"examples": [1]}, 400, "Example must be JSON object but got JSON Number"),
    "context": ("regress", {"context": [], "examples": [{}]}, 400, "JSON object but got JSON Array"),
    "null": ("classify", one(hour=None), 400, "Feature: hour has element with unexpected JSON type: Null"),
    "list in a list": ("classify", one(hour=[[1]]), 400, "has element with unexpected JSON type: Array"),
    "object": ("classify", one(hour={"a": 1}), 400, "has element with unexpected JSON type: Object"),
    "mixed": ("classify", one(hour=[1, 1.5]), 400, "Unexpected element type in feature: hour expecting"),
    "unsigned": ("classify", one(hour=2**63), 400, "hour has uint64 element. Only int64 is supported."),
    "too big": ("classify", one(trip_miles=1e39), 400, "1e+39 to float without loss of precision."),
    "base64": ("classify", one(company={"b64": "?"}), 400, "Unable to base64 decode"),
    "feature's type": ("classify", one(hour="ten"), 400, "Data types don't match"),
    "signature's type": ("classify", {"signature_name": 1, "examples": [{}]}, 400, "must be a string value"),
    "signature": (
        "classify",
        {"signature_name": "foo", "examples": [{}]},
        400,
        "No signature was found with the name: foo",
    ),
    "a predict signature": ("classify", {"examples": [{}]}, 400, "one or two output Tensors, found 3"),
    "raw inputs": (
        "classify",
        {"signature_name": "serving_raw", "examples": [{}]},
        400,
        "Expected one input Tensor.",
    ),
    "no regression": ("regress", one(), 400, "Expected one output Tensor."),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_requests(server: Running, case: str) -> None:
    verb, content, code, text = BAD_REQUESTS[case]
    got, answer = ask(server, verb, content)
    assert (got, list(answer)) == (code, ["error"])
    assert text in answer["error"]


def test_bad_models(server: Running) -> None:
    url = f"{server.url}/v1/models/foo:classify"
    assert call(url, one()) == (404, {"error": "Servable not found for request: Latest(foo)"})
    url = f"{server.url}{TIPS}/labels/stable"
    unknown = {"error": "Unrecognized servable version label: stable"}
    assert call(url + ":classify", one()) == (400, unknown)
    assert call(url) == (400, unknown)
    assert call(url + "/metadata") == (400, unknown)
