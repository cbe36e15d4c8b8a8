"""Look at what each split got, before anything is learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.errors import UserError, cut
from components.example_gen.split_config import SplitConfig
from components.example_gen.splits.apportion import apportion, rarest_first

# With fewer rows a split says little. What each decides:
_FEW_TO_DECIDE = 50
_DECIDES = {
    "eval": "when training stops and which epoch is best",
    "test": "whether the model passes the gate",
}
_SHOWN = 5
# A class with a smaller share of the rows than this is said to be rare.
_RARE = 0.01
# How far a split's share may be from its parts before it is said.
_FAR_OFF = 0.05
# With fewer rows the shares cannot be much closer.
_FEW_ROWS = 100


@dataclass(frozen=True)
class SplitCounts:
    """What the splits got.

    Attributes:
      rows: split to its number of rows.
      classes: split to the count of each class; the counts are empty for regression.
      label: the label's column.
      config: how the rows were dealt.
      by_file: whether the source says which file is which split, so that nothing was dealt.
      several: whether a row may have several classes, so that rows cannot be dealt by class.
    """

    rows: Mapping[str, int]
    classes: Mapping[str, Mapping[str, int]]
    label: str
    config: SplitConfig
    by_file: bool = False
    several: bool = False

    @property
    def may_stratify(self) -> bool:
        """Whether the rows could be dealt by class, and are not."""
        return not (self.config.stratify or self.several)

    @property
    def total(self) -> int:
        return sum(self.rows.values())

    @property
    def class_totals(self) -> dict[str, int]:
        """Each class with its rows over all splits."""
        totals: dict[str, int] = {}
        for counts in self.classes.values():
            for name, count in counts.items():
                totals[name] = totals.get(name, 0) + count
        return totals

    @property
    def counted(self) -> str:
        """`train 8, eval 1, test 1`."""
        return ", ".join(f"{split} {number:,}" for split, number in self.rows.items())

    @property
    def class_shares(self) -> str:
        """`big_tipper: 0 77.1 %, 1 22.9 %`, the most frequent first; empty for regression."""
        totals = self.class_totals
        if not totals:
            return ""
        names = sorted(totals, key=lambda name: (-totals[name], name))
        shown = ", ".join(f"{cut(name)} {_percent(totals[name] / self.total, 1)}" for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more classes" if len(names) > _SHOWN else ""
        return f"{self.label}: {shown}{more}"


def check(counts: SplitCounts) -> None:
    """Refuses splits that cannot train or judge a model.

    Raises:
      UserError: for a split without rows, or a class that train lacks.
    """
    empty = [split for split, number in counts.rows.items() if not number]
    if empty:
        raise UserError(
            f"the {' and '.join(empty)} split{'s' if len(empty) > 1 else ''} got no rows ({counts.counted})",
            where="data.source" if counts.by_file else "data.split",
            fix=_how_to_fill(counts, empty[0]),
        )
    totals = counts.class_totals
    lacking = [name for name in rarest_first(totals) if name not in counts.classes["train"]]
    if lacking:
        raise UserError(
            f"{_classes(lacking)} {'have' if len(lacking) > 1 else 'has'} no row in the train split "
            f"({'; '.join(_where(counts, name) for name in lacking[:_SHOWN])})",
            where=f"label {counts.label!r}",
            fix=_how_to_get_classes(counts),
        )


def notes(counts: SplitCounts) -> list[str]:
    """What a person should know of splits that pass, a sentence each."""
    return [*_off_ratio(counts), *_rare(counts), *_unjudged(counts), *_alike(counts), *_small(counts)]


def account(counts: SplitCounts) -> list[str]:
    """How many rows and classes there are, and how they were split."""
    config = counts.config
    how = {
        "hash": "",
        "column": f", by column {config.column!r}",
        "time": f", by time: {config.column!r}",
        "group": f", by group: {config.column!r}",
    }[config.by]
    how += f", stratified by {config.stratify}" if config.stratify else ""
    shares = [counts.class_shares] if counts.class_shares else []
    return [f"{counts.total:,} rows ({counts.counted}{'' if counts.by_file else how})", *shares]


def straddling_notes(
    counts: SplitCounts, found: Mapping[str, int], apart: Sequence[str], *, exact: bool
) -> list[str]:
    """That rows of eval and test are in train as well, which makes a model look better than it is.

    Args:
      found: split to the number of such rows.
      apart: columns in which they may differ.
      exact: whether all rows were looked at.
    """
    parts = [
        f"{'' if exact else 'about '}{number:,} of {counts.rows[split]:,} {split} rows"
        for split, number in found.items()
        if number
    ]
    but = f", apart from {', '.join(map(repr, apart[:_SHOWN]))}{', …' if len(apart) > _SHOWN else ''}"
    return [f"{' and '.join(parts)} are in train as well{but if apart else ''}"] if parts else []


def _off_ratio(counts: SplitCounts) -> list[str]:
    config = counts.config
    if config.by == "column" or config.eval_from or counts.by_file or counts.total < _FEW_ROWS:
        return []
    shares = {split: part / sum(config.parts.values()) for split, part in config.parts.items()}
    off = [
        f"{split} {_percent(counts.rows[split] / counts.total)} instead of {_percent(share)}"
        for split, share in shares.items()
        if abs(counts.rows[split] / counts.total - share) > _FAR_OFF
    ]
    if not off:
        return []
    why = {
        "time": f"many rows share a value of {config.column!r}, and those stay together",
        "group": f"the groups of {config.column!r} are few or large"
        + (
            ""
            if not counts.may_stratify or not counts.class_totals
            else "; data.split.stratify: label comes closer"
        ),
        "hash": "many rows are equal, and those stay together",
    }[config.by]
    off[0] = off[0].replace(" instead", " of the rows instead")
    return [f"{', '.join(off)}: {why}"]


def _rare(counts: SplitCounts) -> list[str]:
    totals = counts.class_totals
    rare = [name for name in rarest_first(totals) if totals[name] < _RARE * counts.total]
    if not rare:
        return []
    shown = ", ".join(
        f"{cut(name)!r} {totals[name]:,} of {counts.total:,} rows "
        f"({_percent(totals[name] / counts.total, 2)})"
        for name in rare[:_SHOWN]
    )
    more = f" and {len(rare) - _SHOWN} more" if len(rare) > _SHOWN else ""
    kind = "rare class" if len(rare) == 1 else f"{len(rare)} rare classes"
    return [f"{kind}: {shown}{more}"]


def _unjudged(counts: SplitCounts) -> list[str]:
    found = []
    totals = counts.class_totals
    few = [name for name in rarest_first(totals) if totals[name] < len(counts.rows)]
    if few:
        verb = "have" if len(few) > 1 else "has"
        found.append(f"{_classes(few)} {verb} fewer rows than there are splits")
    dealt_by_luck = counts.config.by in ("hash", "group") and counts.may_stratify
    hint = "; data.split.stratify: label deals by class" if dealt_by_luck and not counts.by_file else ""
    for split in counts.rows:
        lacking = [
            name for name in rarest_first(totals) if name not in counts.classes[split] and name not in few
        ]
        if lacking:
            them = "them" if lacking[1:] else "it"
            found.append(f"{split} has no row of {_classes(lacking)}, so it cannot judge {them}{hint}")
    return found


def _small(counts: SplitCounts) -> list[str]:
    small = [split for split in _DECIDES if counts.rows[split] < _FEW_TO_DECIDE]
    if not small:
        return []
    parts = " and ".join(f"{split} has only {counts.rows[split]:,} rows" for split in small)
    why = ", and ".join(_DECIDES[split] for split in small)
    fix = "use more rows" if counts.by_file else "use more rows, or give a split more of them in data.split"
    return [f"{parts}: {why} is mostly luck ({fix})"]


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _alike(counts: SplitCounts) -> list[str]:
    """Classes that are probably one: Yes and yes."""
    by_look: dict[str, list[str]] = {}
    for name in sorted(counts.class_totals):
        by_look.setdefault(" ".join(name.casefold().split()), []).append(name)
    alike = [f"{' and '.join(repr(cut(name)) for name in names)}" for names in by_look.values() if names[1:]]
    more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
    shown = "; ".join(alike[:_SHOWN])
    return [f"classes that differ in case or blanks only: {shown}{more}"] if alike else []


def _classes(names: list[str]) -> str:
    shown = ", ".join(repr(cut(name)) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{'classes' if len(names) > 1 else 'class'} {shown}{more}"


def _where(counts: SplitCounts, name: str) -> str:
    in_splits = ", ".join(f"{split} {rows[name]:,}" for split, rows in counts.classes.items() if name in rows)
    return f"{cut(name)!r}: {in_splits}"


def _how_to_fill(counts: SplitCounts, split: str) -> str:
    config = counts.config
    if counts.by_file:
        return f"give the {split} split a file with rows"
    if counts.total < len(counts.rows):
        return f"use more rows: {counts.total} cannot fill {len(counts.rows)} splits"
    if config.by == "column":
        return f"say in data.split.values which values of {config.column!r} go to {split}"
    if config.eval_from:
        return f"choose data.split.eval_from and test_from within the values of {config.column!r}"
    if config.by == "time":
        return (
            f"{config.column!r} has too few distinct values; use a finer column, or split by hash of the rows"
        )
    enough = _stratified_parts(counts)
    if config.by == "group":
        hint = ", or set data.split.stratify: label, which deals groups by their rows" if enough else ""
        return f"use more groups, or give {split} a larger part{hint}"
    if enough:
        return f"use more rows, or leave nothing to luck: data.split: {{{enough}, stratify: label}}"
    return f"use more rows, or give {split} a larger part, as in data.split: {{train: 3, eval: 1, test: 1}}"


def _stratified_parts(counts: SplitCounts) -> str:
    """Parts with which a stratified split would fill every split; empty when there are none, or it is one."""
    totals = counts.class_totals
    if not totals or not counts.may_stratify:
        return ""
    for parts in (counts.config.parts, {"train": 3, "eval": 1, "test": 1}, dict.fromkeys(counts.rows, 1)):
        if sum(apportion(totals, list(parts.values())).values()).all():  # type: ignore[union-attr]
            return ", ".join(f"{split}: {part}" for split, part in parts.items())
    return ""


def _how_to_get_classes(counts: SplitCounts) -> str:
    config = counts.config
    if counts.by_file:
        return "move rows of the class to a file of train, or take the class out"
    if config.by == "hash" and counts.may_stratify:
        return "set data.split.stratify: label, which gives train a row of every class, or add rows of it"
    if config.by == "group" and counts.may_stratify:
        return "set data.split.stratify: label, or add rows of the class"
    if config.by == "time":
        return "the class is newer than train: choose a later data.split.eval_from, or take the class out"
    if config.by == "column":
        return "give train a value with rows of the class in data.split.values, or take the class out"
    return "add rows of the class, or take it out"
