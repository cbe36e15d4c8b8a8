"""A compiled pipeline that uses everything a pod can get, compiled once."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from kfp_api import Api
from kubeflow_taxi import ALL_OF_IT, TAXI

from pipeline.config import load_config
from pipeline.kubeflow.compile import Compiled, compile_pipeline


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The taxi pipeline with everything; not to be changed."""
    return compile_pipeline(load_config(TAXI, ALL_OF_IT, home=tmp_path_factory.mktemp("home")))


@pytest.fixture
def api() -> Iterator[Api]:
    """A server that takes and refuses what Kubeflow's does."""
    server = Api()
    yield server
    server.stop()


@pytest.fixture
def spec(full: Compiled) -> dict[str, Any]:
    """A copy of its spec."""
    return copy.deepcopy(full.spec)


@pytest.fixture
def platform(full: Compiled) -> dict[str, Any]:
    """A copy of its platform document."""
    return copy.deepcopy(full.platform)
