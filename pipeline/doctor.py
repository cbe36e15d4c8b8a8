"""What this machine and this installation are, and what to mend: one small function a check.

Nothing here imports TensorFlow: versions come from the installed metadata. Only `look_deep` imports it,
in a process of its own.
"""

from __future__ import annotations

import importlib.metadata as metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

OK: Literal["ok"] = "ok"
FIX: Literal["fix"] = "fix"
NOTE: Literal["note"] = "note"

MIN_DISK_GIB = 5.0
MIN_MEMORY_GIB = 4.0
CURRENT_STACK_GLIBC = (2, 39)
SETUP = "make setup"
# The libraries whose versions decide what works, in the order in which they build on each other.
LIBRARIES = (
    "tensorflow", "keras", "apache-beam", "ml-metadata", "tensorflow-data-validation", "tensorflow-transform",
    "tensorflow-model-analysis", "tfx",
)  # fmt: skip
_GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was looked at, how it is, what was found, and for `fix` what to do."""

    name: str
    state: Literal["ok", "fix", "note"]
    found: str
    fix: str = ""


def python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if (3, 10) <= sys.version_info[:2] < (3, 14):
        return Finding("python", OK, found)
    return Finding("python", FIX, f"{found}; TFX has wheels for 3.10 to 3.13 only", SETUP)


def stack() -> Finding:
    """Which of the two stacks this is, and whether the host could run the other one."""
    current = sys.version_info >= (3, 11)
    found = f"{'current' if current else 'older'} (Python {platform.python_version()})"
    glibc = _glibc()
    if glibc is None:
        if sys.platform != "linux":
            return Finding(
                "stack", OK if current else FIX, f"{found} on {platform.platform()}", "" if current else SETUP
            )
        return Finding("stack", FIX, f"{found}, but this Linux has no glibc", "use a Debian or Ubuntu image")
    version = ".".join(map(str, glibc))
    if glibc >= CURRENT_STACK_GLIBC:
        if current:
            return Finding("stack", OK, f"{found}: glibc {version} is 2.39 or newer")
        return Finding(
            "stack", NOTE, f"{found}, though glibc {version} can run the current one: rm -r .venv; {SETUP}"
        )
    if current:
        return Finding("stack", FIX, f"{found}, but its wheels need glibc 2.39 and this is {version}", SETUP)
    return Finding(
        "stack", OK, f"{found}: glibc {version} is older than 2.39, which the current stack's wheels need"
    )


def libraries() -> Iterator[Finding]:
    """The installed versions against those that headrace's own metadata asks for."""
    try:
        wanted = [Requirement(text) for text in metadata.requires("headrace") or []]
    except metadata.PackageNotFoundError:
        yield Finding("headrace", FIX, "not installed in this Python", SETUP)
        return
    specifiers = {r.name: r.specifier for r in wanted if r.marker is None or r.marker.evaluate()}
    for name in LIBRARIES:
        installed = _version(name)
        specifier = specifiers.get(name, SpecifierSet())
        if installed is None:
            yield Finding(name, FIX, f"missing, and headrace needs {name}{specifier}", SETUP)
        elif not specifier.contains(installed, prereleases=True):
            yield Finding(name, FIX, f"{installed}, and headrace needs {specifier}", SETUP)
        else:
            yield Finding(name, OK, installed)


def keras_in_effect() -> Iterator[Finding]:
    """Keras must be 3, on TensorFlow: environment variables and ~/.keras can say otherwise."""
    version = _version("keras") or "missing"
    if not version.startswith("3."):
        yield Finding("keras version", FIX, f"{version}, and headrace's models are Keras 3", SETUP)
    backend = _keras_backend()
    if backend == ("tensorflow", ""):
        yield Finding("keras backend", OK, "tensorflow")
    elif backend[0] == "tensorflow":
        yield Finding("keras backend", OK, f"tensorflow ({backend[1]})")
    elif backend[1] == "KERAS_BACKEND":
        yield Finding("keras backend", FIX, f"{backend[0]!r}, by KERAS_BACKEND", "unset KERAS_BACKEND")
    else:
        yield Finding(
            "keras backend",
            FIX,
            f"{backend[0]!r}, by {backend[1]}",
            f'set "backend": "tensorflow" in {backend[1]}',
        )
    legacy = os.environ.get("TF_USE_LEGACY_KERAS", "")
    if legacy.lower() in ("1", "true"):
        yield Finding(
            "legacy keras",
            NOTE,
            f"TF_USE_LEGACY_KERAS={legacy} makes tf.keras Keras 2; headrace uses `import keras`, which stays "
            "Keras 3, and so should your own code",
        )


