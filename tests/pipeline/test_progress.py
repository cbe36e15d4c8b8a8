"""The live list of steps says how far a training is."""

from __future__ import annotations

from pipeline.cli.progress import Progress

LINES = """\
INFO:absl:epoch 2/8  0.1 s  20,257 rows/s  auc 0.9464  loss 0.4392  val_loss 0.3521  at most 3 s left
INFO:absl:epoch 3/8  0.0 s  98,429 rows/s  auc 0.9547  loss 0.3661  val_loss 0.3033  at most 2 s left
WARNING:absl:something else
INFO:absl:epoch 4/8  0.0 s  72"""


def test_the_last_whole_epoch(tmp_path):
    progress = Progress("taxi", ("Trainer",), quiet=True)
    log = tmp_path / "Trainer.log"
    progress.started("Trainer", "first run", log)
    assert progress._now().plain.endswith("running: first run")
    log.write_text("x" * 10_000 + "\n" + LINES)
    assert progress._now().plain.endswith("running: first run (epoch 3/8, at most 2 s left)")
    log.write_text("nothing of epochs")
    assert progress._now().plain.endswith("running: first run")
