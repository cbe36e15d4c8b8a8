"""Beam options: which engine runs the data steps."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.section import Section

# Beam's plain "DirectRunner" first tries to download Prism on newer versions; the full name does not.
_DIRECT = "apache_beam.runners.portability.fn_api_runner.fn_runner.FnApiRunner"


class BeamConfig(Section):
    """Which engine runs the data steps."""

    runner: Literal["direct"] = Field("direct", description="direct: in the step's own process")
    args: tuple[str, ...] = Field((), description="further Beam options, such as --direct_num_workers=2")

    def pipeline_args(self) -> list[str]:
        """The options as Beam's command line takes them."""
        return [f"--runner={_DIRECT}", *self.args]
