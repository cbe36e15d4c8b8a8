"""The column that says how much each row counts."""

from __future__ import annotations

from collections.abc import Mapping

from components.errors import UserError


def check_weight_type(name: str, kind: str, *, several: bool) -> None:
    """Refuses a weight that is no number.

    Raises:
      UserError: for a column of another type, or of lists.
    """
    if several:
        raise UserError(
            f"a row has several values of {name!r}",
            where="data.weight",
            fix="name a column with one value a row",
        )
    if kind not in ("integer", "float"):
        raise UserError(
            f"the column is {kind}; a weight must be a number, 0 or more",
            where=f"data.weight: {name}",
            fix=f"name another column, or declare its type: data.columns: {{{name}: float}}",
        )


def mean_weight(name: str, weights: Mapping[str, float], rows: Mapping[str, int]) -> float:
    """The mean over train.

    Args:
      name: the column.
      weights: split to the sum of its weights.
      rows: split to its number of rows, which is not 0.

    Raises:
      UserError: when the rows of a split all weigh nothing.
    """
    for split, weight in weights.items():
        if not weight > 0:
            raise UserError(
                f"all {rows[split]:,} rows of {split} have the weight 0, so that nothing in it counts",
                where=f"data.weight: {name}",
                fix="give some of its rows a weight, or split otherwise",
            )
    return weights["train"] / rows["train"]
