"""The feature plan: which raw column becomes which model inputs, and why."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from components.label import LabelSpec
from components.transform.config import CrossFeature, FeatureConfig

PLAN_FILE = "plan.json"


class ModelInput(BaseModel):
    """One tensor that the model gets.

    Attributes:
      name: its name among the transformed features.
      size: for ids, how many there are (int64 from 0); for numbers (float32) and pixels, 0.
      length: values a row; more than one id is a sequence, in which 0 is padding.
      image: height, width and channels of pixels 0 to 255, whose product is the length; None for
        what is no image.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    size: int = 0
    length: int = 1
    image: tuple[int, int, int] | None = None

    @property
    def dtype(self) -> str:
        """As transformed, [batch, length]: int64 for ids and pixels, float32 for numbers."""
        return "int64" if self.size or self.image else "float32"

    @property
    def model_dtype(self) -> str:
        """As the model gets it: pixels as uint8, the rest as transformed."""
        return "uint8" if self.image else self.dtype

    @property
    def model_shape(self) -> tuple[int, ...]:
        """Of a row as the model gets it: an image's height, width and channels, else the length."""
        return self.image or (self.length,)


class PlannedFeature(BaseModel):
    """One raw column, or a cross of several, and what becomes of it."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    config: FeatureConfig
    why: str
    inputs: tuple[ModelInput, ...] = ()


class RowWeight(BaseModel):
    """The column that says how much each row counts.

    Attributes:
      column: its name.
      input: its name among the transformed features: float32 [batch, 1], 1 on average.
      mean: over train, before it is divided by that.
    """

    model_config = ConfigDict(frozen=True)

    column: str
    input: str
    mean: float


class FeaturePlan(BaseModel):
    """All columns, the label and the weight; kept as plan.json in the TransformGraph artifact.

    Attributes:
      label: what is predicted.
      label_input: the label's name among the transformed features.
      features: every column but the label and the weight, and the crosses.
      types: each raw column's type, those of the label and of the weight included.
      own: model inputs that the user's preprocessing_fn makes; empty when there is none.
      lists: the columns of which a row may have several values.
      weight: how much each row counts; None when all count the same.
      materialized: whether Transform has written the transformed examples.
      raw_graph: where the graph is that is yet to be applied to the raw examples; None: they are
        transformed. `load` sets it.
    """

    model_config = ConfigDict(frozen=True)

    label: LabelSpec
    label_input: str
    features: tuple[PlannedFeature, ...]
    types: dict[str, str]
    own: tuple[ModelInput, ...] = ()
    lists: tuple[str, ...] = ()
    weight: RowWeight | None = None
    materialized: bool = True
    raw_graph: str | None = Field(None, exclude=True)

    @property
    def weight_input(self) -> str | None:
        """The weight's name among the transformed features; None when there is none."""
        return self.weight.input if self.weight else None

    @property
    def known_later(self) -> tuple[str, ...]:
        """The raw columns that a request need not have: the label, and the weight if there is one."""
        return (self.label.name, self.weight.column) if self.weight else (self.label.name,)

    @property
    def used(self) -> tuple[PlannedFeature, ...]:
        """The columns that reach the model."""
        return tuple(feature for feature in self.features if feature.config.kind != "drop")

    @property
    def dropped(self) -> tuple[PlannedFeature, ...]:
        """The columns that do not."""
        return tuple(feature for feature in self.features if feature.config.kind == "drop")

    @property
    def inputs(self) -> tuple[ModelInput, ...]:
        """Every tensor that the model gets."""
        return self.own or tuple(tensor for feature in self.used for tensor in feature.inputs)

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that the model's inputs are made of."""
        if self.own:
            return tuple(name for name in self.types if name not in self.known_later)
        needed = {
            name
            for feature in self.used
            for name in (feature.config.of if isinstance(feature.config, CrossFeature) else (feature.name,))
        }
        return tuple(name for name in self.types if name in needed)

    def save(self, graph_uri: str) -> None:
        from tfx.dsl.io import fileio

        with fileio.open(f"{graph_uri}/{PLAN_FILE}", "w") as stream:
            stream.write(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, graph_uri: str) -> FeaturePlan:
        from tfx.dsl.io import fileio

        with fileio.open(f"{graph_uri}/{PLAN_FILE}") as stream:
            plan = cls.model_validate_json(stream.read())
        return plan if plan.materialized else plan.model_copy(update={"raw_graph": graph_uri})


def input_name(column: str) -> str:
    """The name of the transformed column; Keras allows no slash in it."""
    return f"{column.replace('%', '%25').replace('/', '%2F')}_xf"


def bucket_name(column: str) -> str:
    """The name of the column's quantile bucket; no other transformed column can be called that."""
    return f"{input_name(column)}_bucket"


def missing_name(column: str) -> str:
    """The name of the column's indicator of a missing value."""
    return f"{input_name(column)}_missing"


def count_name(column: str) -> str:
    """The name of the column's number of values, where a row has several."""
    return f"{input_name(column)}_count"


def tokens_name(column: str) -> str:
    """The name of the column's number of tokens."""
    return f"{input_name(column)}_tokens"
