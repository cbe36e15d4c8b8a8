"""The source of the config, ready to be read: its pieces, its reader, and the label where it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import UserError
from components.example_gen import database, sources
from components.example_gen.config import DataConfig
from components.example_gen.derive import Expression, as_label
from components.example_gen.images.load import fact_types
from components.example_gen.readers import Piece, Reader, make_reader
from components.example_gen.survey import Survey, merge_pieces, no_column, survey_piece
from components.label import LabelSpec, find_label


@dataclass(frozen=True)
class Opened:
    """A source that can be read.

    Attributes:
      config: the `data` section, with what the label makes of it.
      inputs: the files behind it.
      pieces: what is read at a time, each by one worker.
    """

    config: DataConfig
    inputs: sources.Inputs
    reader: Reader
    pieces: list[Piece]

    def survey(self) -> Survey:
        """Looks at every cell, here and now."""
        seen = [
            survey_piece(self.reader, piece, index, self.config) for index, piece in enumerate(self.pieces)
        ]
        return merge_pieces(seen, self.pieces, self.reader)


def open_source(config: DataConfig, label: str, scratch: str) -> Opened:
    """Finds the files of a source and cuts them up.

    Args:
      config: its paths absolute.
      label: the label's column, or the expression that computes it.
      scratch: a folder in which the rows of a query are kept.

    Raises:
      UserError: when there is nothing, or nothing that can be read as one set of rows.
    """
    if not config.folder_names:
        config = config.model_copy(update={"folder_names": label})
    inputs = sources.find(config)
    reader = make_reader(config, inputs.format)
    pieces = database.keep_rows(config, scratch) if inputs.format == "sql" else reader.pieces(inputs.files)
    expression = _expression(label, reader, pieces)
    if expression:
        config = _with_label(config, expression)
        reader = make_reader(config, inputs.format)
    return Opened(_without_derived_features(config, label), inputs, reader, pieces)


def label_of(name: str, task: Any, survey: Survey, types: Mapping[str, str]) -> LabelSpec:
    """The label's task and classes.

    Raises:
      UserError: when no column is called so, or none that can be predicted.
    """
    if name not in types:
        raise no_column(name, list(types), "label")
    scan = survey.columns[name]
    values = scan.distinct_values(types[name])
    return find_label(name, types[name], values, task, lists=scan.lists, several=scan.longest > 1)


def list_columns(survey: Survey, names: Iterable[str], label: LabelSpec) -> tuple[str, ...]:
    """The columns that are written as lists: those with several values in some row, and such a label."""
    return tuple(
        name
        for name in names
        if name in survey.columns
        and (survey.columns[name].longest > 1 or (name == label.name and label.task == "multilabel"))
    )


def written_types(types: Mapping[str, str], exclude: Sequence[str]) -> dict[str, str]:
    """The columns that rows are written with: those that are not excluded, and the facts of each image."""
    kept = {name: kind for name, kind in types.items() if name not in exclude}
    for name in [name for name, kind in kept.items() if kind == "image"]:
        for fact, kind in fact_types(name).items():
            if fact in types:
                raise UserError(
                    f"the data has a column {fact!r}, as a measure of the image {name!r} is to be called",
                    where="data.columns",
                    fix="rename one of the two",
                )
            kept[fact] = kind
    return kept


def _expression(label: str, reader: Reader, pieces: Sequence[Piece]) -> Expression | None:
    """The label, where it is an expression rather than a column."""
    first = next((block for piece in pieces[:1] for block in reader.blocks(piece)), None)
    return as_label(label, first.batch.schema.names) if first else None


def _with_label(config: DataConfig, expression: Expression) -> DataConfig:
    """The `data` section with the label's column derived, and what it is made of out of the model's sight."""
    hidden = [name for name in expression.columns if name not in (*config.exclude, *config.keep)]
    return config.model_copy(
        update={
            "derive": {**config.derive, expression.text: expression.text},
            "exclude": (*config.exclude, *hidden),
        }
    )


def _without_derived_features(config: DataConfig, label: str) -> DataConfig:
    """The `data` section in which computed columns are no features: a request would not hold them."""
    kept = (label, config.weight, config.split.column, *config.keep, *config.exclude)
    hidden = [name for name in config.derive if name not in kept]
    return config.model_copy(update={"exclude": (*config.exclude, *hidden)}) if hidden else config
