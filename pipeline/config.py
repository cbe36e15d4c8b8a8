"""The whole of pipeline.yaml: the sections that the components own, loaded, checked and printed."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from components.errors import UserError
from components.evaluator.config import METRICS, EvaluateConfig
from components.example_gen.config import DataConfig, SplitSources
from components.example_validator.config import ValidateConfig
from components.infra_validator.config import InfraValidateConfig
from components.pusher.config import PushConfig
from components.pusher.versions import list_versions
from components.schema_gen.config import SchemaConfig
from components.section import Section
from components.statistics_gen.config import StatisticsConfig
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.config.distill import PUSHED
from components.trainer.config.loss import misfit
from components.transform.config import CrossFeature, FeatureConfig, TransformConfig
from components.tuner.config import TuneConfig
from pipeline import overrides as command_line
from pipeline.beam import BeamConfig
from pipeline.config_problems import explain, fail, fit, near
from pipeline.config_schema import Schema
from pipeline.kubeflow.config import KubeflowConfig
from pipeline.searched import check_space
from pipeline.yaml_lines import Document, KeyPath, Problem, read

FILE_NAME = "pipeline.yaml"
SCHEMA_NAME = "schema.pbtxt"
HOME_NAME = ".headrace"
_YAML = (".yaml", ".yml")
HOME_VARIABLE = "HEADRACE_HOME"
_PUSH_SCHEMES = ("gs", "s3", "hdfs", "azfs")  # those that Beam knows


class PipelineConfig(Section):
    """A pipeline, resolved: every option has its value. Made by `load_config`."""

    name: str = Field(
        pattern=r"^[a-zA-Z0-9][-a-zA-Z0-9]*$",
        description="letters, digits and dashes; left out: the name of the project's folder",
    )
    data: DataConfig = Field(description="where the rows are, what they mean and how they are split")
    label: str = Field(min_length=1, description="the column to predict")
    task: Literal["binary", "multiclass", "multilabel", "regression"] | None = Field(
        None, description="left out: inferred from the label's values"
    )
    statistics: StatisticsConfig = Field(StatisticsConfig(), description="which statistics are computed")
    # pydantic has methods called `schema` and `validate`.
    reviewed: SchemaConfig = Field(
        SchemaConfig(), alias="schema", description="the schema that a person has reviewed"
    )
    validation: ValidateConfig = Field(
        ValidateConfig(), alias="validate", description="what the data must not do"
    )
    features: dict[str, FeatureConfig] = Field(
        default_factory=dict,
        description="column to how it becomes model input; the rest is inferred",
    )
    transform: TransformConfig = Field(TransformConfig(), description="how Transform works")
    model: ModelConfig = Field(ModelConfig(), description="what is trained")
    train: TrainConfig = Field(TrainConfig(), description="how it is trained")
    tune: TuneConfig = Field(
        TuneConfig(), description="a search for the best values of keys of model and train"
    )
    evaluate: EvaluateConfig = Field(
        EvaluateConfig(), description="what is measured, and the gate to be passed"
    )
    infra_validate: InfraValidateConfig = Field(
        InfraValidateConfig(), description="what the exported model must survive"
    )
    push: PushConfig = Field(PushConfig(), description="where blessed models go")
    beam: BeamConfig = Field(BeamConfig(), description="which engine runs the data steps")
    kubeflow: KubeflowConfig = Field(
        KubeflowConfig(), description="where and how it runs on Kubeflow Pipelines"
    )

    _project_dir: Path = PrivateAttr(default_factory=Path.cwd)
    _schema_name: str = PrivateAttr(SCHEMA_NAME)
    _home: Path | None = PrivateAttr(None)

    @property
    def project_dir(self) -> Path:
        """The absolute folder of pipeline.yaml, or of the data file when there is none."""
        return self._project_dir

    @property
    def home(self) -> Path:
        """The absolute folder of all that runs leave behind."""
        return self._home or self._project_dir / HOME_NAME

    @property
    def push_dir(self) -> Path:
        """The absolute folder of model version directories; with a URL in push.to, `push_to` says where."""
        if self.push.to is None:
            return self.home / "models" / self.name
        return _absolute(self.push.to, self._project_dir)

    @property
    def push_to(self) -> str:
        """The absolute folder, or the URL, that versions are pushed to."""
        to = self.push.to
        return to if to and _is_remote(to) else str(self.push_dir)

    @property
    def schema_file(self) -> Path:
        """Where the reviewed schema is, or would be: beside the file that the pipeline is made of."""
        return _absolute(self.reviewed.file or self._schema_name, self._project_dir)

    @property
    def located_validation(self) -> ValidateConfig:
        """The `validate` section with an absolute path."""
        log = self.validation.serving_log
        return self.validation.model_copy(update={"serving_log": log and str(self._located(log))})

    @property
    def located_data(self) -> DataConfig:
        """The `data` section with absolute paths; package:… and scheme://… stay as they are."""
        source = self.data.source
        located: str | SplitSources
        if isinstance(source, SplitSources):
            located = SplitSources(**{split: self._located(each) for split, each in source.given.items()})
        else:
            located = self._located(source)
        return self.data.model_copy(update={"source": located})

    @property
    def located_train(self) -> TrainConfig:
        """The `train` section with absolute folders of the models that it begins with and learns from."""
        begin, distill = self.train.warm_start, self.train.distill
        found: dict[str, Any] = {
            "warm_start": begin if begin in ("off", "blessed") else self._located(begin),
            "distill": distill
            and distill.model_copy(update={"teacher": str(self._teacher(distill.teacher))}),
        }
        return self.train.model_copy(update=found)

    def _teacher(self, named: str) -> str:
        """The folder of the teacher's version: the one that is named, or the newest in the folder that is."""
        base = self.push_dir if named == PUSHED else _absolute(named, self._project_dir)
        if (base / "saved_model.pb").is_file():
            return str(base)
        versions = list_versions(base) if base.is_dir() else []
        if not versions:
            raise UserError(
                f"there is no version of a model in {base}",
                where="train.distill.teacher",
                fix="push a teacher first, or name the folder of one",
            )
        return str(versions[-1])

    def _located(self, source: str) -> str:
        if source.startswith("sqlite:///"):
            return f"sqlite:///{_absolute(source.removeprefix('sqlite:///'), self._project_dir)}"
        if _is_remote(source) or source.startswith("package:"):
            return source
        return str(_absolute(source, self._project_dir))