def undeclared() -> Iterator[Finding]:
    """What the libraries import without declaring it."""
    needs = [("tensorboard", "tensorboard", "the Keras TensorBoard callback")]
    if sys.version_info < (3, 11):
        needs += [("dill", "dill", "tensorflow_transform"), ("pkg_resources", "setuptools<81", "tfx 1.16")]
    for module, package, user in needs:
        if importlib.util.find_spec(module) is None:
            yield Finding(module, FIX, f"missing, and {user} needs it ({package})", SETUP)
        else:
            yield Finding(
                module, OK, f"{package.partition('<')[0]} {_version(package.partition('<')[0]) or ''}".strip()
            )


def bytecode() -> Finding:
    """Without compiled bytecode, each import of TensorFlow and TFX compiles it: three times slower."""
    missing = []
    for name in ("tensorflow", "keras", "apache_beam", "tfx"):
        spec = importlib.util.find_spec(name)
        if spec and spec.origin and not os.path.exists(importlib.util.cache_from_source(spec.origin)):
            missing.append(name)
    if not missing:
        return Finding("bytecode", OK, "compiled")
    site = (
        Path(str(metadata.distribution("tensorflow").locate_file("")))
        if _version("tensorflow")
        else Path(sys.prefix)
    )
    return Finding(
        "bytecode", FIX, f"{', '.join(missing)} not compiled: imports take three times as long",
        f"{sys.executable} -m compileall -q {site}",
    )  # fmt: skip


def disk() -> Finding:
    free = shutil.disk_usage(".").free / _GIB
    if free >= MIN_DISK_GIB:
        return Finding("disk", OK, f"{free:.1f} GiB free here")
    return Finding(
        "disk",
        FIX,
        f"{free:.1f} GiB free here; runs keep every artifact",
        f"make room: {MIN_DISK_GIB:.0f} GiB",
    )


def memory() -> Finding:
    available = _memory_available()
    if available is None:
        return Finding("memory", NOTE, "this system does not say how much is available")
    found = f"{available / _GIB:.1f} GiB available"
    if available / _GIB >= MIN_MEMORY_GIB:
        return Finding("memory", OK, found)
    return Finding("memory", FIX, found, f"free some: a run takes up to {MIN_MEMORY_GIB:.0f} GiB")


def cpus() -> Finding:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("cpus", OK, str(count))


def gpu() -> Finding:
    """What the driver says; whether TensorFlow can use it, only --deep can tell."""
    cards = _gpus()
    if not cards:
        return Finding("gpu", NOTE, "no NVIDIA driver seen: training uses the CPU")
    if _version("nvidia-cudnn-cu12") is None and sys.platform == "linux":
        return Finding(
            "gpu", NOTE,
            f"{', '.join(cards)}; TensorFlow's CUDA libraries are not installed here (--deep tells "
            f"whether the system's serve): uv pip install 'tensorflow[and-cuda]=={_version('tensorflow')}'",
        )  # fmt: skip
    return Finding("gpu", OK, ", ".join(cards))


def compiler() -> Finding:
    found = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if found:
        return Finding("c++ compiler", OK, found)
    return Finding(
        "c++ compiler", NOTE, "none: only `make setup` needs one, for packages built from source (apt: g++)"
    )


def java() -> Finding:
    found = shutil.which("java")
    if found:
        return Finding("java", OK, found)
    return Finding("java", NOTE, "none: only the Flink and Spark runners need one")


CHECKS: tuple[Callable[[], Finding | Iterator[Finding]], ...] = (
    python, stack, libraries, keras_in_effect, undeclared, bytecode, disk, memory, cpus, gpu, compiler, java,
)  # fmt: skip


