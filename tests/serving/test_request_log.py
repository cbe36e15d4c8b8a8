"""The request log of a server that is killed."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from google.protobuf import wrappers_pb2
from serve_process import wait_for

from serving import request_log


def test_what_was_logged_is_on_the_disk_before_the_file_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "_FLUSH_SECONDS", 0.1)
    kept = request_log.RequestLog(tmp_path, 1.0)
    for text in ("one", "two"):
        assert kept.offer(lambda text=text: wrappers_pb2.StringValue(value=text))

        def there(text: str = text) -> bool:
            return any(text.encode() in _unpacked(part) for part in tmp_path.glob("*.part"))

        wait_for(there)
    kept.close()
    (whole,) = tmp_path.iterdir()
    assert whole.name.endswith(".tfrecord.gz")


def _unpacked(path: Path) -> bytes:
    """As much as is there: the end of gzip is missing."""
    return zlib.decompressobj(wbits=31).decompress(path.read_bytes())