def load_config(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    *,
    label: str | None = None,
    home: str | os.PathLike[str] | None = None,
) -> PipelineConfig:
    """Reads and checks a project's configuration.

    Args:
      path: a folder with a pipeline.yaml, a YAML file, or a data file, which needs no YAML but a label.
      overrides: options as `train.epochs=3`; values are read as YAML.
      label: the column to predict; wins over the file's.
      home: where runs leave what they leave; default: HEADRACE_HOME, else .headrace in the project's folder.

    Raises:
      UserError: something is wrong; it names every mistake (five at most) with file and line.
    """
    document, project_dir, name = _open(Path(path), label)
    config = config_of(document, project_dir, name, overrides, label=label, home=home_of(path, home))
    if Path(path).is_file() and Path(path).suffix not in _YAML:
        # Other data files in the folder have schemas of their own.
        config._schema_name = f"{name}.{SCHEMA_NAME}"
    return config


def config_of(
    document: Document,
    project_dir: Path,
    name: str,
    overrides: Sequence[str] = (),
    *,
    label: str | None = None,
    home: Path | None = None,
) -> PipelineConfig:
    """Checks a configuration that has been read; the document afterwards holds what the overrides say, too.

    Args:
      document: what stands in the file.
      project_dir: the folder that paths in it are relative to.
      name: of the pipeline, unless the document names it.
      overrides: as in `load_config`, like `label`.
      home: None: .headrace in the project's folder.

    Raises:
      UserError: as `load_config` does.
    """
    if label is not None:
        command_line.put(("label",), label, "--label", document)
    for text in overrides:
        command_line.apply(text, document)
    document.data.setdefault("name", _legal(name))
    schema = Schema(PipelineConfig.model_json_schema())
    fit(document, schema)
    try:
        config = PipelineConfig.model_validate(document.data)
    except ValidationError as error:
        fail([*document.problems, *explain(error, document, schema)])
        raise AssertionError("an error without a problem") from error
    config._project_dir = project_dir
    config._home = home
    fail(
        [
            *document.problems,
            *(Problem(document.place(path), path, text) for path, text in _cross_check(config, schema)),
        ]
    )
    return config


