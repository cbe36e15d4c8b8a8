"""A small REST client for the embedded server and for TensorFlow Serving; standard library only.

`serving.grpc_client` has the same over gRPC.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from serving.asking import check_address, raw_signature
from serving.errors import ServingError, cut
from serving.retrying import Retries, TryAgain
from serving.rows import Columns, Prediction, Row, input_type, to_columns, to_predictions
from serving.signature import RAW_SIGNATURE

_START = "start one with: headrace serve"
_TRUST = "let SSL_CERT_FILE name a PEM file with its authority's certificate, or with its own"
_BUSY = (429, 502, 503)  # may pass; 504 says that the time is over


class Client:
    """Talks to one model of a server.

    A request that the server is too busy for, or whose connection breaks, is sent again: predictions change
    nothing, so that is safe.

    Args:
      url: the server, `http://host:port`.
      model: the model's name.
      timeout: seconds for an answer, with all tries.
      token: what the server asks for, if it does.
      version: which version is asked; None for the newest.
      label: which label is asked, instead of a version.
      retries: how many more tries after the first.

    Example:
      ```python
      answers = Client("http://127.0.0.1:8501", "taxi").predict([{"trip_miles": 2.5, "company": "Blue"}])
      print(answers[0].predicted_class, answers[0].probability)
      ```
    """

    def __init__(
        self,
        url: str,
        model: str,
        timeout: float = 30.0,
        token: str = "",
        *,
        version: int | None = None,
        label: str = "",
        retries: int = 3,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServingError(f"got {url!r}; expected http://HOST:PORT", "the server's URL")
        check_address(version, label)
        self.url, self.model, self.timeout = url.rstrip("/"), model, timeout
        self._which = f"/labels/{quote(label, safe='')}" if label else ""
        if version is not None:
            self._which = f"/versions/{version}"
        self._retries = Retries(timeout, retries)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        direct = [urllib.request.ProxyHandler({})] if _is_local(parts.hostname) else []
        self._opener = urllib.request.build_opener(*direct)
        self._inputs: dict[str, str] | None = None
        self._outputs: list[str] = []

    def status(self) -> list[dict[str, Any]]:
        """The model's versions and their states."""
        return list(self._call("")["model_version_status"])

    def metadata(self) -> dict[str, Any]:
        """The model's signatures, as TensorFlow Serving describes them."""
        return self._call("/metadata")

    def inputs(self) -> dict[str, str]:
        """The raw features that the model takes, and their types, as `to_columns` takes them."""
        if self._inputs is None:
            signatures = self.metadata()["metadata"]["signature_def"]["signature_def"]
            raw = raw_signature(signatures, self._model_url())
            self._inputs = {
                name: input_type(info["dtype"], len(info["tensor_shape"].get("dim", ())))
                for name, info in raw["inputs"].items()
            }
            self._outputs = list(raw["outputs"])
        return self._inputs

    def predict(self, rows: Sequence[Row]) -> list[Prediction]:
        """Answers for rows of raw columns; absent columns are missing values, unknown ones are ignored."""
        return self.predict_columns(to_columns(rows, self.inputs())) if rows else []

    def predict_columns(self, columns: Columns) -> list[Prediction]:
        """Answers for rows already cast by `to_columns`."""
        self.inputs()
        answer = self._call(":predict", {"signature_name": RAW_SIGNATURE, "inputs": columns.values})
        outputs = answer.get("outputs")
        return to_predictions(outputs if isinstance(outputs, dict) else {self._outputs[0]: outputs or []})

    def _model_url(self) -> str:
        return f"{self.url}/v1/models/{quote(self.model, safe='')}{self._which}"

    def _call(self, path: str, content: Any = None) -> dict[str, Any]:
        url = self._model_url() + path
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(url, body, self._headers)
        answer = self._retries.call(lambda seconds: self._once(request, url, seconds))
        if not isinstance(answer, dict):
            raise ServingError(f"got {cut(answer)}; expected a JSON object", url, "is it a model server?")
        return answer

    def _once(self, request: urllib.request.Request, url: str, seconds: float) -> Any:
        """One try, which may take so many seconds."""
        try:
            with self._opener.open(request, timeout=seconds) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            refused = ServingError(f"HTTP {error.code}: {_error_text(error)}", url, _fix(error.code))
            if error.code in _BUSY:
                raise TryAgain(refused, _seconds(error.headers.get("Retry-After"))) from error
            raise refused from error
        except TimeoutError as error:
            raise ServingError(f"no answer within {self.timeout:g} s", url, "ask for fewer rows") from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise ServingError(f"no connection within {self.timeout:g} s", url, _START) from error
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                said = f"the server's certificate is not trusted: {error.reason.verify_message}"
                raise ServingError(said, url, _TRUST) from error
            absent = ServingError(f"no server answers: {error.reason}", url, _START)
            if isinstance(error.reason, ConnectionError):
                raise TryAgain(absent) from error
            raise absent from error
        except (OSError, http.client.HTTPException) as error:
            fix = "see the server's log"
            if url.startswith("http://"):
                fix += "; one with a certificate is asked with https://"
            raise TryAgain(ServingError(f"the connection broke: {error!r}", url, fix)) from error
        except ValueError as error:
            raise ServingError(f"the answer is not JSON: {error}", url, "is it a model server?") from error


def predict(url: str, model: str, rows: Sequence[Row], timeout: float = 30.0) -> list[Prediction]:
    """Asks a server about rows of raw columns.

    Args:
      url: the server, `http://host:port`.
      model: the model's name.
      rows: raw column to value; text is cast to the column's type, absent columns are missing values.
      timeout: seconds to wait for an answer.

    Raises:
      ServingError: the server cannot be reached or refuses, or a cell cannot be cast.
    """
    return Client(url, model, timeout).predict(rows)


def _error_text(error: urllib.error.HTTPError) -> str:
    """TensorFlow Serving's message, or the start of whatever else came."""
    try:
        body = error.read().decode("utf-8", "replace")
    except OSError:
        return error.reason
    try:
        return str(json.loads(body)["error"])
    except (ValueError, TypeError, KeyError):
        return cut(body.strip() or error.reason, 200)


def _fix(code: int) -> str:
    if code == 404:
        return "check the model's name and version; headrace serve prints them when it starts"
    if code == 413:
        return "send fewer rows at once"
    return "see the server's log" if code >= 500 else ""


def _seconds(header: str | None) -> float:
    """What a Retry-After header asks for; 0 for none, and for a date, which nobody here sends."""
    return float(header) if header and header.isascii() and header.isdigit() else 0.0


def _is_local(host: str) -> bool:
    """Whether a proxy from the environment would be wrong: it cannot reach this machine's loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
