"""Strategy, precision and XLA as asked for, or a sentence that says why not; who trains together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tensorflow as tf
from pydantic import ValidationError

from components.errors import UserError
from components.trainer import devices, rendezvous
from components.trainer.config import TrainConfig

HERE = Path(__file__).parent
TORCH = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "1", "WORLD_SIZE": "2"}


def tf_config(role, index, **cluster):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})}


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("TF_CONFIG", *TORCH):
        monkeypatch.delenv(name, raising=False)


class TestPlace:
    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({}, (0, 1)),
            ({"TF_CONFIG": ""}, (0, 1)),
            ({"TF_CONFIG": "{}"}, (0, 1)),
            (tf_config("worker", 1, worker=["a:1", "b:1", "c:1"]), (1, 3)),
            (tf_config("chief", 0, chief=["a:1"], worker=["b:1", "c:1"]), (0, 3)),
            (tf_config("worker", 1, chief=["a:1"], worker=["b:1", "c:1"]), (2, 3)),
            (TORCH, (1, 2)),
            ({**TORCH, "WORLD_SIZE": ""}, (0, 1)),
            ({**TORCH, **tf_config("worker", 0, worker=["a:1", "b:1", "c:1"])}, (0, 3)),
        ],
    )
    def test_is_what_the_environment_says(self, environment, expected):
        assert rendezvous.place(environment) == expected

    @pytest.mark.parametrize(
        ("environment", "said"),
        [
            ({"TF_CONFIG": "{nothing"}, "TF_CONFIG: no cluster and task can be read from it"),
            ({"TF_CONFIG": '{"cluster": {}}'}, "KeyError"),
            (tf_config("ps", 0, ps=["a:1"], worker=["b:1"]), "the task is ps 0, of 0 chief and 1 workers"),
            (tf_config("worker", 2, worker=["a:1", "b:1"]), "the task is worker 2, of 0 chief and 2 workers"),
            ({**TORCH, "RANK": "2"}, "RANK 2 is none of 0 to 1"),
            ({**TORCH, "MASTER_PORT": "x"}, "no number"),
        ],
    )
    def test_nonsense(self, environment, said):
        with pytest.raises(UserError, match=said):
            rendezvous.place(environment)

    def test_workers_are_needed(self):
        with pytest.raises(UserError, match="strategy multi_worker needs several workers, and nothing names"):
            devices.strategy("multi_worker")

    @pytest.mark.parametrize("wanted", ["one_device", "mirrored", "tpu"])
    def test_workers_are_not_left_to_train_alone(self, wanted, monkeypatch):
        monkeypatch.setenv("TF_CONFIG", tf_config("worker", 0, worker=["a:1", "b:1"])["TF_CONFIG"])
        with pytest.raises(UserError, match=f"names 2 workers, and strategy {wanted} is for one process"):
            devices.strategy(wanted)


class TestMeeting:
    @staticmethod
    def _port():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]

    def test_three_workers_hear_the_same_addresses(self):
        meeting, heard = self._port(), {}

        def join(number):
            heard[number] = rendezvous._join(("127.0.0.1", meeting), 2000 + number, number)

        threads = [threading.Thread(target=join, args=(number,)) for number in (2, 1)]
        for thread in threads:
            thread.start()
        heard[0] = rendezvous._host(meeting, 2000, 3)
        for thread in threads:
            thread.join(20)
        assert heard[0] == ["127.0.0.1:2000", "127.0.0.1:2001", "127.0.0.1:2002"]
        assert heard[0] == heard[1] == heard[2]

    def test_whoever_is_no_worker_does_not_disturb(self):
        meeting = self._port()
        found = []
        host = threading.Thread(target=lambda: found.append(rendezvous._host(meeting, 2000, 2)))
        host.start()
        for text in (b"GET / HTTP/1.1\n", b"[1]\n", b""):
            for _ in range(100):
                try:
                    probe = socket.create_connection(("127.0.0.1", meeting), timeout=5)
                    break
                except OSError:
                    host.join(0.05)
            with probe:
                probe.sendall(text)
        assert rendezvous._join(("127.0.0.1", meeting), 2001, 1) == ["127.0.0.1:2000", "127.0.0.1:2001"]
        host.join(20)
        assert found

    def test_a_worker_that_does_not_come_is_named(self, monkeypatch):
        monkeypatch.setattr(rendezvous, "_WAIT_SECONDS", 0.2)
        with pytest.raises(UserError, match=r"workers \[1, 2\] did not come to port"):
            rendezvous._host(self._port(), 2000, 3)
        with pytest.raises(UserError, match="worker 0 does not answer at 127"):
            rendezvous._join(("127.0.0.1", self._port()), 2001, 1)


class TestPrecision:
    @pytest.mark.parametrize("wanted", ["float32", "mixed_bfloat16", "mixed_float16"])
    def test_that_is_asked_for_is_taken(self, wanted):
        assert devices.precision(wanted) == wanted

    def test_auto_is_float32_without_a_gpu(self):
        if not tf.config.list_physical_devices("GPU"):
            assert devices.precision("auto") == "float32"


class TestRefused:
    def test_a_tpu_that_is_not_there(self):
        with pytest.raises(UserError, match="no TPU was found"):
            devices.strategy("tpu")

    def test_xla_over_logical_cpus(self):
        devices.check_xla("auto", 2)
        devices.check_xla(True, 1)
        with pytest.raises(UserError, match="XLA cannot compile a step over 2 logical CPU devices"):
            devices.check_xla(True, 2)

    def test_a_batch_that_cannot_be_shared_evenly(self):
        devices.check_batch(96, 2, 4)
        with pytest.raises(UserError, match="a batch of 100 rows cannot be shared evenly by 8 devices"):
            devices.check_batch(100, 8, 1)
        with pytest.raises(UserError, match="by 2 devices in 3 parts each"):
            devices.check_batch(100, 2, 3)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (
                {"strategy": "multi_worker", "steps_per_execution": 4},
                "multi_worker makes one step a call, received steps_per_execution 4",
            ),
            ({"strategy": "multi_worker", "xla": True}, "XLA cannot compile what workers exchange"),
            ({"strategy": "tpu", "precision": "mixed_float16"}, "TPUs compute in bfloat16"),
            ({"batch_size": 100, "accumulate": 3}, "batch_size 100 cannot be split into accumulate 3 equal"),
            ({"accumulate": 0}, "greater than 0"),
            ({"strategy": "parameter_server"}, "Input should be 'auto', 'one_device'"),
        ],
    )
    def test_when_the_config_is_read(self, options, said):
        with pytest.raises(ValidationError, match=said):
            TrainConfig(**options)


def test_workers_make_single_steps_unless_told_otherwise():
    made = TrainConfig(strategy="multi_worker")
    assert made.steps_per_execution == 1
    assert TrainConfig.model_validate_json(made.model_dump_json()) == made
    assert TrainConfig().steps_per_execution == 32


@pytest.mark.parametrize(
    ("rows", "accumulate", "expected"),
    [(10, 1, 32), (5000, 1, 32), (10_000, 1, 96), (10**6, 1, 1024), (10**6, 3, 960), (10, 4, 128)],
)
def test_a_batch_size_that_is_left_out_can_be_shared(rows, accumulate, expected):
    assert TrainConfig(accumulate=accumulate).rows_a_step(rows) == expected


@pytest.mark.slow
def test_two_devices_learn_what_one_does():
    done = subprocess.run(
        [sys.executable, HERE / "two_devices.py"],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) >= 8
    for case, told in found.items():
        limit = 1e-5 if "float16" in case else 1e-6
        assert told["moved"] > 1e-3, case
        assert told["apart"] < limit, case
        assert told.get("apart from the whole batch", 0) < limit, case
