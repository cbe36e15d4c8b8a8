"""A recording server of /apis/v2beta1 that takes and refuses what Kubeflow's API server does."""

from __future__ import annotations

import email.parser
import email.policy
import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from ruamel.yaml import YAML

_LISTS = {
    "pipelines": ("pipelines", "pipeline_id"),
    "experiments": ("experiments", "experiment_id"),
    "runs": ("runs", "run_id"),
    "recurringruns": ("recurringRuns", "recurring_run_id"),
}
# What a body may have; the server's protos refuse all else.
_FIELDS = {
    "experiments": {"display_name", "description", "namespace"},
    "runs": {"display_name", "experiment_id", "pipeline_version_reference", "runtime_config"},
    "recurringruns": {
        "display_name",
        "experiment_id",
        "mode",
        "max_concurrency",
        "no_catchup",
        "trigger",
        "pipeline_version_reference",
        "runtime_config",
    },
}


class Api:
    """The server.

    Attributes:
      url: where it is.
      requests: method and path of each request.
      headers: of the last one.
      items: kind to what was made.
      states: what a run's state is, one look after the other.
    """

    def __init__(self, token: str = "") -> None:
        self.requests: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.items: dict[str, list[dict[str, Any]]] = {kind: [] for kind in (*_LISTS, "versions")}
        self.states = ["PENDING", "RUNNING", "SUCCEEDED"]
        self.token = token
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, query: dict[str, str], raw: bytes, kind: str) -> tuple[int, Any]:
        if path == "/healthz":
            return 200, {"multi_user": False}
        if path.startswith("/pipelines/upload"):
            return self._upload(path, query, raw, kind)
        versions = re.fullmatch(r"/pipelines/([^/]+)/versions", path)
        if versions:
            return 200, {
                "pipeline_versions": [v for v in self.items["versions"] if v["pipeline_id"] == versions[1]]
            }
        found = re.fullmatch(r"/(\w+)(?:/([^/:]+))?(?::(\w+))?", path)
        if not found or found[1] not in _LISTS:
            return 404, {"error": f"no such path {path}", "code": 5}
        return self._item(method, found[1], found[2], found[3], query, raw)

    def _item(
        self, method: str, kind: str, name: str | None, verb: str | None, query: dict[str, str], raw: bytes
    ) -> tuple[int, Any]:
        key, identity = _LISTS[kind]
        if method == "POST" and not name:
            return self._make(kind, identity, json.loads(raw))
        if not name:
            wanted = [
                each["stringValue"] for each in json.loads(query.get("filter", "{}")).get("predicates", [])
            ]
            items = [each for each in self.items[kind] if not wanted or each["display_name"] in wanted]
            start = int(query.get("page_token", "0"))
            # Two a page, so that who reads one page only is found out.
            page = {key: items[start : start + 2]}
            return 200, {**page, **({"next_page_token": str(start + 2)} if items[start + 2 :] else {})}
        item = next((each for each in self.items[kind] if each[identity] == name), None)
        if item is None:
            return 404, {"error": "not found", "code": 5}
        if method == "DELETE":
            self.items[kind].remove(item)
            return 200, {}
        if verb:
            item["status"] = {"enable": "ENABLED", "disable": "DISABLED"}[verb]
            return 200, {}
        if kind == "runs":
            item["state"] = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            item["run_details"] = {"task_details": [{"display_name": "Trainer", "state": item["state"]}]}
        return 200, item

    def _make(self, kind: str, identity: str, body: dict[str, Any]) -> tuple[int, Any]:
        unknown = set(body) - _FIELDS[kind]
        if unknown:
            return 400, {"error": f'unknown field "{sorted(unknown)[0]}"', "code": 3}
        if kind in ("runs", "recurringruns"):
            known = {each["pipeline_version_id"] for each in self.items["versions"]}
            if body["pipeline_version_reference"]["pipeline_version_id"] not in known:
                return 400, {"error": "the pipeline version does not exist", "code": 3}
        if kind == "recurringruns":
            trigger = body["trigger"]
            if body["mode"] not in ("ENABLE", "DISABLE") or not 1 <= int(body["max_concurrency"]) <= 10:
                return 400, {"error": "invalid recurring run", "code": 3}
            cron = trigger.get("cron_schedule", {}).get("cron")
            if cron is not None and len(cron.split()) != 6:
                return 400, {"error": "invalid cron", "code": 3}
        item = {
            **body,
            identity: str(uuid.uuid4()),
            "created_at": f"2026-01-01T00:00:{len(self.items[kind]):02}Z",
        }
        if kind == "recurringruns":
            item["status"] = "ENABLED"
        if item.get("no_catchup") is False:
            del item["no_catchup"]  # the server leaves out what is false
        self.items[kind].append(item)
        return 200, item

    def _upload(self, path: str, query: dict[str, str], raw: bytes, kind: str) -> tuple[int, Any]:
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw
        )
        part = next(message.iter_parts())
        if part.get_param("name", header="content-disposition") != "uploadfile":
            return 400, {"error": "no uploadfile", "code": 3}
        spec = next(iter(YAML(typ="safe").load_all(part.get_payload(decode=True).decode())))
        if spec["schemaVersion"] != "2.1.0":
            return 400, {"error": "KFP only supports schema version 2.1.0", "code": 3}
        if path == "/pipelines/upload":
            pipeline = {"pipeline_id": str(uuid.uuid4()), "display_name": query["name"]}
            self.items["pipelines"].append(pipeline)
            return 200, pipeline
        version = {
            "pipeline_id": query["pipelineid"],
            "pipeline_version_id": str(uuid.uuid4()),
            "display_name": query["name"],
        }
        self.items["versions"].append(version)
        return 200, version

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def _do(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlparse(self.path)
                path = url.path.removeprefix("/apis/v2beta1")
                api.requests.append((self.command, path))
                api.headers = dict(self.headers)
                query = {key: value[0] for key, value in parse_qs(url.query).items()}
                if api.token and self.headers.get("Authorization") != f"Bearer {api.token}":
                    code, body = 401, {"error": "Unauthenticated", "code": 16}
                elif path == url.path:
                    code, body = 404, {"error": "not the API", "code": 5}
                else:
                    kind = self.headers.get("Content-Type", "")
                    code, body = api.answer(self.command, path, query, raw, kind)
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = _do

        return Handler