def home_of(path: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """The absolute folder of all that the runs of a project leave behind; no file is read for it.

    Args:
      path: as `load_config` takes it, or that folder itself.
      home: wins over HEADRACE_HOME, which wins over .headrace in the project's folder.

    Raises:
      UserError: it depends on `path`, and there is no such thing.
    """
    path = Path(os.path.abspath(path))
    if path.name == HOME_NAME:
        return path
    moved = home or os.environ.get(HOME_VARIABLE)
    if moved:
        return _absolute(moved, Path.cwd())
    if not path.exists():
        raise UserError(f"{path} does not exist", fix="give the project's folder, or --home DIR")
    return (path if path.is_dir() else path.parent) / HOME_NAME


def dump(config: PipelineConfig) -> str:
    """The resolved configuration as YAML, which loads to an equal one."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = 110
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_short_lists(config.model_dump(mode="json")), stream)
    return stream.getvalue()


def json_schema() -> dict[str, Any]:
    """The JSON Schema of pipeline.yaml, for editors and for the reference."""
    schema = PipelineConfig.model_json_schema()
    schema["required"] = [name for name in schema["required"] if name != "name"]  # load_config knows one
    schema.pop("description", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": FILE_NAME}


def _open(path: Path, label: str | None) -> tuple[Document, Path, str]:
    """The document, the project's folder and the name that a path stands for."""
    if path.is_dir():
        file = path / FILE_NAME
        if not file.is_file():
            raise UserError(
                f"no {FILE_NAME} in {path}", fix="make one with `headrace init data.csv --label COLUMN`"
            )
    elif path.is_file():
        file = path
    else:
        raise UserError(f"{path} does not exist", fix=f"give a folder with a {FILE_NAME}, or a data file")
    folder = Path(os.path.abspath(file)).parent
    if file.suffix in _YAML:
        return _read(file), folder, folder.name
    if label is None:
        raise UserError(
            "the column to predict is missing",
            where=str(path),
            fix=f"add --label COLUMN, or name a {FILE_NAME}",
        )
    return Document(str(path), {"data": {"source": path.name}}), folder, path.name.split(".", 1)[0]


def _read(file: Path) -> Document:
    try:
        return read(file.read_bytes(), str(file))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file)) from None


def _legal(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-") or "pipeline"


def _absolute(path: str | os.PathLike[str], base: Path) -> Path:
    return Path(os.path.abspath(base / Path(path).expanduser()))


def _is_remote(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None


def _cross_check(config: PipelineConfig, schema: Schema) -> Iterator[tuple[KeyPath, str]]:
    """What no section can see by itself: the option's path, and what is wrong."""
    for index, column in enumerate(config.data.exclude):
        if column == config.label:
            yield ("data", "exclude", index), f"{column!r} is the label and cannot be excluded"
    for column in config.data.separate:
        if column != config.label:
            text = "only the label's cells are parted: a request holds a feature's text as it is"
            yield ("data", "separate", column), text
    if config.data.weight == config.label:
        yield ("data", "weight"), f"{config.label!r} is the label and cannot be the weight"
    excluded = set(config.data.exclude)
    for index, columns in enumerate(config.statistics.slices):
        for column in excluded.intersection(columns):
            yield ("statistics", "slices", index), f"{column!r} is excluded by data.exclude"
    for column in excluded.intersection(config.validation.drift_threshold.columns):
        path: KeyPath = ("validate", "drift_threshold", "columns", column)
        yield path, "is excluded by data.exclude; take it out of one of the two"
    for column, feature in config.features.items():
        if isinstance(feature, CrossFeature):
            for index, part in enumerate(feature.of):
                if part in (config.label, config.data.weight) or part in config.data.exclude:
                    yield ("features", column, "of", index), f"{part!r} is the label, the weight or excluded"
        if column == config.label:
            yield ("features", column), "is the label and cannot be a feature"
        elif column == config.data.weight:
            yield ("features", column), "is the weight of the rows and cannot be a feature"
        elif column in config.data.exclude:
            yield ("features", column), "is excluded by data.exclude; take it out of one of the two"
    unfit = misfit(config.train.loss, config.task) if config.task else ""
    if unfit:
        yield ("train", "loss"), unfit
    for metric in config.evaluate.gate or ():
        known = METRICS[config.task] if config.task else sorted(set().union(*METRICS.values()))
        if metric not in known:
            of = f" of task {config.task}" if config.task else ""
            text = f"not a metric{of}{near(metric, known) or '; known: ' + ', '.join(known)}"
            yield ("evaluate", "gate", metric), text
    to = config.push.to or ""
    if _is_remote(to) and to.partition("://")[0] not in _PUSH_SCHEMES:
        begins = ", ".join(f"{scheme}://" for scheme in _PUSH_SCHEMES)
        yield ("push", "to"), f"expected a folder, or a URL that begins with {begins}; received {to!r}"
    yield from check_space(config, schema)
    named: tuple[tuple[KeyPath, str | None], ...] = (
        (("model", "build"), config.model.build),
        (("transform", "function"), config.transform.function),
    )
    for place, dotted in named:
        module = (dotted or "").rpartition(".")[0].replace(".", "/")
        folder = config.project_dir
        there = (folder / f"{module}.py").is_file() or (folder / module / "__init__.py").is_file()
        if dotted and not there:
            yield place, f"there is no {module}.py in {folder}"


class _Representer(RoundTripRepresenter):
    """Writes `null` out; leaving it empty reads as if something had been forgotten."""

    def _null(self, _: None) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")


_Representer.add_representer(type(None), _Representer._null)


def _short_lists(value: Any) -> Any:
    """The same value, its innermost lists on one line each: [128, 64]."""
    if isinstance(value, dict):
        return {key: _short_lists(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    items = CommentedSeq(_short_lists(each) for each in value)
    if not any(isinstance(each, dict | list) for each in value):
        items.fa.set_flow_style()
    return items
