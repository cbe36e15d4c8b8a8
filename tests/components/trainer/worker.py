"""One worker's Trainer step, on artifacts that are there: what TFJob or PyTorchJob would start.

Usage: worker.py REQUEST.json, which holds `folder`, `inputs` (key to type, URI and splits) and `train`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import absl.logging
import keras  # noqa: F401  before tensorflow_transform, as in a step's process
from executors import artifact, execute


def main(request: dict) -> None:
    absl.logging.set_verbosity(absl.logging.INFO)
    made = execute(
        "trainer",
        Path(request["folder"]),
        {key: artifact(*each) for key, each in request["inputs"].items()},
        {"model": "Model", "model_run": "ModelRun"},
        config={"model": {"hidden": [8]}, "train": request["train"]},
        name="odd",
        user_code="",
    )
    print(json.dumps({"summary": made["model"].get_string_custom_property("summary")}))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
