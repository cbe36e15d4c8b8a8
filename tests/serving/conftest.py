"""A served tiny model, started once as the real command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serve_process import Running, serving


@pytest.fixture(scope="session")
def binary_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base folder with version 17 of a binary classifier."""
    from tiny_models import save_model

    base = tmp_path_factory.mktemp("models") / "tips"
    save_model(base / "17")
    return base


@pytest.fixture(scope="session")
def yes_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of the same that says yes to nearly all, to be copied."""
    from tiny_models import save_model

    return save_model(tmp_path_factory.mktemp("yes") / "18", bias=0.9)


@pytest.fixture(scope="session")
def regression_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base folder with version 3 of a regression."""
    from tiny_models import save_model

    base = tmp_path_factory.mktemp("models") / "fares"
    save_model(base / "3", "regression", name="fares")
    return base


@pytest.fixture(scope="session")
def server(binary_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The binary classifier, served."""
    with serving(tmp_path_factory.mktemp("server"), str(binary_base), "--max-body", "8") as running:
        yield running
