"""What one run leaves for the next: the models that were blessed, the statistics of data that passed.

TFX asks ML Metadata for these, through resolvers, which Kubeflow's backend does not run. Here they lie in
a folder that outlives a run (`kubeflow.keep`): on a claim, or in object storage.

    KEEP/models/KEY/model/…        KEEP/data/KEY/statistics/…, KEEP/data/KEY/anomalies/…
    KEEP/models/KEY/record.json    written last: what has no record is not there

KEY is a hash of what the thing is, so that keeping it again changes nothing, and a step that takes it comes
from the cache as long as it is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyarrow import fs

from components.errors import UserError

MODELS, DATA = "models", "data"
_RECORD = "record.json"
_KEY_LENGTH = 16
# Of models the next comparison needs the last ones; data that comes back is compared as it was then.
_NEWEST = {MODELS: 3, DATA: 30}


@dataclass(frozen=True)
class Record:
    """One thing that is kept.

    Attributes:
      key: the folder's name.
      identity: what the thing is: the model's URI, the data's hash.
      order: when it was kept, in nanoseconds since 1970.
      facts: what tells whether another step may take it.
      metadata: part to the properties of the artifact that it was.
    """

    key: str
    identity: str
    order: int
    facts: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def key_of(identity: str) -> str:
    """The folder's name for what a thing is."""
    return hashlib.sha256(identity.encode()).hexdigest()[:_KEY_LENGTH]


class Kept:
    """The folder.

    Args:
      place: a path, or an s3://, gs:// or minio:// URL.

    Raises:
      UserError: it cannot be reached; so do all methods.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._files, self._root = _open(place)

    def records(self, kind: str) -> list[Record]:
        """All of a kind, the latest first."""
        found = []
        with _reaching(self._place):
            selector = fs.FileSelector(f"{self._root}/{kind}", allow_not_found=True)
            for each in self._files.get_file_info(selector):
                record = f"{each.path}/{_RECORD}"
                if self._files.get_file_info(record).type == fs.FileType.File:
                    with self._files.open_input_stream(record) as stream:
                        found.append(Record(**json.loads(stream.read())))
        return sorted(found, key=lambda record: record.order, reverse=True)

    def put(
        self,
        kind: str,
        identity: str,
        parts: Mapping[str, str],
        *,
        facts: Mapping[str, str],
        metadata: Mapping[str, Mapping[str, Any]],
    ) -> Record:
        """Keeps copies of local folders, and lets the oldest of their kind go.

        Args:
          kind: MODELS or DATA.
          identity: what it is; nothing happens when that is kept already.
          parts: name to folder.
          facts: see Record.
          metadata: see Record.
        """
        before = self.records(kind)
        known = next((record for record in before if record.identity == identity), None)
        if known:
            return known
        record = Record(key_of(identity), identity, time.time_ns(), facts, metadata)
        folder = f"{self._root}/{kind}/{record.key}"
        with _reaching(self._place):
            for name, source in parts.items():
                self._files.create_dir(f"{folder}/{name}", recursive=True)
                fs.copy_files(
                    source,
                    f"{folder}/{name}",
                    source_filesystem=fs.LocalFileSystem(),
                    destination_filesystem=self._files,
                )
            with self._files.open_output_stream(f"{folder}/{_RECORD}") as stream:
                stream.write(json.dumps(vars(record), sort_keys=True).encode())
            for old in before[_NEWEST[kind] - 1 :]:
                # The record goes first: half of a thing must not be found.
                self._files.delete_file(f"{self._root}/{kind}/{old.key}/{_RECORD}")
                self._files.delete_dir(f"{self._root}/{kind}/{old.key}")
        return record

    def get(self, kind: str, key: str, parts: Mapping[str, str]) -> Record:
        """Copies what is kept into local folders: `parts`, name to folder."""
        record = next((each for each in self.records(kind) if each.key == key), None)
        if record is None:
            raise UserError(
                f"{kind}/{key} is no longer kept in {self._place}",
                where="kubeflow.keep",
                fix="run the pipeline again",
            )
        with _reaching(self._place):
            for name, target in parts.items():
                os.makedirs(target, exist_ok=True)
                fs.copy_files(
                    f"{self._root}/{kind}/{key}/{name}",
                    target,
                    source_filesystem=self._files,
                    destination_filesystem=fs.LocalFileSystem(),
                )
        return record


class _reaching:
    """Turns what a file system raises into the user's problem with the place."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            raise UserError(
                f"{self._place} cannot be used: {error}",
                where="kubeflow.keep",
                fix="give the pods the claim, or a secret with the storage's credentials in its `env`",
            ) from error


def _open(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a place, and its path there."""
    scheme, separator, path = place.partition("://")
    if not separator:
        return fs.LocalFileSystem(), place.rstrip("/")
    with _reaching(place):
        if scheme == "gs":
            return fs.GcsFileSystem(), path.rstrip("/")
        return _s3(scheme), path.rstrip("/")


def _s3(scheme: str) -> fs.FileSystem:
    """S3, or what speaks its language; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if scheme == "minio" and not endpoint:
        # Where a standard installation of Kubeflow Pipelines has it.
        endpoint = "http://minio-service.kubeflow:9000"
    protocol, _, host = endpoint.rpartition("://")
    return fs.S3FileSystem(
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        endpoint_override=host or None,
        scheme=protocol or "https",
    )
