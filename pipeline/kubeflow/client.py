"""The REST API of Kubeflow Pipelines, /apis/v2beta1: just the requests that are needed, no SDK.

https://www.kubeflow.org/docs/components/pipelines/reference/api/kubeflow-pipeline-api-spec/
"""

from __future__ import annotations

import json
import os
import ssl
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib import error, parse, request

from components.errors import UserError

TOKEN, COOKIES = "HEADRACE_KUBEFLOW_TOKEN", "HEADRACE_KUBEFLOW_COOKIES"
# Where a pod that may use the API finds its token.
_IN_CLUSTER = Path("/var/run/secrets/kubeflow/pipelines/token")
_API = "/apis/v2beta1"
_SECONDS = 60
_PAGE = 100


@dataclass(frozen=True)
class Client:
    """A cluster's Kubeflow Pipelines.

    Attributes:
      endpoint: its URL; a path in front of /apis is kept, as in https://host/pipeline.
      namespace: of the runs, on clusters of several users.
      ca: file with the authorities that the server's certificate is checked against; None: the system's.
    """

    endpoint: str
    namespace: str | None = None
    ca: str | None = None

    def check(self) -> None:
        """Raises UserError when there is no Kubeflow Pipelines at the endpoint, or it does not let us in."""
        self.call("GET", "/healthz")

    def call(
        self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """One request; JSON goes, JSON comes.

        Raises:
          UserError: the server cannot be reached, or refuses.
        """
        data = None if body is None else json.dumps(body).encode()
        return self._send(method, path, data, "application/json", query)

    def upload(self, path: str, text: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a compiled pipeline as a file."""
        boundary = uuid.uuid4().hex
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="uploadfile"; filename="pipeline.yaml"\r\n'
            f"Content-Type: application/yaml\r\n\r\n{text}\r\n--{boundary}--\r\n"
        )
        return self._send("POST", path, body.encode(), f"multipart/form-data; boundary={boundary}", query)

    def all(self, path: str, key: str, query: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Every item of a list, over all its pages."""
        asked = {**(query or {}), "page_size": _PAGE}
        while True:
            page = self.call("GET", path, query=asked)
            yield from page.get(key) or []
            if not page.get("next_page_token"):
                return
            asked["page_token"] = page["next_page_token"]

    def scope(self) -> dict[str, str]:
        """The namespace as a query, where there is one."""
        return {"namespace": self.namespace} if self.namespace else {}

    def text(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        """What the server has at a path below the endpoint, as text; not only the API's.

        Raises:
          UserError: it cannot be reached, or has no such thing.
        """
        return self._bytes("GET", path, None, "text/plain", query).decode(errors="replace")

    def _send(
        self, method: str, path: str, data: bytes | None, kind: str, query: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        text = self._bytes(method, _API + path, data, kind, query)
        try:
            return json.loads(text) if text else {}
        except ValueError:
            raise UserError(
                "answers no JSON, so it is not the API (a login page?)",
                where=self.endpoint,
                fix=f"put a token into {TOKEN}, or the browser's cookies into {COOKIES}",
            ) from None

    def _bytes(
        self, method: str, path: str, data: bytes | None, kind: str, query: Mapping[str, Any] | None
    ) -> bytes:
        url = self.endpoint.rstrip("/") + path + (f"?{parse.urlencode(query)}" if query else "")
        asked = request.Request(url, data=data, method=method, headers=self._headers(kind))
        try:
            context = ssl.create_default_context(cafile=self.ca) if url.startswith("https:") else None
            with request.urlopen(asked, timeout=_SECONDS, context=context) as answer:
                return answer.read()
        except error.HTTPError as refused:
            raise self._refused(method, path.removeprefix(_API), refused) from None
        except (OSError, ValueError) as problem:
            raise UserError(
                f"cannot be reached: {getattr(problem, 'reason', problem)}",
                where=self.endpoint,
                fix="give --endpoint the URL of Kubeflow Pipelines, such as a port-forward to ml-pipeline-ui",
            ) from None

    def _headers(self, kind: str) -> dict[str, str]:
        found = {"Content-Type": kind, "Accept": "application/json, text/plain"}
        token = os.environ.get(TOKEN, "")
        if not token and _IN_CLUSTER.is_file():
            token = _IN_CLUSTER.read_text().strip()
        if token:
            found["Authorization"] = f"Bearer {token}"
        if os.environ.get(COOKIES):
            found["Cookie"] = os.environ[COOKIES]
        return found

    def _refused(self, method: str, path: str, refused: error.HTTPError) -> UserError:
        text = refused.read().decode(errors="replace")
        try:
            said = json.loads(text)
            reason = said.get("error_message") or said.get("message") or said.get("error") or text
        except (ValueError, AttributeError):
            reason = text
        login = refused.code in (401, 403)
        return UserError(
            f"{method} {path} was refused ({refused.code}): {str(reason).strip()[:500]}",
            where=self.endpoint,
            fix=f"put a token into {TOKEN}, and name the namespace with --namespace" if login else "",
        )
