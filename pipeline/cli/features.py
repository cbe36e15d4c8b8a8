"""`headrace features`: what becomes of each column, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from components.errors import UserError
from pipeline.cli.options import json_option, project_options
from pipeline.cli.text import table


@click.command("features")
@project_options
@json_option
def command(
    path: str, overrides: tuple[str, ...], label: str | None, home: str | None, as_json: bool
) -> None:
    """Print the feature plan of the project in PATH: each column, its kind, why, and the model inputs.

    The columns are those that the latest run read; the plan is that of the config as it is now. How many
    ids a vocabulary holds is known once Transform ran with the same features.

    With --json, an object: label (name, type, task, classes), and features, a list of objects: name, type,
    kind, why, options, inputs (name, dtype, length, shape as the model gets it, and size where it is known).
    """
    from components.transform.infer import make_plan
    from pipeline.config import load_config

    config = load_config(path, overrides, label=label, home=home)
    found, analysed = _latest(config.home)
    if found.label.name != config.label:
        raise UserError(
            f"the latest run predicts {found.label.name!r}, the config {config.label!r}",
            where="label",
            fix="run ExampleGen with the new label: headrace run --to ExampleGen",
        )
    plan = make_plan(found, config.features)
    known = (
        {(feature.name, feature.config): feature.inputs for feature in analysed.features} if analysed else {}
    )
    features = [
        feature.model_copy(update={"inputs": known.get((feature.name, feature.config), ())})
        for feature in plan.features
    ]
    if as_json:
        shown = {"label": plan.label.model_dump(), "features": [_as_dict(feature) for feature in features]}
        click.echo(json.dumps(shown, indent=2))
        return
    classes = f": {', '.join(plan.label.classes)}" if plan.label.classes else ""
    click.echo(f"label {plan.label.name} ({plan.label.type}), {plan.label.task}{classes}\n")
    rows = [("COLUMN", "TYPE", "KIND", "MODEL INPUTS", "WHY")]
    rows += [(f.name, f.type, f.config.kind, _inputs(f), f.why) for f in features]
    for line in table(rows):
        click.echo(line)


def _latest(home: Path) -> tuple[Any, Any]:
    """What the latest ExampleGen found, and the plan of the latest Transform, None where there is none."""
    from components.example_gen.found import FOUND_FILE, Found
    from components.transform.plan import PLAN_FILE, FeaturePlan
    from pipeline.metadata.store import open_store

    store = open_store(home)
    found: Any = None
    plan: Any = None
    for run in store.runs():
        for step in store.steps(run.id):
            for artifact in (artifact for artifacts in step.outputs.values() for artifact in artifacts):
                file = Path(artifact.uri) / (FOUND_FILE if step.name == "ExampleGen" else PLAN_FILE)
                if step.name == "ExampleGen" and found is None and file.is_file():
                    found = Found.model_validate_json(file.read_text())
                if step.name == "Transform" and plan is None and file.is_file():
                    plan = FeaturePlan.model_validate_json(file.read_text())
        if found is not None and plan is not None:
            break
    if found is None:
        raise UserError("no run has read the data yet", where=str(home), fix="headrace run --to ExampleGen")
    return found, plan


def _inputs(feature: Any) -> str:
    if feature.config.kind == "drop":
        return "-"
    if not feature.inputs:
        return "known after Transform"
    return ", ".join(
        f"{tensor.model_dtype}[{', '.join(map(str, tensor.model_shape))}]"
        + (f" of {tensor.size} ids" if tensor.size else "")
        for tensor in feature.inputs
    )


def _as_dict(feature: Any) -> dict[str, Any]:
    return {
        "name": feature.name,
        "type": feature.type,
        "kind": feature.config.kind,
        "why": feature.why,
        "options": feature.config.model_dump(mode="json", exclude={"kind"}),
        "inputs": [
            {
                "name": t.name,
                "dtype": t.model_dtype,
                "length": t.length,
                "shape": t.model_shape,
                "size": t.size or None,
            }
            for t in feature.inputs
        ],
    }
