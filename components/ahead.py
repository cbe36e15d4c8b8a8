"""Make the next item while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each made by a thread of its own while whoever asked has the one before.

    It pays where both sides leave Python for long: decoding, TensorFlow, compression. One item more
    than otherwise is in memory.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, iterator, _END)
            yield item  # type: ignore[misc]
