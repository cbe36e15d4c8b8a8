"""A recording server of /apis/v2beta1 that takes and refuses what Kubeflow's API server does."""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
import re
import ssl
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from kfp_rules import parse_spec, wanted_names, wrong_fields, wrong_inputs, wrong_schedule

# Collection: key of its list, key of an item's id, model of the API.
_KINDS = {
    "pipelines": ("pipelines", "pipeline_id", "V2beta1Pipeline"),
    "versions": ("pipeline_versions", "pipeline_version_id", "V2beta1PipelineVersion"),
    "experiments": ("experiments", "experiment_id", "V2beta1Experiment"),
    "runs": ("runs", "run_id", "V2beta1Run"),
    "recurringruns": ("recurringRuns", "recurring_run_id", "V2beta1RecurringRun"),
}
_INVALID, _NOT_FOUND, _EXISTS = 3, 5, 6
_STATUS = {_INVALID: 400, _NOT_FOUND: 404, _EXISTS: 409}
Answer = tuple[int, Any]


def _refused(code: int, what: str) -> Answer:
    return _STATUS[code], {"error": what, "message": what, "code": code, "details": []}


class Api:
    """The server.

    Attributes:
      url: where it is.
      requests: method and path of each request.
      headers: of the last one.
      items: kind to what was made.
      bodies: kind to what was sent for it.
      states: what a run's state is, one look after the other.
      failed: the task that fails when the state is FAILED.
      pods: pod's name to what it has printed.
      as_ui: whether it is the server of the UI, which has the logs elsewhere and pages for all else.
    """

    def __init__(self, token: str = "", multi_user: bool = False, as_ui: bool = False) -> None:
        self.requests: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.items: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
        self.bodies: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
        self.states = ["PENDING", "RUNNING", "SUCCEEDED"]
        self.failed = "Trainer"
        self.pods: dict[str, str] = {}
        self.token, self.multi_user, self.as_ui = token, multi_user, as_ui
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Lets it speak TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def answer(self, method: str, path: str, query: dict[str, str], raw: bytes, kind: str) -> Answer:
        if path == "/healthz":
            return 200, {"multi_user": self.multi_user, "commit_sha": "0", "tag_name": "2.17.0"}
        if path in ("/pipelines/upload", "/pipelines/upload_version"):
            code, body = self._upload(path, query, raw, kind)
            # This part of the server has its own form of an error.
            return code, {"error_message": body["error"], "error_details": ""} if code != 200 else body
        of_pipeline = re.fullmatch(r"/pipelines/([^/]+)/versions(?:/([^/]+))?", path)
        if of_pipeline:
            return self._item(method, "versions", of_pipeline[2], None, {**query, "of": of_pipeline[1]}, raw)
        found = re.fullmatch(r"/(\w+)(?:/([^/:]+))?(?::(\w+))?", path)
        if not found or found[1] not in _KINDS or found[1] == "versions":
            return _refused(_NOT_FOUND, "Not Found")
        return self._item(method, found[1], found[2], found[3], query, raw)

    def log(self, pod: str) -> Answer:
        """As the API server answers: what a pod has printed, else an error of the server's."""
        if pod in self.pods:
            return 200, self.pods[pod]
        return 500, {"error_message": f'Failed to read logs: pods "{pod}" not found', "error_details": ""}

    def _item(
        self, method: str, kind: str, name: str | None, verb: str | None, query: dict[str, str], raw: bytes
    ) -> Answer:
        if not name:
            return self._make(kind, raw) if method == "POST" else self._list(kind, query)
        item = next((each for each in self.items[kind] if each[_KINDS[kind][1]] == name), None)
        if item is None:
            return _refused(_NOT_FOUND, f"ResourceNotFoundError: {kind} {name} not found")
        if method == "DELETE":
            self.items[kind].remove(item)
            return 200, {}
        if verb:
            if kind != "recurringruns" or verb not in ("enable", "disable") or method != "POST":
                return _refused(_NOT_FOUND, "Not Found")
            item["status"] = f"{verb.upper()}D"
            return 200, {}
        if kind == "runs":
            self._go_on(item)
        return 200, item

    def _list(self, kind: str, query: dict[str, str]) -> Answer:
        names = wanted_names(query)
        if isinstance(names, str):
            return _refused(_INVALID, names)
        items = [each for each in self.items[kind] if not names or each["display_name"] in names]
        for key, name in (("pipeline_id", "of"), ("experiment_id", "experiment_id")):
            if query.get(name):
                items = [each for each in items if each.get(key) == query[name]]
        asked = query.get("filter", "")
        start = 0
        if query.get("page_token"):
            try:
                start, of = json.loads(base64.urlsafe_b64decode(query["page_token"]))
            except ValueError:
                return _refused(_INVALID, "Invalid package token.")
            if of != asked:
                return _refused(_INVALID, "page token does not match the filter")
        # Two a page, so that who reads one page only is found out.
        shown = items[start : start + 2]
        page: dict[str, Any] = {_KINDS[kind][0]: shown, "total_size": len(items)} if shown else {}
        if items[start + 2 :]:
            token = base64.urlsafe_b64encode(json.dumps([start + 2, asked]).encode())
            page["next_page_token"] = token.decode()
        return 200, page

    def _make(self, kind: str, raw: bytes) -> Answer:
        body = json.loads(raw)
        wrong = wrong_fields(body, _KINDS[kind][2])
        if wrong:
            return _refused(_INVALID, wrong)
        name = body.get("display_name")
        if not name:
            return _refused(_INVALID, f"{kind} name is empty. Please specify a valid name")
        if kind == "experiments":
            if self.multi_user and not body.get("namespace"):
                return _refused(_INVALID, "Namespace cannot be empty in multi-user mode")
            if any(each["display_name"] == name for each in self.items[kind]):
                return _refused(_EXISTS, f"Already exist error: the name {name} already exists")
        else:
            wrong = self._wrong_run(body) or (wrong_schedule(body) if kind == "recurringruns" else None)
            if wrong:
                return _refused(_INVALID, wrong)
        self.bodies[kind].append(body)
        return 200, self._keep(kind, body)

    def _wrong_run(self, body: dict[str, Any]) -> str | None:
        known = {each["experiment_id"] for each in self.items["experiments"]}
        if body.get("experiment_id") not in known:
            return f"experiment {body.get('experiment_id')} not found"
        reference = body.get("pipeline_version_reference")
        if reference:
            spec = next(
                (
                    each["pipeline_spec"]
                    for each in self.items["versions"]
                    if each["pipeline_version_id"] == reference.get("pipeline_version_id")
                    and each["pipeline_id"] == reference.get("pipeline_id")
                ),
                None,
            )
            if spec is None:
                return "the pipeline version does not exist"
        elif body.get("pipeline_spec"):
            documents = body["pipeline_spec"]
            both = "pipeline_spec" in documents
            text = "\n---\n".join(json.dumps(each) for each in (documents.values() if both else [documents]))
            spec, wrong = parse_spec(text)
            if wrong:
                return wrong
        else:
            return "Failed to find a pipeline source"
        return wrong_inputs(spec["pipeline_spec"], body.get("runtime_config") or {})

    def _keep(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        # The server leaves out what is empty or false, and gives whole numbers of 64 bits as text.
        item = {key: value for key, value in body.items() if value not in (None, False, "")}
        item[_KINDS[kind][1]] = str(uuid.uuid4())
        item["created_at"] = f"2026-01-01T00:00:{len(self.items[kind]):02}Z"
        if kind == "recurringruns":
            item["status"] = f"{item['mode']}D"
            item["max_concurrency"] = str(item["max_concurrency"])
        self.items[kind].append(item)
        return item

    def _upload(self, path: str, query: dict[str, str], raw: bytes, kind: str) -> Answer:
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw
        )
        part = next(message.iter_parts(), None)
        if part is None or part.get_param("name", header="content-disposition") != "uploadfile":
            return _refused(_INVALID, "Failed to find a file named uploadfile")
        spec, wrong = parse_spec(part.get_payload(decode=True).decode())
        name = query.get("name")
        if wrong or not name:
            return _refused(_INVALID, wrong or "the name is empty")
        pipeline = query.get("pipelineid")
        if path == "/pipelines/upload":
            if any(each["display_name"] == name for each in self.items["pipelines"]):
                return _refused(_EXISTS, f"Already exist error: the name {name} already exist")
            made = self._keep("pipelines", {"display_name": name})
            # With the pipeline comes a version of its name.
            pipeline = made["pipeline_id"]
        elif not any(each["pipeline_id"] == pipeline for each in self.items["pipelines"]):
            return _refused(_INVALID, f"pipeline {pipeline} not found")
        elif any(
            each["display_name"] == name for each in self.items["versions"] if each["pipeline_id"] == pipeline
        ):
            return _refused(_EXISTS, f"Already exist error: the name {name} already exist")
        version = {"pipeline_id": pipeline, "display_name": name, "pipeline_spec": spec}
        kept = self._keep("versions", version)
        return 200, made if path == "/pipelines/upload" else kept

    def _go_on(self, run: dict[str, Any]) -> None:
        """The run's next state, and the nodes of its workflow as the API tells of them."""
        run["state"] = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        reference = (run.get("pipeline_version_reference") or {}).get("pipeline_version_id")
        spec = next(each for each in self.items["versions"] if each["pipeline_version_id"] == reference)
        nodes: list[dict[str, Any]] = [{"display_name": "taxi-8hx2k"}, {"display_name": "root"}]
        for number, task in enumerate(spec["pipeline_spec"]["pipeline_spec"]["root"]["dag"]["tasks"]):
            state = run["state"]
            if state == "FAILED" and task != self.failed:
                state = "SUCCEEDED"
            child = {"pod_name": f"taxi-8hx2k-{1000 + number}"}
            nodes.append({"display_name": f"{task}-driver", "state": "SUCCEEDED"})
            nodes.append({"display_name": task, "state": state, "child_tasks": [child]})
            nodes.append({"display_name": "executor", "state": state})
        details = [{"task_id": str(uuid.uuid4()), "run_id": run["run_id"], **each} for each in nodes]
        run["run_details"] = {"task_details": details}
        if run["state"] == "FAILED":
            run["error"] = {"code": 13, "message": f"task {self.failed} failed"}

    def _route(self, method: str, url: Any, raw: bytes, headers: Any) -> Answer:
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        path = url.path.removeprefix("/apis/v2beta1")
        log = re.fullmatch(r"/apis/v1alpha1/runs/[^/]+/nodes/([^/]+)/log", url.path)
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {"error": "Unauthenticated", "code": 16}
        if log and not self.as_ui:
            return self.log(log[1])
        if url.path == "/k8s/pod/logs" and self.as_ui:
            return self.log(query["podname"])
        if path == url.path:
            return (200, "<!doctype html><html></html>") if self.as_ui else _refused(_NOT_FOUND, "Not Found")
        return self.answer(method, path, query, raw, headers.get("Content-Type", ""))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def _do(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlparse(self.path)
                api.requests.append((self.command, url.path.removeprefix("/apis/v2beta1")))
                api.headers = dict(self.headers)
                code, body = api._route(self.command, url, raw, self.headers)
                text = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(code)
                kind = "application/json" if not isinstance(body, str) else "text/plain"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = _do

        return Handler
