"""The served model over HTTP, in TensorFlow Serving's words."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import shlex
import socket
import time
from typing import Any

import pytest
from http_calls import call
from serve_process import Running, wait_for

TIPS = "/v1/models/tips"


def predict(server: Running, content: Any, version: str = "") -> tuple[int, Any]:
    return call(f"{server.url}{TIPS}{version}:predict", content)


ROW = {"company": "Blue", "pickup_zone": "", "hour": 10, "trip_miles": 5.5}


def test_row_format(server: Running) -> None:
    code, answer = predict(
        server, {"signature_name": "serving_raw", "instances": [ROW, {**ROW, "hour": -50}]}
    )
    assert code == 200
    assert answer == {
        "predictions": [
            {"classes": ["no", "yes"], "predicted_class": "yes", "probabilities": pytest.approx([0.3, 0.7])},
            {"classes": ["no", "yes"], "predicted_class": "no", "probabilities": pytest.approx([0.9, 0.1])},
        ]
    }


def test_column_format(server: Running) -> None:
    columns = {name: [value] for name, value in ROW.items()}
    code, answer = predict(server, {"signature_name": "serving_raw", "inputs": columns}, "/versions/17")
    assert (code, answer["outputs"]["predicted_class"]) == (200, ["yes"])
    assert answer["outputs"]["probabilities"] == [pytest.approx([0.3, 0.7])]


def test_serialized_examples(server: Running) -> None:
    import tensorflow as tf

    feature = {"trip_miles": tf.train.Feature(float_list=tf.train.FloatList(value=[9.0]))}
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    packed = {"b64": base64.b64encode(example).decode()}
    for content in ({"instances": [packed]}, {"instances": [{"examples": packed}]}):
        code, answer = predict(server, content)
        assert (code, answer["predictions"][0]["predicted_class"]) == (200, "yes")
    code, answer = predict(server, {"inputs": [packed, {"b64": ""}]})
    assert answer["outputs"]["predicted_class"] == ["yes", "no"]


def test_one_output_gives_bare_values(server: Running) -> None:
    assert predict(server, {"signature_name": "matrix", "instances": [[1, 2], [3, 4.5]]}) == (
        200,
        {"predictions": [3.0, 7.5]},
    )
    assert predict(server, {"signature_name": "matrix", "inputs": {"x": [[1, 2]]}}) == (
        200,
        {"outputs": [3.0]},
    )


def test_bytes_and_text_outputs(server: Running) -> None:
    binary = {"b64": "/wA="}  # not UTF-8
    _, answer = predict(server, {"signature_name": "copy", "instances": ["Zürich", binary]})
    zurich = {"b64": base64.b64encode("Zürich".encode()).decode()}
    assert answer["predictions"] == [
        {"data_bytes": zurich, "text": "Zürich"},
        {"data_bytes": binary, "text": binary},
    ]


def test_nan_and_infinity_are_words(server: Running) -> None:
    code, answer = predict(server, b'{"signature_name": "logarithm", "instances": [0, 0.1, NaN, Infinity]}')
    assert code == 200
    logs = [row["log"] for row in answer["predictions"]]
    assert logs[0] == -math.inf
    assert math.isnan(logs[2])
    assert logs[3] == math.inf
    assert answer["predictions"][1]["twice"] == 0.2  # float32 without noise digits


def test_other_types(server: Running) -> None:
    row = {"small": -5, "flag": True, "wide": 0.1, "count": 4_000_000_000}
    assert predict(server, {"signature_name": "kinds", "instances": [row]}) == (200, {"predictions": [row]})
    assert predict(server, {"signature_name": "scalar", "inputs": [1.5, 2]}) == (200, {"outputs": 3.5})


def rows(*values: Any, signature: str = "matrix") -> dict[str, Any]:
    return {"signature_name": signature, "instances": list(values)}


BAD_REQUESTS = {
    "empty": (b"", 400, "JSON Parse error: The document is empty"),
    "not JSON": (b"instances = [1]", 400, "JSON Parse error: Invalid value. at offset: 0"),
    "no object": (b"[1]", 400, "JSON Value: [\n    1\n] Is not object"),
    "no data": ({}, 400, "Missing 'inputs' or 'instances' key"),
    "both": ({"inputs": 1, "instances": [1]}, 400, "expecting only one of 'inputs' or 'instances' keys"),
    "signature's type": ({"signature_name": 1}, 400, "'signature_name' key must be a string value."),
    "signature": (rows(1, signature="x"), 400, 'Serving signature name: "x" not found in signature def'),
    "no list": ({"instances": 5}, 400, "Excepting 'instances' to be an list/array"),
    "no rows": ({"instances": []}, 400, "No values in 'instances' array"),
    "type": (
        rows([1, "a"]),
        400,
        "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: "
        'JSON Value: "a" Type: String is not of expected type: float',
    ),
    "null": (rows([1, None]), 400, "JSON Value: null Type: Null is not of expected type: float"),
    "bool": (rows([True, 1]), 400, "JSON Value: true Type: True is not of expected type: float"),
    "object": (rows([{"b64": ""}, 1]), 400, "Type: Object is not of expected type: float"),
    "string": (rows(5, signature="copy"), 400, "JSON Value: 5 Type: Number is not of expected type: string"),
    "base64": (rows({"b64": "?"}, signature="copy"), 400, "Unable to base64 decode"),
    "lossy": (rows([16777217, 1]), 400, "Cannot convert JSON value: 16777217 to float without loss"),
    "too big": (rows([1e39, 1]), 400, "Cannot convert JSON value: 1e+39 to float without loss"),
    "ragged": (rows([1, 2], [1, 2, 3]), 400, "element: 1 of 'instances' list. Error: INVALID_ARGUMENT: "),
    "uneven": (rows([[1, 2], [3]]), 400, "list at unexpected size: 1 at level: 1 expected size: 2"),
    "mixed depth": (rows([[1], 2]), 400, "JSON Value: 2 found at incorrect level: 2 in the JSON DOM."),
    "shape": (rows([1, 2, 3]), 400, "input 'x' of signature 'matrix': got shape [1,3], expected [-1,2]"),
    "plain list": (rows(1, signature="add"), 400, "instances is a plain list, but expecting list of objects"),
    "unknown input": (
        rows({"a": 1, "c": 2}, signature="add"),
        400,
        "Failed to process element: 0 key: c of 'instances' list. Error: INVALID_ARGUMENT: "
        "JSON object: does not have named input: c",
    ),
    "missing input": (rows({"a": 1}, signature="add"), 400, "must only have keys: a,b"),
    "object then value": (rows({"x": [1, 2]}, [1, 2]), 400, "Expecting object but got list at item 1"),
    "value then object": (rows([1, 2], {"x": [1, 2]}), 400, "Expecting value/list but got object at item 1"),
    "missing column": (
        {"signature_name": "add", "inputs": {"a": [1]}},
        400,
        "Missing named input: b in 'inputs' object.",
    ),
    "plain columns": ({"signature_name": "add", "inputs": [1]}, 400, "inputs is a plain value/list, but"),
    "graph": ({"signature_name": "add", "inputs": {"a": [1, 2, 3], "b": [1, 2]}}, 400, "Incompatible shapes"),
    "no batch": ({"signature_name": "scalar", "instances": [1]}, 400, "total has no shape information"),
    "half": (rows(1, signature="half"), 501, "Conversion of JSON Value: 1 to type: half"),
    "not UTF-8": (b'{"instances": "\xff"}', 400, "JSON Parse error: Invalid encoding in string."),
    "lone surrogate": (b'{"instances": ["\\ud800"]}', 400, "surrogate pair in string is invalid"),
    "deep": (b'{"instances": ' + b"[" * 100_000, 400, "JSON Parse error"),
    "deep list": (rows(eval("[" * 40 + "1" + "]" * 40)), 400, "nested deeper"),
    "huge number": (b'{"instances": [1e999]}', 400, "Number too big to be stored in double."),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_requests(server: Running, case: str) -> None:
    content, code, text = BAD_REQUESTS[case]
    got, answer = predict(server, content)
    assert (got, list(answer)) == (code, ["error"])
    assert text in answer["error"]
    assert "Traceback" not in answer["error"]
    assert "__inference" not in answer["error"]


PATHS = {
    ("POST", "/v1/models/foo:predict"): (404, "Servable not found for request: Latest(foo)"),
    ("POST", TIPS + "/versions/3:predict"): (404, "Servable not found for request: Specific(tips, 3)"),
    ("POST", TIPS + "/versions/99999999999999999999:predict"): (400, "Failed to convert version: 9999"),
    ("POST", TIPS): (400, "Malformed request: POST /v1/models/tips"),
    ("POST", "/v1/foo"): (400, "Malformed request: POST /v1/foo"),
    ("GET", TIPS + ":predict"): (400, "Malformed request: GET /v1/models/tips:predict"),
    ("GET", TIPS + "/version/50"): (400, "Malformed request: GET /v1/models/tips/version/50"),
    ("PUT", TIPS): (400, "Malformed request: PUT /v1/models/tips"),
    ("GET", "/v1/models"): (400, "Missing model name in request."),
    ("GET", "/v1/models/foo"): (404, "Could not find any versions of model foo"),
    ("GET", TIPS + "/versions/3"): (404, "Could not find version 3 of model tips"),
    ("GET", "/v1/models/foo/metadata"): (404, "Servable not found for request: Latest(foo)"),
    ("GET", "/index.html"): (404, "Not found: /index.html"),
}


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_bad_paths(server: Running, method: str, path: str) -> None:
    code, text = PATHS[method, path]
    body = None if method == "GET" else {"instances": [1]}
    got, answer = call(server.url + path, body, method)
    assert got == code
    assert answer["error"].startswith(text)


def test_status(server: Running) -> None:
    available = {
        "version": "17",
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }
    for path in (TIPS, TIPS + "/versions/17", TIPS.upper().replace("TIPS", "tips")):
        assert call(server.url + path) == (200, {"model_version_status": [available]})


def test_metadata(server: Running) -> None:
    code, answer = call(f"{server.url}{TIPS}/metadata")
    assert code == 200
    assert answer["model_spec"] == {"name": "tips", "signature_name": "", "version": "17"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "serving_raw", "transform_features"} <= signatures.keys()
    assert signatures["serving_raw"]["method_name"] == "tensorflow/serving/predict"
    assert signatures["serving_raw"]["inputs"]["hour"] == {
        "dtype": "DT_INT64",
        "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
        "name": "serving_raw_hour:0",
    }
    assert signatures["serving_raw"]["outputs"].keys() == {"probabilities", "classes", "predicted_class"}


def test_body_too_large(server: Running) -> None:
    body = b'{"instances": "' + b"a" * (9 * 2**20) + b'"}'
    code, answer = predict(server, body)
    assert code == 413
    assert answer["error"].startswith("Request body is too large: ")


def test_the_printed_call_works(server: Running) -> None:
    printed = server.out.read_text()
    assert re.match(r"Serving tips, version 17, at http://127.0.0.1:\d+/v1/models/tips\n", printed)
    # As a shell takes it apart; curl itself may not be there.
    program, option, body, url = shlex.split(printed.splitlines()[-1])
    assert (program, option) == ("curl", "-d")
    code, answer = call(url, body.encode())
    assert code == 200
    assert answer["predictions"][0]["predicted_class"] == "no"


def test_one_line_a_request(server: Running) -> None:
    call(f"{server.url}{TIPS}/versions/4711")
    wait_for(lambda: "4711" in server.err.read_text())
    lines = [line for line in server.err.read_text().splitlines() if "4711" in line]
    assert len(lines) == 1
    assert re.search(r"127\.0\.0\.1 GET /v1/models/tips/versions/4711 404 \d+ B \d+\.\d ms$", lines[0])


def test_a_client_that_goes_away(server: Running) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            b"POST /v1/models/gone:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
        )
    wait_for(lambda: "POST /v1/models/gone:predict 499" in server.err.read_text())
    assert call(f"{server.url}{TIPS}")[0] == 200
    assert "Traceback" not in server.err.read_text()


def test_compressed_bodies(server: Running) -> None:
    url = f"{server.url}{TIPS}:predict"
    body = gzip.compress(json.dumps({"signature_name": "matrix", "instances": [[1, 2]]}).encode())
    assert call(url, body, headers={"Content-Encoding": "gzip"}) == (200, {"predictions": [3.0]})
    code, answer = call(url, b"not gzip", headers={"Content-Encoding": "gzip"})
    assert (code, list(answer)) == (400, ["error"])
    bomb = gzip.compress(b"a" * (10 * 2**20))
    assert call(url, bomb, headers={"Content-Encoding": "gzip"})[0] == 413


@pytest.mark.parametrize("path", [f"{TIPS}:predict", "/v1/foo"])
def test_a_compressed_body_that_is_none_after_its_head(server: Running, path: str) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\n"
        connection.sendall(head.encode())
        time.sleep(0.3)
        connection.sendall(b"not gzip")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
        while connection.recv(65536):  # it ends the connection: it cannot know where the next request begins
            pass
    assert "Traceback" not in server.err.read_text()


def test_a_message_that_is_no_text(server: Running) -> None:
    """TensorFlow quotes the bytes that it cannot parse, which need not be UTF-8."""
    body = {"instances": [{"b64": "////"}]}
    code, answer = call(f"{server.url}{TIPS}:predict", body)
    assert code == 400
    assert "Could not parse example input" in answer["error"]
