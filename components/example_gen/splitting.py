"""Splitting as a whole: what the config and the data say, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.example_gen.config import DataConfig
from components.example_gen.patterns import test_of
from components.example_gen.readers import InputFile
from components.example_gen.split_config import SPLITS
from components.example_gen.split_shards import SplitPlan
from components.example_gen.splits import checks
from components.example_gen.splits.choose import ColumnFacts, choose
from components.example_gen.splits.dealers import Dealer, Onto
from components.example_gen.splits.lookahead import Lookahead
from components.example_gen.splits.straddling import Straddling
from components.example_gen.survey import Survey, no_column
from components.example_gen.tally import Tally
from components.example_gen.weights import check_weight_type, mean_weight
from components.label import LabelSpec


@dataclass(frozen=True)
class Outcome:
    """What the splits got.

    Attributes:
      account: how many rows and classes, and how they were split, a sentence each.
      notes: what a person should know of that.
      straddling: how many rows of eval and test have their content in train as well; empty: none can.
      weight_mean: mean weight of the rows of train.
    """

    account: list[str]
    notes: list[str]
    straddling: dict[str, int]
    weight_mean: float


def needed(config: DataConfig, label: LabelSpec) -> list[str]:
    """The columns without which a row is not kept."""
    return [label.name, *([config.weight] if config.weight else [])]


def not_content(config: DataConfig) -> tuple[str, ...]:
    """Columns in which equal rows may differ: those that no model sees, and the one that splits them."""
    return tuple(dict.fromkeys(filter(None, (*config.exclude, config.weight, config.split.column))))


def dealt_splits(config: DataConfig, files: Sequence[InputFile]) -> tuple[str, ...]:
    """The splits that rows are dealt to: train, and those without files of their own."""
    given = {file.split for file in files}
    return tuple(split for split in SPLITS if split == "train" or split not in given)


def choose_dealer(
    config: DataConfig, survey: Survey, types: Mapping[str, str], label: LabelSpec, dealt: Sequence[str]
) -> Dealer | Lookahead:
    """How to deal the rows, or a look at all of them that will tell.

    Raises:
      UserError: when the data cannot be split as the config says.
    """
    facts = {
        name: ColumnFacts(
            kind, survey.columns[name].distinct_values(kind), several=survey.columns[name].longest > 1
        )
        for name, kind in types.items()
    }
    if config.weight:
        if config.weight not in types:
            raise no_column(config.weight, list(types), "data.weight")
        check_weight_type(config.weight, types[config.weight], several=facts[config.weight].several)
    return choose(config.split, facts, label, dealt)


def split_plan(
    config: DataConfig,
    survey: Survey,
    label: LabelSpec,
    dealt: tuple[str, ...],
    dealer: Dealer,
    *,
    uri: str,
    scratch: str,
    shards: int,
) -> SplitPlan:
    """How rows become shards.

    Args:
      uri: of the Examples artifact.
      scratch: a folder for what is compared.
      shards: how many each split may have.
    """
    apart = not_content(config)
    together = config.split.by == "hash" and not apart and len(dealt) == len(SPLITS)
    # Texts that are split by text have nothing else to be compared by: the label alone is no content.
    alike = set(survey.columns) <= {*apart, label.name}
    return SplitPlan(
        uri=uri,
        shards=shards,
        label=label,
        unlabelled=_unlabelled(survey, label) if config.on_missing_label == "error" else 0,
        weight=config.weight,
        dealt=dealt,
        dealer=dealer if len(dealt) == len(SPLITS) else Onto(dealer, dealt),
        straddling=None if together or alike else Straddling.of(f"{scratch}/contents", survey.rows),
        not_content=apart,
    )


def _unlabelled(survey: Survey, label: LabelSpec) -> int:
    scan = survey.columns[label.name]
    if label.task == "multilabel":
        return scan.absent
    misfits = scan.misfits.get(test_of(label.type)) if scan.declared and label.type != "text" else None
    not_finite = scan.not_finite if label.type != "text" else 0
    return scan.missing + not_finite + (misfits.count if misfits else 0)


def judge(config: DataConfig, plan: SplitPlan, tally: Tally) -> Outcome:
    """What the splits got.

    Raises:
      UserError: for splits that cannot train or judge a model.
    """
    counts = checks.SplitCounts(
        tally.rows,
        tally.classes if plan.label.classes else {},
        plan.label.name,
        config.split,
        by_file=len(plan.dealt) < len(SPLITS),
        several=plan.label.task == "multilabel",
    )
    checks.check(counts)
    weight_mean = mean_weight(config.weight, tally.weights, tally.rows) if config.weight else 1.0
    found, said = {}, checks.notes(counts)
    if plan.straddling:
        found = plan.straddling.count(SPLITS)
        said += checks.straddling_notes(counts, found, plan.not_content, exact=plan.straddling.exact)
    account = checks.account(counts)
    if config.weight:
        account.append(f"weighed by {config.weight!r}, {weight_mean:.4g} on average over train")
    return Outcome(account, said, found, weight_mean)
