"""The models of a server, by name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from serving.errors import ServingError
from serving.hosted import HostedModel, VersionState
from serving.model import Model, load_model
from serving.spec import ModelConfig, ModelSpec
from serving.status import Code, StatusError, invalid

log = logging.getLogger("serving")


class Models:
    """Several hosted models.

    `start`, `poll`, `apply` and `close` load and must be called from one thread at a time; everything else
    may be called from any.

    Args:
      configs: what to serve.
      load: loads a version directory.
    """

    def __init__(
        self, configs: Sequence[ModelConfig], load: Callable[[Path, int], Model] = load_model
    ) -> None:
        self._first, self._load = list(configs), load
        self._hosted: dict[str, HostedModel] = {}  # replaced, never changed: other threads read it
        self._samplings: dict[str, float] = {}

    def __iter__(self) -> Iterator[HostedModel]:
        return iter(self._hosted.values())

    def sampling(self, name: str) -> float | None:
        """The share of a model's requests to log, if its config says one."""
        return self._samplings.get(name)

    def check(self) -> None:
        """Raises ServingError for the first model that has no version to serve; loads nothing."""
        for config in self._first:
            self._new(config).check()

    def start(self) -> None:
        """Loads every model; raises ServingError for the first that cannot be."""
        hosted = {}
        for config in self._first:
            model = self._new(config)
            model.start()
            try:
                model.label(dict(config.labels))
            except StatusError as error:
                raise ServingError(
                    error.message,
                    str(model.path),
                    f"versions {', '.join(map(str, sorted(model.loaded)))} are loaded: move the label, "
                    "or serve more versions",
                ) from error
            hosted[model.name] = model
        self._hosted = hosted
        self._note_sampling(self._first)

    def poll(self) -> None:
        """Looks for new versions of every model."""
        for model in self:
            model.poll()

    def close(self) -> None:
        """Lets go of every model."""
        for model in self:
            model.close()

    def apply(self, configs: Sequence[ModelConfig]) -> None:
        """Changes to what another config says, without a pause; raises StatusError and stays as it was.

        What is new is loaded before anything is let go.
        """
        after: dict[str, HostedModel] = {}
        undo: list[Callable[[], object]] = []
        try:
            for config in configs:
                after[config.name] = self._prepared(config, undo)
        except (ServingError, StatusError) as error:
            for step in reversed(undo):
                step()
            if isinstance(error, StatusError):
                raise
            raise StatusError(Code.UNKNOWN, f"Some models did not become available: {error}") from error
        gone = [model for name, model in self._hosted.items() if after.get(name) is not model]
        for config in configs:
            after[config.name].label(dict(config.labels))
        self._hosted = after
        self._note_sampling(configs)
        for model in gone:
            model.close()
        for model in after.values():
            model.poll()  # lets go of what the new policies do not want
        log.info("serving %s", ", ".join(sorted(after)) or "no model")

    def find(self, spec: ModelSpec) -> Model:
        """The version for a request, or TensorFlow Serving's error."""
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        hosted = self._hosted.get(spec.name)
        return (hosted or HostedModel(Path(), spec.name)).find(spec)

    def status(self, spec: ModelSpec) -> dict[int, VersionState]:
        """The versions of a model and their states, newest first; of one version if one is asked for."""
        hosted = self._hosted.get(spec.name) or HostedModel(Path(), spec.name)
        states, version = hosted.states, hosted.number(spec)
        if version is None:
            if not states:
                raise StatusError(Code.NOT_FOUND, f"Could not find any versions of model {spec.name}")
            return states
        if version not in states:
            raise StatusError(Code.NOT_FOUND, f"Could not find version {version} of model {spec.name}")
        return {version: states[version]}

    def _new(self, config: ModelConfig) -> HostedModel:
        return HostedModel(config.path, config.name, self._load, config.policy)

    def _prepared(self, config: ModelConfig, undo: list[Callable[[], object]]) -> HostedModel:
        """The model with all loaded that a config wants; how to take that back is put onto `undo`."""
        old = self._hosted.get(config.name)
        if old is None or old.path != config.path:
            model = self._new(config)
            undo.append(model.close)
            model.start()
            chosen = set(model.loaded)
        else:
            model, policy = old, old.policy
            undo += [old.poll, lambda: setattr(old, "policy", policy)]  # done from the end
            model.policy = config.policy
            chosen = model.load()
        if not chosen:
            wanted = "".join(
                f"{{name: {config.name} version: {number}}}, " for number in config.policy.versions
            )
            raise StatusError(Code.UNKNOWN, f"Some models did not become available: {{{wanted}}}")
        model.check_labels(dict(config.labels), chosen)
        return model

    def _note_sampling(self, configs: Sequence[ModelConfig]) -> None:
        self._samplings = {config.name: config.sampling for config in configs if config.sampling is not None}