def look() -> Iterator[Finding]:
    """All quick checks."""
    for check in CHECKS:
        found = check()
        yield from [found] if isinstance(found, Finding) else found


def look_deep(timeout: float = 300) -> Iterator[Finding]:
    """Imports the libraries in another process and tries them."""
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    program = "from pipeline.doctor import probe; probe()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield Finding(
            "imports", FIX, f"no answer in {timeout:.0f} s", "look at the load and the memory of this machine"
        )
        return
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    for answer in answers:
        yield Finding(**json.loads(answer))
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
        yield Finding("imports", FIX, f"the process ended with {done.returncode}: {last[0]}", SETUP)


def probe() -> None:
    """Runs in the process of `look_deep`: a line of JSON a finding."""

    def devices() -> str:
        import tensorflow as tf

        return ", ".join(d.name.removeprefix("/physical_device:") for d in tf.config.list_physical_devices())

    def keras_model() -> str:
        import keras

        if keras.__version__ != _version("keras") or keras.backend.backend() != "tensorflow":
            raise RuntimeError(f"`import keras` gives {keras.__version__} on {keras.backend.backend()}")
        keras.Sequential([keras.layers.Dense(1)])(keras.ops.zeros((1, 2)))
        return f"{keras.__version__} on {keras.backend.backend()}, and a layer computes"

    def store() -> str:
        from ml_metadata.metadata_store import metadata_store
        from ml_metadata.proto import metadata_store_pb2

        pb: Any = metadata_store_pb2  # generated, without types
        config = pb.ConnectionConfig()
        config.fake_database.SetInParent()
        db = metadata_store.MetadataStore(config)
        id_ = db.put_artifact_type(pb.ArtifactType(name="Doctor"))
        db.put_artifacts([pb.Artifact(type_id=id_, uri="memory")])
        if [a.uri for a in db.get_artifacts_by_type("Doctor")] != ["memory"]:
            raise RuntimeError("an artifact that was put could not be got")
        return "a store in memory keeps an artifact"

    def tfx_libraries() -> str:
        for module in ("tensorflow_data_validation", "tensorflow_model_analysis", "tensorflow_transform"):
            importlib.import_module(module)
        from tfx import v1

        return f"tfx {v1.__version__}, with its libraries"

    # Keras before TFX, as tensorflow_transform sets TF_USE_LEGACY_KERAS for its process.
    probes: dict[str, Callable[[], str]] = {
        "tensorflow devices": devices, "keras works": keras_model, "ml-metadata works": store,
        "tfx imports": tfx_libraries,
    }  # fmt: skip
    for name, function in probes.items():
        finding: dict[str, Any]
        try:
            finding = {"name": name, "state": OK, "found": function()}
        except Exception as error:
            finding = {"name": name, "state": FIX, "found": f"{type(error).__name__}: {error}", "fix": SETUP}
        print(json.dumps(finding), flush=True)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _glibc() -> tuple[int, int] | None:
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError, AttributeError):
        return None
    parts = name.removeprefix("glibc ").split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) >= 2 else None


def _keras_backend() -> tuple[str, str]:
    """The backend that Keras will take, and what says so; the same order as Keras reads them."""
    if os.environ.get("KERAS_BACKEND"):
        return os.environ["KERAS_BACKEND"], "KERAS_BACKEND"
    file = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "keras.json"
    try:
        return str(json.loads(file.read_text())["backend"]), str(file)
    except (OSError, ValueError, KeyError, TypeError):
        return "tensorflow", ""


def _memory_available() -> int | None:
    """What the kernel says, or what the container's limit leaves if that is less."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kernel = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    try:
        group = Path("/sys/fs/cgroup")
        left = int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    except (OSError, ValueError):  # no cgroup v2, or "max"
        return kernel
    return min(kernel, left)


def _gpus() -> list[str]:
    """Names of the NVIDIA GPUs that the driver lists."""
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    models = [
        line.partition(":")[2].strip()
        for f in files
        for line in f.read_text().splitlines()
        if line.startswith("Model")
    ]
    if models or not shutil.which("nvidia-smi"):
        return models
    try:  # where the driver lives outside, as in WSL
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split("\n")[:-1]
