"""A model that is served while its versions come and go."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.errors import ServingError
from serving.model import Model, load_model
from serving.status import Code, StatusError
from serving.versions import Version, is_version_directory, list_versions, version_number

log = logging.getLogger("serving")


@dataclass(frozen=True)
class _State:
    """What became of a version, as the status route tells it."""

    state: str
    code: Code = Code.OK
    message: str = ""
    stamp: int = 0


class HostedModel:
    """Serves the newest loadable version of a base folder, or one version directory.

    `poll` loads and switches and must be called from one thread at a time; everything else may be called
    from any. A request keeps the version that it began with: the old one is let go when its last ends.

    Args:
      name: the model's name in URLs; "" takes it from the manifest, else from the folder.
      path: a base folder of version directories, or one version directory.
      load: loads a version directory.
    """

    def __init__(self, path: Path, name: str = "", load: Callable[[Path, int], Model] = load_model) -> None:
        self.path = Path(os.path.abspath(path))
        self._name, self._load = name, load
        self._current: Model | None = None
        self._states: dict[int, _State] = {}
        self._warned_empty = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def current(self) -> Model:
        """The version that answers now."""
        if self._current is None:
            raise StatusError(Code.NOT_FOUND, f"Servable not found for request: Latest({self._name})")
        return self._current

    def start(self) -> Model:
        """Loads the first version; raises ServingError when there is none that can be loaded."""
        versions = self._versions()
        if not versions:
            raise ServingError(
                "no version of a model here; expected folders named by an integer, with a saved_model.pb",
                str(self.path),
                "push a model there first",
            )
        self.poll()
        if self._current is None:
            reasons = "\n".join(
                f"  version {number}: {state.message}" for number, state in sorted(self._states.items())
            )
            raise ServingError(f"no version can be loaded\n{reasons}", str(self.path), "push the model again")
        return self._current

    def poll(self) -> bool:
        """Looks for a newer version, loads it beside the current one, and switches; whether it switched."""
        versions = self._versions()
        self._forget_removed({version.number for version in versions})
        if not versions and self._current and not self._warned_empty:
            log.warning(
                "model %s: no version left in %s; version %d goes on serving",
                self._name, self.path, self._current.version,
            )  # fmt: skip
        self._warned_empty = not versions
        for version in versions:
            if self._current and version.number == self._current.version:
                return False
            if self._try_load(version):
                return True
        return False

    def find(self, name: str, version: int | None = None) -> Model:
        """The model for a request, or TensorFlow Serving's 404."""
        current = self._current
        if current is None or name != self._name or version not in (None, current.version):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise StatusError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")
        return current

    def status_json(self, name: str, version: int | None = None) -> dict[str, Any]:
        """The answer of the status route: every version that was tried, newest first."""
        states = dict(self._states) if name == self._name else {}
        if not states:
            raise StatusError(Code.NOT_FOUND, f"Could not find any versions of model {name}")
        if version is not None and version not in states:
            raise StatusError(Code.NOT_FOUND, f"Could not find version {version} of model {name}")
        numbers = sorted(states, reverse=True) if version is None else [version]
        return {
            "model_version_status": [
                {
                    "version": str(number),
                    "state": states[number].state,
                    "status": {
                        "error_code": states[number].code.name,
                        "error_message": states[number].message,
                    },
                }
                for number in numbers
            ]
        }

    def _versions(self) -> list[Version]:
        if is_version_directory(self.path):
            number = version_number(self.path.name)
            return [Version(1 if number is None else number, self.path)]
        return list_versions(self.path)

    def _try_load(self, version: Version) -> bool:
        stamp = version.last_change()
        known = self._states.get(version.number)
        if known and known.code is not Code.OK and known.stamp == stamp:
            return False  # it failed, and has not changed since
        self._states[version.number] = _State("LOADING")
        try:
            model = self._load(version.path, version.number)
        except ServingError as error:
            self._states[version.number] = _State("END", Code.UNKNOWN, error.what, stamp)
            going_on = f"; version {self._current.version} goes on serving" if self._current else ""
            log.error(
                "model %s: version %d is skipped%s: %s",
                self._name or self.path.name, version.number, going_on, error,
            )  # fmt: skip
            return False
        self._switch(model)
        return True

    def _switch(self, model: Model) -> None:
        if not self._name:
            self._name = model.manifest.name if model.manifest else model.path.parent.name
        old, self._current = self._current, model
        self._states[model.version] = _State("AVAILABLE")
        if old is None:
            log.info("model %s: version %d is loaded from %s", self._name, model.version, model.path)
            return
        self._states[old.version] = _State("END")
        log.info("model %s: version %d replaces version %d", self._name, model.version, old.version)
        del old
        gc.collect()  # a loaded graph holds cycles; give its memory back now

    def _forget_removed(self, present: set[int]) -> None:
        for number in [n for n, state in self._states.items() if state.state == "END" and n not in present]:
            del self._states[number]
