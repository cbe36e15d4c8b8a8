"""A model that is served while its versions come and go."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from serving import memory
from serving.errors import ServingError
from serving.model import Model, load_model
from serving.spec import NEWEST, ModelSpec, VersionPolicy
from serving.status import Code, StatusError, invalid
from serving.versions import Version, is_version_directory, list_versions, version_number

log = logging.getLogger("serving")


@dataclass(frozen=True)
class VersionState:
    """What became of a version, as the status route tells it."""

    state: str
    code: Code = Code.OK
    message: str = ""
    stamp: int = 0


class HostedModel:
    """Serves the versions of a base folder that its policy wants, or one version directory.

    `start`, `load`, `poll`, `label` and `close` must be called from one thread at a time; the rest may be
    called from any. A new version is loaded and warmed up beside the others before it answers, and an old
    one is let go after that. A request keeps the version that it began with.

    Args:
      path: a base folder of version directories, or one version directory.
      name: the model's name in URLs; "" takes it from the manifest, else from the folder.
      load: loads a version directory.
      policy: which versions are served.
    """

    def __init__(
        self,
        path: Path,
        name: str = "",
        load: Callable[[Path, int], Model] = load_model,
        policy: VersionPolicy = NEWEST,
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self.policy = policy
        self._name, self._load = name, load
        self._loaded: dict[int, Model] = {}  # replaced, never changed: other threads read it
        self._states: dict[int, VersionState] = {}
        self._labels: dict[str, int] = {}
        self._warned = ""
        self._garbage = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def labels(self) -> dict[str, int]:
        """Label to version."""
        return dict(self._labels)

    @property
    def states(self) -> dict[int, VersionState]:
        """Every version that was tried, newest first."""
        return dict(sorted(self._states.copy().items(), reverse=True))

    @property
    def loaded(self) -> dict[int, Model]:
        """The versions that answer."""
        return self._loaded

    @property
    def current(self) -> Model:
        """The newest version that answers."""
        return self.find(ModelSpec(self._name))

    def check(self) -> None:
        """Raises ServingError when there is nothing that the policy wants; loads nothing."""
        versions = self._versions()
        if not versions:
            raise ServingError(
                "no version of a model here; expected folders named by an integer, with a saved_model.pb",
                str(self.path),
                "push a model there first",
            )
        if not self.policy.choose(versions)[0]:
            raise ServingError(
                f"the policy asks for {', '.join(map(str, self.policy.versions))}; "
                f"received {', '.join(str(version.number) for version in versions)}",
                str(self.path),
                "mend the version policy",
            )

    def start(self) -> Model:
        """Loads what the policy wants; raises ServingError when nothing of it can be loaded."""
        self.check()
        self.poll()
        if not self._loaded:
            reasons = "\n".join(
                f"  version {number}: {state.message}" for number, state in sorted(self._states.items())
            )
            raise ServingError(f"no version can be loaded\n{reasons}", str(self.path), "push the model again")
        return self.current

    def poll(self) -> bool:
        """Loads what the policy wants of what is on disk, then lets go of the rest; whether it changed."""
        if self._garbage:
            self._garbage = False
            memory.release()
        before = set(self._loaded)
        chosen = self.load()
        if chosen and (old := set(self._loaded) - chosen):
            self._unload(old)
        return set(self._loaded) != before

    def load(self) -> set[int]:
        """Loads what the policy wants of what is on disk, beside what is there; the versions it wants."""
        versions = self._versions()
        self._forget_removed({version.number for version in versions})
        candidates, count = self.policy.choose(versions)
        chosen: set[int] = set()
        for version in candidates:
            if len(chosen) == count:
                break
            if version.number in self._loaded or self._try_load(version):
                chosen.add(version.number)
        self._warn(versions, candidates)
        return chosen

    def close(self) -> None:
        """Lets go of every version; requests under way keep theirs."""
        self._labels = {}
        self._unload(set(self._loaded))

    def label(self, labels: Mapping[str, int]) -> None:
        """Moves the labels, all or none: a label can only name a version that answers."""
        self.check_labels(labels, set(self._loaded))
        for label, version in labels.items():
            if self._labels.get(label) != version:
                log.info("model %s: label %s is version %d", self._name, label, version)
        self._labels = dict(labels)

    def check_labels(self, labels: Mapping[str, int], versions: set[int]) -> None:
        """Refuses a label for a version that is not among these."""
        for version in labels.values():
            if version not in versions:
                raise StatusError(
                    Code.FAILED_PRECONDITION,
                    f"Request to assign label to version {version} of model {self._name}, "
                    "which is not currently available for inference",
                )

    def find(self, spec: ModelSpec) -> Model:
        """The version for a request, or TensorFlow Serving's error."""
        loaded, version = self._loaded, self.number(spec)
        if version is None and loaded:
            return loaded[max(loaded)]
        if version not in loaded:
            asked = f"Latest({spec.name})" if version is None else f"Specific({spec.name}, {version})"
            raise StatusError(Code.NOT_FOUND, f"Servable not found for request: {asked}")
        return loaded[version]

    def number(self, spec: ModelSpec) -> int | None:
        """The version that is asked for, by number or by label; None for the newest."""
        if not spec.label:
            return spec.version
        if spec.label not in self._labels:
            raise invalid(f"Unrecognized servable version label: {spec.label}")
        return self._labels[spec.label]

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
        self._states[version.number] = VersionState("LOADING")
        try:
            with memory.giving_way():
                model = self._load(version.path, version.number)
        except ServingError as error:
            self._states[version.number] = VersionState("END", Code.UNKNOWN, error.what, stamp)
            going_on = f"; version {max(self._loaded)} goes on serving" if self._loaded else ""
            log.error(
                "model %s: version %d is skipped%s: %s",
                self._name or self.path.name, version.number, going_on, error,
            )  # fmt: skip
            return False
        self._publish(model)
        return True

    def _publish(self, model: Model) -> None:
        if not self._name:
            self._name = model.manifest.name if model.manifest else model.path.parent.name
        # A finalizer that held this object would keep the model, which this object holds, for ever.
        weakref.finalize(model, _tell_freed, weakref.ref(self), model.version).atexit = False
        self._loaded = {**self._loaded, model.version: model}
        self._states[model.version] = VersionState("AVAILABLE")
        log.info("model %s: version %d is loaded from %s", self._name, model.version, model.path)

    def _unload(self, old: set[int]) -> None:
        """Lets go of versions; their memory is free when the last request that uses them ends."""
        if not old:
            return
        for number in sorted(old):
            self._states[number] = VersionState("UNLOADING")
            labels = [label for label, version in self._labels.items() if version == number]
            if labels:
                log.warning(
                    "model %s: label %s names version %d, which is not served any more",
                    self._name, ", ".join(labels), number,
                )  # fmt: skip
        self._loaded = {number: model for number, model in self._loaded.items() if number not in old}
        if self._loaded:
            log.info(
                "model %s: version %d replaces version %s",
                self._name, max(self._loaded), ", ".join(map(str, sorted(old))),
            )  # fmt: skip
        self._garbage = False
        memory.release()

    def _freed(self, number: int) -> None:
        self._garbage = True
        state = self._states.get(number)
        if state and state.state == "UNLOADING":
            self._states[number] = VersionState("END")

    def _warn(self, versions: list[Version], candidates: list[Version]) -> None:
        """Says, once, that what should be served is not there."""
        there = {version.number for version in candidates}
        missing = [number for number in self.policy.versions if number not in there]
        warning = ""
        if not versions:
            warning = f"no version left in {self.path}"
        elif missing:
            warning = f"version {', '.join(map(str, missing))} is not in {self.path}"
        if warning and warning != self._warned:
            going_on = f"; version {max(self._loaded)} goes on serving" if self._loaded else ""
            log.warning("model %s: %s%s", self._name or self.path.name, warning, going_on)
        self._warned = warning

    def _forget_removed(self, present: set[int]) -> None:
        for number in [n for n, state in self._states.items() if state.state == "END" and n not in present]:
            del self._states[number]


def _tell_freed(hosted: weakref.ref[HostedModel], number: int) -> None:
    if found := hosted():
        found._freed(number)
