"""The `statistics` section: of which parts of the rows statistics are computed as well."""

from __future__ import annotations

from pydantic import Field

from components.section import Section


class StatisticsConfig(Section):
    """What StatisticsGen computes beyond the statistics of every split."""

    slices: tuple[tuple[str, ...], ...] = Field(
        (),
        description="columns whose values part the rows, such as [[payment_type], [company, payment_type]]: "
        "each part gets statistics of its own",
    )
