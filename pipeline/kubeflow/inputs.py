"""What goes into the spec from this machine: sections of the config and the user's code, but no data."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path, PurePosixPath

from components.errors import UserError
from components.example_gen.config import SplitSources
from pipeline.code import UserCode, keep_user_code
from pipeline.config import PipelineConfig
from pipeline.inputs import RunInputs
from pipeline.kubeflow.container import INLINE
from pipeline.kubeflow.mounts import has_name, is_object
from pipeline.reviewed_schema import reviewed_text

# Bytes of an archive: with all else that a task gets it goes into one argument, and Linux takes 128 KiB.
_MOST_CODE = 64 * 1024
_PATTERN = re.compile(r"[*?\[{]")


def gather(config: PipelineConfig) -> RunInputs:
    """The user's code and the reviewed schema; the data is looked at where it is, in every run.

    Raises:
      UserError: something is not there, or can only be reached from this machine.
    """
    check_reachable(config)
    return RunInputs(
        fingerprint="",
        user_code={
            "trainer": _inline(keep_user_code(config.project_dir, config.model.build, config.home)),
            "transform": _inline(keep_user_code(config.project_dir, config.transform.function, config.home)),
        },
        reviewed_schema=reviewed_text(config),
    )


def _inline(code: UserCode) -> UserCode:
    if not code.uri:
        return code
    archive = Path(code.uri).read_bytes()
    if len(archive) > _MOST_CODE:
        raise UserError(
            f"your code is {len(archive):,} bytes as an archive, a spec takes {_MOST_CODE:,}",
            where=", ".join(path for path, _ in code.files[:5]),
            fix="keep data out of the .py files, or put large modules into the image",
        )
    return replace(code, uri=INLINE + base64.b64encode(archive).decode())


def source_of(config: PipelineConfig) -> tuple[str, str]:
    """The source as the run's parameter `data_source`, and the pattern inside it; empty for one per split.

    >>> source_of(...)  # data.source: s3://rides/day-{SPAN}/*.csv
    ("s3://rides", "day-{SPAN}/*.csv")
    """
    source = config.located_data.source
    if isinstance(source, SplitSources):
        return "", ""
    if not is_object(source) or not _PATTERN.search(source):
        return source, ""
    scheme, _, path = source.partition("://")
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if _PATTERN.search(part))
    return f"{scheme}://{'/'.join(parts[:first])}", "/".join(parts[first:])


def check_reachable(config: PipelineConfig) -> None:
    """Refuses paths that only this machine has: a pod has its image, objects that are fetched, and claims.

    Raises:
      UserError: for the first such path.
    """
    source = config.located_data.source
    named = (
        {f"data.source.{split}": each for split, each in source.given.items()}
        if isinstance(source, SplitSources)
        else {"data.source": source}
    )
    for where, each in named.items():
        if isinstance(source, SplitSources) and is_object(each):
            raise UserError(
                f"{each} cannot be fetched: of object storage a pod gets one source",
                where=where,
                fix="name the folder that holds train/, eval/ and test/ as data.source",
            )
        _check(each.removeprefix("sqlite:///"), where, config, "ExampleGen")
    fetched, inside = source_of(config)
    if is_object(fetched) and not has_name(fetched):
        bucket = fetched.rstrip("/")
        raise UserError(
            f"{bucket} is a whole bucket, of which the launcher fetches nothing",
            where="data.source",
            fix=f"put the data into a folder of the bucket, such as {bucket}/data/{inside}".rstrip("/"),
        )
    if config.validation.serving_log:
        log = str(config.located_validation.serving_log)
        if is_object(log):
            raise UserError(
                f"{log} is not a file in a pod", where="validate.serving_log", fix="put it on a claim"
            )
        _check(log, "validate.serving_log", config, "ExampleValidator")
    train = config.located_train
    if train.warm_start not in ("off", "blessed"):
        _check(train.warm_start, "train.warm_start", config, "Trainer")
    if train.warm_start == "blessed" and not keep_of(config):
        raise UserError(
            "there is no place where blessed models are kept",
            where="train.warm_start",
            fix="set kubeflow.keep",
        )
    if train.distill:
        _check(train.distill.teacher, "train.distill.teacher", config, "Trainer")
    if config.push.to:
        _check(str(config.push_dir), "push.to", config, "Pusher")
    keep = config.kubeflow.keep
    for step in ("ExampleValidator", "Trainer", "Evaluator") if keep else ():
        _check(str(keep), "kubeflow.keep", config, step)


def keep_of(config: PipelineConfig) -> str:
    """Where what the next run needs is kept; empty: nowhere."""
    if config.kubeflow.keep:
        return config.kubeflow.keep
    return f"{config.push_dir}/.headrace" if config.push.to else ""


def _check(path: str, where: str, config: PipelineConfig, step: str) -> None:
    if not path.startswith("/"):
        return
    mounts = [claim.mount for claim in config.kubeflow.pod(step).claims]
    if not any(PurePosixPath(path).is_relative_to(mount) for mount in mounts):
        raise UserError(
            f"{path} is a path on this machine, which no pod of {step} sees",
            where=where,
            fix="put it into object storage (s3://, gs://, minio://), or on a claim of kubeflow.claims",
        )
