"""The files that TensorFlow Serving is configured with, read as it reads them: protocol buffers as text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serving.batching import BatchingParameters
from serving.errors import ServingError
from serving.spec import ModelConfig, VersionPolicy
from serving.status import StatusError, invalid

METRICS_PATH = "/monitoring/prometheus/metrics"
_PLATFORM = "tensorflow"
_WRAPPERS = "google/protobuf/wrappers.proto"

# The messages of TensorFlow Serving that no package publishes: field to its number and type.
_BATCHING: dict[str, tuple[int, str]] = {
    "max_batch_size": (1, "Int64Value"),
    "batch_timeout_micros": (2, "Int64Value"),
    "max_enqueued_batches": (3, "Int64Value"),
    "num_batch_threads": (4, "Int64Value"),
    "thread_pool_name": (5, "StringValue"),
    "allowed_batch_sizes": (6, "repeated int64"),
    "pad_variable_length_inputs": (7, "bool"),
    "enable_large_batch_splitting": (8, "BoolValue"),
}
_AT_LEAST_ONE = ("max_batch_size", "max_enqueued_batches", "num_batch_threads")


def read_models(path: Path) -> list[ModelConfig]:
    """The models of a `models.config`, a ModelServerConfig; raises ServingError when it is not valid."""
    from tensorflow_serving.config import model_server_config_pb2

    message = model_server_config_pb2.ModelServerConfig()
    _parse(path, message)
    try:
        configs = models_of(message) if message.WhichOneof("config") else []
    except StatusError as error:
        raise ServingError(error.message, str(path), "see docs/serving.md for an example") from error
    if not configs:
        raise ServingError(
            "it lists no model",
            str(path),
            'write model_config_list { config { name: "taxi" base_path: "/models/taxi" '
            'model_platform: "tensorflow" } }',
        )
    return configs


def models_of(message: Any) -> list[ModelConfig]:
    """The models of a ModelServerConfig message, or TensorFlow Serving's error."""
    if message.WhichOneof("config") != "model_config_list":
        raise invalid(
            "ServerModelConfig type not supported by HandleReloadConfigRequest. "
            "Only ModelConfigList is currently supported"
        )
    configs: list[ModelConfig] = []
    for config in message.model_config_list.config:
        if not config.name:
            raise invalid("a model has no name")
        if any(config.name == other.name for other in configs):
            raise invalid(f"Illegal to list model {config.name} multiple times in config list")
        _check_platform(config)
        if not Path(config.base_path).is_absolute():
            raise invalid(
                f"Expected model {config.name} to have an absolute path; got base_path()={config.base_path}"
            )
        sampling = config.logging_config.sampling_config.sampling_rate
        if not 0 <= sampling <= 1:
            raise invalid(f"model {config.name}: got sampling_rate {sampling:g}; expected 0 to 1")
        configs.append(
            ModelConfig(
                config.name,
                Path(config.base_path),
                _policy(config.name, config.model_version_policy),
                tuple(sorted(config.version_labels.items())),
                sampling if config.HasField("logging_config") else None,
            )
        )
    return configs


def read_batching(path: Path, threads: int) -> BatchingParameters:
    """A batching parameters file; `threads` are used where it does not say how many."""
    message = _message("BatchingParameters")()
    _parse(path, message)
    given = {
        name: getattr(message, name).value
        for name, (_, kind) in _BATCHING.items()
        if kind.endswith("Value") and message.HasField(name)
    }
    for name in _AT_LEAST_ONE:
        if given.get(name, 1) < 1:
            raise ServingError(f"{name}: got {given[name]}; expected 1 or more", str(path))
    sizes = tuple(message.allowed_batch_sizes)
    known = {name: given[name] for name in _AT_LEAST_ONE if name in given}
    parameters = BatchingParameters(allowed_batch_sizes=sizes, **{"num_batch_threads": threads, **known})
    if sizes and (list(sizes) != sorted(set(sizes)) or sizes[-1] != parameters.max_batch_size):
        raise ServingError(
            f"allowed_batch_sizes: got {list(sizes)}; expected increasing sizes that end with "
            f"max_batch_size ({parameters.max_batch_size})",
            str(path),
        )
    return parameters


def read_monitoring(path: Path) -> str:
    """Where a monitoring config file puts the metrics; "" when it turns them off."""
    message = _message("MonitoringConfig")()
    _parse(path, message)
    prometheus = message.prometheus_config
    if not prometheus.enable:
        return ""
    where = prometheus.path or METRICS_PATH
    if not where.startswith("/"):
        raise ServingError(f"prometheus_config path: got {where!r}; expected it to begin with /", str(path))
    return str(where)


def _parse(path: Path, message: Any) -> None:
    from google.protobuf import text_format

    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read it: {error}", str(path)) from error
    except text_format.ParseError as error:
        raise ServingError(
            f"not a valid {message.DESCRIPTOR.name}: {error}", str(path), "mend that line"
        ) from error


def _check_platform(config: Any) -> None:
    if config.model_type and config.model_platform:
        raise invalid("Illegal setting both model_type(deprecated) and model_platform.")
    platform = config.model_platform or {0: "", 1: _PLATFORM}.get(config.model_type, "other")
    if not platform:
        raise invalid(
            f"Illegal setting neither model_type(deprecated) nor model_platform: model {config.name}"
        )
    if platform != _PLATFORM:
        raise invalid(f"Model {config.name} requests unsupported platform {platform}")


def _policy(name: str, message: Any) -> VersionPolicy:
    kind = message.WhichOneof("policy_choice")
    if kind == "all":
        return VersionPolicy("all")
    if kind == "specific":
        if not message.specific.versions:
            raise invalid(f"model {name}: the specific version policy lists no version")
        return VersionPolicy("specific", versions=tuple(sorted(set(message.specific.versions))))
    return VersionPolicy("latest", message.latest.num_versions or 1)


def _message(name: str) -> Callable[[], Any]:
    """The class of a message that no package publishes, from a private pool."""
    return _messages()[name]


@functools.cache
def _messages() -> dict[str, Callable[[], Any]]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

    file = descriptor_pb2.FileDescriptorProto(
        name="headrace/serving_config.proto",
        package="tensorflow.serving",
        dependency=[_WRAPPERS],
        syntax="proto3",
    )
    _add(file, "BatchingParameters", _BATCHING)
    _add(file, "PrometheusConfig", {"enable": (1, "bool"), "path": (2, "string")})
    _add(file, "MonitoringConfig", {"prometheus_config": (1, "PrometheusConfig")})
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    names = [message.name for message in file.message_type]
    descriptors = {name: pool.FindMessageTypeByName(f"tensorflow.serving.{name}") for name in names}
    factory: Any = message_factory  # GetMessageClass came with protobuf 4, GetPrototype went with 5
    return {
        name: factory.GetMessageClass(found)
        if hasattr(factory, "GetMessageClass")
        else factory.MessageFactory(pool).GetPrototype(found)
        for name, found in descriptors.items()
    }


def _add(file: Any, name: str, fields: dict[str, tuple[int, str]]) -> None:
    message = file.message_type.add(name=name)
    scalars = {"bool": 8, "string": 9, "int64": 3}  # FieldDescriptorProto.Type
    for field, (number, kind) in fields.items():
        added = message.field.add(name=field, number=number, label=3 if "repeated" in kind else 1)
        kind = kind.removeprefix("repeated ")
        if kind in scalars:
            added.type = scalars[kind]
        else:
            package = "google.protobuf" if kind.endswith("Value") else "tensorflow.serving"
            added.type, added.type_name = 11, f".{package}.{kind}"
