"""What a deployment is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from serving.errors import ServingError

IMAGE = "tensorflow/serving:2.19.1"
REST_PORT, GRPC_PORT = 8501, 8500
CONFIG_FOLDER, MODELS_FOLDER = "/config", "/models"
METRICS_PATH = "/monitoring/prometheus/metrics"

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|[kMGT]i?)?")  # as Kubernetes writes it
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # of Kubernetes' objects: RFC 1123


def _amount(quantity: str) -> float:
    """A quantity as a number, of cores or bytes."""
    found = re.fullmatch(_QUANTITY, quantity)
    assert found
    number, unit = float(found[1]), found[2] or ""
    if unit == "m":
        return number / 1000
    return number * float(1024 if unit.endswith("i") else 1000) ** " kMGT".index(unit[:1] or " ")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One model behind TensorFlow Serving.

    Args:
      model: its name in requests.
      store: where the versions are: a folder, `pvc://CLAIM[/FOLDER]`, or an object store's URL.
      image: of TensorFlow Serving.
      replicas, most_replicas: how many servers at least, and at most under load.
      cpu, memory: what one of them may take, as Kubernetes writes it.
      namespace: of Kubernetes' objects.
      service_account: by which a pod may read an object store; "" is the namespace's own.
    """

    model: str
    store: str
    image: str = IMAGE
    replicas: int = 2
    most_replicas: int = 6
    cpu: str = "1"
    memory: str = "2Gi"
    namespace: str = "default"
    service_account: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][-_.A-Za-z0-9]*", self.model):
            raise ServingError(
                f"got {self.model!r}; expected letters, digits, dashes, dots and underscores",
                "the model's name",
                "give one with --name",
            )
        if self.most_replicas < self.replicas:
            raise ServingError(
                f"got {self.most_replicas} replicas at most and {self.replicas} at least",
                "--max-replicas",
                "give at least as many as --replicas",
            )
        for option, quantity in (("--cpu", self.cpu), ("--memory", self.memory)):
            if not re.fullmatch(_QUANTITY, quantity):
                raise ServingError(f"got {quantity!r}; expected a quantity such as 500m or 2Gi", option)
        if _amount(self.cpu) <= 0:
            raise ServingError(f"got {self.cpu!r}; expected more than 0", "--cpu")
        if _amount(self.memory) < 2**20:  # bytes: whoever says 2 means 2Gi
            raise ServingError(f"got {self.memory!r}; expected at least 1Mi, such as 2Gi", "--memory")
        if not re.fullmatch(r"\S+", self.image):
            raise ServingError(f"got {self.image!r}; expected an image such as {IMAGE}", "--image")
        for option, name in (("--namespace", self.namespace), ("--service-account", self.service_account)):
            if not _NAME.fullmatch(name) and (name or option == "--namespace"):
                raise ServingError(f"got {name!r}; expected lowercase letters, digits and dashes", option)
        self._check_store()

    def _check_store(self) -> None:
        """Refuses a claim or a URL that cannot be one."""
        scheme, is_url, rest = self.store.partition("://")
        if not is_url:
            return
        place = rest.partition("/")[0]
        if scheme == "pvc" and not _NAME.fullmatch(place):
            raise ServingError(
                f"got {self.store!r}; expected pvc://CLAIM or pvc://CLAIM/FOLDER, with the name of a claim",
                "--store",
            )
        if scheme == "pvc" and ".." in rest.split("/"):
            raise ServingError(f"got {self.store!r}; expected a folder in the claim, without ..", "--store")
        if not place:
            raise ServingError(f"got {self.store!r}; expected {scheme}://BUCKET/FOLDER", "--store")

    @property
    def resource(self) -> str:
        """The model's name as Kubernetes allows it: names of Services begin with a letter."""
        name = re.sub(r"[^a-z0-9]+", "-", self.model.lower()).strip("-")[:50].strip("-")
        return name if name[:1].isalpha() else f"model-{name}".strip("-")

    @property
    def claim(self) -> str:
        """The persistent volume claim with the versions; "" when they are elsewhere."""
        return self.store.removeprefix("pvc://").split("/")[0] if self.store.startswith("pvc://") else ""

    @property
    def claim_folder(self) -> str:
        """The folder of the versions in the claim's volume; "" is its root."""
        return self.store.removeprefix("pvc://").partition("/")[2].strip("/") if self.claim else ""

    @property
    def is_remote(self) -> bool:
        """Whether servers read the versions over the network themselves."""
        return "://" in self.store and not self.claim

    @property
    def base_path(self) -> str:
        """Where a server finds the folder of versions."""
        return self.store if self.is_remote else f"{MODELS_FOLDER}/{self.model}"

    def folder(self) -> Path:
        """The folder of versions on this machine."""
        return Path(self.store).resolve()

    def needs_gcs(self, target: str) -> None:
        """Refuses an object store that TensorFlow Serving's image cannot read by itself."""
        if self.is_remote and not self.store.startswith("gs://"):
            raise ServingError(
                f"got {self.store!r}: TensorFlow Serving's image reads gs:// and folders",
                "--store",
                f"render for kserve, which fetches the model, or give {target} a folder that it mounts",
            )
