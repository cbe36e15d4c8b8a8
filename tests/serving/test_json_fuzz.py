"""Arbitrary bodies are answered with a 400, and the server lives on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from http_calls import call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_process import Running

from serving.rest_answer import write_predictions
from serving.rest_json import parse_predict
from serving.signature import Signature, TensorInfo
from serving.status import StatusError, invalid

KINDS = ("DT_FLOAT", "DT_STRING", "DT_INT64", "DT_BOOL", "DT_UINT8", "DT_DOUBLE", "DT_HALF")
SIGNATURES = {
    "": Signature("serving_default", {"examples": TensorInfo("e:0", "DT_STRING", (-1,))}),
    "x": Signature("x", {"x": TensorInfo("x:0", "DT_FLOAT", (-1, 2))}),
    "all": Signature("all", {kind: TensorInfo(f"{kind}:0", kind, None) for kind in KINDS}),
}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
names = st.sampled_from(["b64", "x", "examples", *KINDS]) | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
all_inputs = st.fixed_dictionaries(dict.fromkeys(KINDS, values))
requests = st.fixed_dictionaries(
    {},
    optional={
        "signature_name": st.sampled_from(["x", "all", "", "absent"]) | values,
        "instances": st.lists(all_inputs | values, max_size=4) | values,
        "inputs": all_inputs | values,
        "examples": st.lists(all_inputs | values, max_size=4) | values,
        "context": values,
    },
)


def find_signature(name: str) -> Signature:
    if name not in SIGNATURES:
        raise invalid("not found")
    return SIGNATURES[name]


def check(body: bytes) -> None:
    try:
        request = parse_predict(body, find_signature)
    except StatusError as error:
        refused = error.code.http
    else:
        refused = 400
        assert request.inputs.keys() == next(
            signature.inputs.keys()
            for signature in SIGNATURES.values()
            if signature.name == request.signature
        )
    assert refused in (400, 501)


@settings(max_examples=100, deadline=None)
@given(requests | values)
def test_any_json_is_read_or_refused(content: Any) -> None:
    check(json.dumps(content).encode())


@settings(max_examples=100, deadline=None)
@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    check(body)
    check(b'{"instances": ' + body + b"}")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    requests | values,
    st.sampled_from(["", "serving_raw", "matrix", "add", "kinds", "copy", "classify", "regress"]),
    st.sampled_from(["predict", "predict", "classify", "regress"]),
)
def test_the_server_survives(server: Running, content: Any, signature: str, verb: str) -> None:
    if isinstance(content, dict):
        content = {**content, "signature_name": signature}
    code, _ = call(f"{server.url}/v1/models/tips:{verb}", content)
    assert code in (200, 400, 501)
    assert server.process.poll() is None


floats32 = st.floats(width=32)
rows = st.fixed_dictionaries(
    {
        "DT_FLOAT": floats32,
        "DT_STRING": st.text(),
        "DT_INT64": st.integers(-(2**63), 2**63 - 1),
        "DT_BOOL": st.booleans(),
        "DT_UINT8": st.integers(0, 255),
        "DT_DOUBLE": st.floats(),
    }
)
ROUND = Signature("", {kind: TensorInfo("t:0", kind, (-1,)) for kind in KINDS if kind != "DT_HALF"})


@settings(max_examples=50, deadline=None)
@given(st.lists(rows, min_size=1, max_size=5))
def test_rows_come_back_as_they_were_sent(sent: list[dict[str, Any]]) -> None:
    request = parse_predict(json.dumps({"instances": sent}).encode(), lambda _: ROUND)
    answer = json.loads(write_predictions(request.inputs, request.row_format))
    for got, row in zip(answer["predictions"], sent, strict=True):
        assert repr(np.float32(got.pop("DT_FLOAT"))) == repr(np.float32(row.pop("DT_FLOAT")))
        assert repr(got) == repr({name: row[name] for name in sorted(row)})


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(floats32, floats32), min_size=1, max_size=5))
def test_columns_come_back_as_they_were_sent(sent: list[tuple[float, float]]) -> None:
    body = json.dumps({"signature_name": "x", "inputs": sent}).encode()
    request = parse_predict(body, find_signature)
    assert request.inputs["x"].shape == (len(sent), 2)
    answer = json.loads(write_predictions(request.inputs, request.row_format))
    assert np.array_equal(np.array(answer["outputs"], np.float32), np.array(sent, np.float32), equal_nan=True)
