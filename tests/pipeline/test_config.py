"""pipeline.yaml: what it may say, and what is said about mistakes in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from components.errors import UserError
from components.section import Section
from components.transform.config import CategoryFeature, NumericFeature
from pipeline.config import PipelineConfig, dump, json_schema, load_config
from pipeline.config_schema import Schema

HEADRACE = str(Path(sys.executable).parent / "headrace")
MINIMAL = "data: {source: trips.csv}\nlabel: tip\n"


def project(folder: Path, text: str | bytes) -> Path:
    raw = text if isinstance(text, bytes) else text.encode()
    (folder / "pipeline.yaml").write_bytes(raw)
    return folder


def message(folder: Path, text: str | bytes, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load_config(project(folder, text), overrides)
    return str(caught.value).replace(f"{folder}/", "")


def test_defaults(tmp_path):
    folder = tmp_path / "My taxi_2"
    folder.mkdir()
    config = load_config(project(folder, MINIMAL))
    assert config.name == "My-taxi-2"
    assert config.label == "tip"
    assert config.task is None
    assert config.train.epochs == 20
    assert config.project_dir == folder
    assert config.located_data.source == str(folder / "trips.csv")
    assert config.home == folder / ".headrace"
    assert config.push_dir == folder / ".headrace" / "models" / "My-taxi-2"


def test_a_path_may_be_the_file_or_the_folder(tmp_path, monkeypatch):
    project(tmp_path, MINIMAL)
    monkeypatch.chdir(tmp_path)
    assert load_config(".") == load_config("pipeline.yaml") == load_config(tmp_path)


def test_home_moves(tmp_path, monkeypatch):
    project(tmp_path, MINIMAL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_HOME", "/from/env")
    assert load_config(".").home == Path("/from/env")
    moved = load_config(".", home="elsewhere")
    assert moved.home == tmp_path / "elsewhere"
    assert moved.push_dir == tmp_path / "elsewhere" / "models" / moved.name
    assert load_config(".", ["push.to=out"]).push_dir == tmp_path / "out"


@pytest.mark.parametrize("source", ["package:tfx.examples/data.csv", "s3://bucket/a.csv", "gs://b/*.csv"])
def test_a_source_that_is_no_path_stays(tmp_path, source):
    assert load_config(project(tmp_path, MINIMAL), [f"data.source={source}"]).located_data.source == source


@pytest.mark.parametrize("file", ["trips.csv", "trips.tsv.gz"])
def test_a_data_file_needs_no_yaml_but_a_label(tmp_path, file):
    path = tmp_path / file
    path.write_text("a,b\n1,2\n")
    config = load_config(path, label="b")
    assert (config.name, config.label, config.located_data.source) == ("trips", "b", str(path))
    assert config.project_dir == tmp_path
    with pytest.raises(UserError, match=r"the column to predict is missing\n  fix: add --label COLUMN"):
        load_config(path)


def test_the_label_option_wins(tmp_path):
    assert load_config(project(tmp_path, MINIMAL), label="fare").label == "fare"


def test_sections_become_what_the_components_own(tmp_path):
    text = MINIMAL + "features:\n  miles: {kind: numeric, impute: 0}\n  company: {kind: category}\n"
    features = load_config(project(tmp_path, text)).features
    assert features == {"miles": NumericFeature(impute=0.0), "company": CategoryFeature()}
    assert list(features) == ["miles", "company"]


def test_a_section_with_nothing_in_it_is_all_defaults(tmp_path):
    config = load_config(
        project(tmp_path, MINIMAL + "train:\n  # epochs: 3\n  optimizer:\nfeatures:\npush:\n")
    )
    assert config.train.epochs == 20
    assert config.features == {}


def test_numbers_and_dates_are_text_where_text_is_meant(tmp_path):
    text = (
        "label: 007\ndata: {source: x, missing: [-999, 1.50], columns: {2019: text}, exclude: [2020-01-01]}\n"
    )
    config = load_config(project(tmp_path, text))
    assert config.label == "007"
    assert config.data.missing == ("-999", "1.50")
    assert config.data.columns == {"2019": "text"}
    assert config.data.exclude == ("2020-01-01",)


def test_anchors_and_merge_keys(tmp_path):
    text = (
        MINIMAL
        + "features:\n  a: &base {kind: category, oov: 3}\n  b: {<<: *base, vocabulary: 7}\n  c: *base\n"
    )
    features = load_config(project(tmp_path, text)).features
    assert features["b"] == CategoryFeature(oov=3, vocabulary=7)
    assert features["c"] == CategoryFeature(oov=3)


def test_overrides(tmp_path):
    config = load_config(
        project(tmp_path, MINIMAL + "features: {miles: {kind: category}}\n"),
        [
            "train.epochs=3",
            "model.hidden=[1, 2]",
            "features.miles.kind=numeric",
            'features."a.b".kind=boolean',
            "features.c={kind: category, oov: 2}",
            "evaluate.gate.auc.min=1e-1",
            "label=2020",
            "push.to=",
            "data.delimiter=';'",
            "data.source=a=b.csv",
        ],
    )
    assert config.train.epochs == 3
    assert config.model.hidden == (1, 2)
    assert [feature.kind for feature in config.features.values()] == ["numeric", "boolean", "category"]
    assert "a.b" in config.features
    assert config.evaluate.gate is not None
    assert config.evaluate.gate["auc"].min == 0.1
    assert (config.label, config.push.to, config.data.delimiter) == ("2020", None, ";")
    assert config.data.source == "a=b.csv"


MISTAKES = {
    "unknown key": (
        "train:\n  epoch: 3\n",
        ["pipeline.yaml:4: train.epoch: unknown key, did you mean 'epochs'?"],
    ),
    "another style": (
        "train: {batchSize: 3}\n",
        ["train.batchSize: unknown key, did you mean 'batch_size'?"],
    ),
    "nested": (
        "train:\n  optimizer:\n    nme: sgd\n",
        ["pipeline.yaml:5: train.optimizer.nme: unknown key, did you mean 'name'?"],
    ),
    "misplaced": (
        "epochs: 3\n",
        ["pipeline.yaml:3: epochs: unknown key, did you mean train.epochs or tune.epochs?"],
    ),
    "misplaced deeper": ("train: {peak: 1}\n", ["did you mean train.learning_rate.peak?"]),
    "misplaced and misspelt": ("epoch: 3\n", ["did you mean train.epochs?"]),
    "nothing near": ("zzz: 3\n", ["pipeline.yaml:3: zzz: unknown key; the top takes name, data, label"]),
    "type": (
        "train:\n  seed: 1\n  epochs: many\n",
        ["pipeline.yaml:5: train.epochs: expected an integer greater than 0, received 'many'"],
    ),
    "range": ("train: {epochs: 0}\n", ["train.epochs: expected an integer greater than 0, received 0"]),
    "two bounds": ("model: {dropout: 1}\n", ["expected a number of at least 0 and below 1, received 1"]),
    "fraction": ("train: {epochs: 1.5}\n", ["an integer greater than 0, received 1.5"]),
    "boolean": ("train: {epochs: true}\n", ["train.epochs: expected an integer", "received true"]),
    "not a number": (
        "train: {optimizer: {weight_decay: .nan}}\n",
        ["train.optimizer.weight_decay", "received nan"],
    ),
    "nothing": ("train: {epochs: }\n", ["train.epochs: expected an integer", "received nothing"]),
    "long value": (f"train: {{epochs: {'x' * 90}}}\n", ["received 'xxxxxxxxxxxx", "xxx…"]),
    "choice": (
        "task: binry\n",
        [
            "task: expected one of binary, multiclass, multilabel, regression, received 'binry', "
            "did you mean 'binary'?"
        ],
    ),
    "either": (
        "features: {a: {kind: numeric, impute: foo}}\n",
        ["features.a.impute: expected one of mean, median, most_frequent or a number, received 'foo'"],
    ),
    "list": (
        "evaluate:\n  slices:\n    - [a]\n    - b\n",
        ["pipeline.yaml:6: evaluate.slices[1]: expected a list, each item text, received 'b'; write [b]"],
    ),
    "item": (
        "model:\n  hidden:\n    - 1\n    - x\n",
        ["pipeline.yaml:6: model.hidden[1]: expected an integer"],
    ),
    "section": ("train: fast\n", ["train: expected a mapping of options: epochs, ", "received 'fast'"]),
    "kind": (
        "features:\n  a:\n    kind: categry\n",
        ["pipeline.yaml:5: features.a.kind: expected one of boolean, cat", "did you mean 'category'?"],
    ),
    "no kind": (
        "features: {a: {vocabulary: 3}}\n",
        ["features.a: kind is missing", "one of boolean, categories, category, cross, date"],
    ),
    "bare kind": (
        "features: {a: numeric}\n",
        ["features.a: expected a mapping with kind", "write {kind: numeric}"],
    ),
    "option of another kind": (
        "features:\n  a:\n    kind: numeric\n    vocabulary: 3\n",
        [
            "pipeline.yaml:6: features.a.vocabulary: not an option of kind numeric",
            "categories and category and text take it",
        ],
    ),
    "a section's own check": (
        "evaluate: {gate: {auc: {}}}\n",
        ["pipeline.yaml:3: evaluate.gate.auc: give at least one of min, max, max_drop, max_rise"],
    ),
    "name": ("name: a b\n", ["name: expected text that matches", "received 'a b'"]),
    "delimiter": ("data: {source: x, delimiter: ab}\n", ["data.delimiter: expected a single character"]),
    "twice": (
        "train: {epochs: 1}\npush: {}\ntrain: {epochs: 2}\n",
        ["pipeline.yaml:5: train: given twice, on line 3 and on line 5"],
    ),
    "tag": ("name: !secret x\n", ["pipeline.yaml:3: name: the tag !secret is not supported"]),
    "recursion": ("data: &a {source: *a}\n", ["data.source: an alias that contains itself"]),
    "excluded label": ("data: {source: x, exclude: [a, tip]}\n", ["data.exclude[1]: 'tip' is the label"]),
    "label as feature": ("features: {tip: {kind: drop}}\n", ["pipeline.yaml:3: features.tip: is the label"]),
    "excluded feature": (
        "data: {source: x, exclude: [a]}\nfeatures: {a: {kind: drop}}\n",
        ["features.a: is excluded by data.exclude"],
    ),
    "loss of another task": (
        "task: regression\ntrain: {loss: {name: focal}}\n",
        ["pipeline.yaml:4: train.loss: focal is no loss for task regression: choose mse, mae, huber"],
    ),
    "quantiles that fall": (
        "train: {loss: {name: quantile, quantile: [0.9, 0.1]}}\n",
        ["train.loss: quantile: several must rise, received 0.9, 0.1"],
    ),
    "quantile beyond 1": (
        "train: {loss: {name: quantile, quantile: [0.1, 1.5]}}\n",
        ["pipeline.yaml:3: train.loss.quantile: expected a number greater than 0 and below 1 or a list"],
    ),
    "percent": (
        "evaluate: {gate: {auc: {max_drop: 5 percent}}}\n",
        ["pipeline.yaml:3: evaluate.gate.auc.max_drop", "received '5 percent'"],
    ),
    "no model file": ("model: {build: model.build}\n", ["model.build: there is no model.py in "]),
    "metric": (
        "evaluate: {gate: {acuracy: {min: 1}}}\n",
        ["evaluate.gate.acuracy", "did you mean 'accuracy'?"],
    ),
    "metric of another task": (
        "task: regression\nevaluate: {gate: {auc: {min: 1}}}\n",
        ["evaluate.gate.auc: not a metric of task regression; known: rmse, mae, mse"],
    ),
    "remote push": (
        "push: {to: 'ftp://a'}\n",
        ["push.to: expected a folder, or a URL that begins with gs://"],
    ),
}


@pytest.mark.parametrize(("text", "pieces"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(tmp_path, text, pieces):
    said = message(tmp_path, _with_minimal(text))
    assert all(piece in said for piece in pieces), said
    assert "\n" not in said  # a section given in the test replaces that of MINIMAL: one mistake, one line


def _with_minimal(text: str) -> str:
    return "\n" + MINIMAL.split("\n")[1] + "\n" + text if text.startswith("data:") else MINIMAL + text


BROKEN = {
    "empty": (b"", ["pipeline.yaml: the file is empty", "fix: "]),
    "comments": (b"# label: a\n", ["the file is empty"]),
    "list": (b"- a\n", ["pipeline.yaml:1: expected a mapping", "received a list"]),
    "text": (b"\nlabel\n", ["pipeline.yaml:2: expected a mapping", "received 'label'"]),
    "tab": (b"a:\n\tb: 1\n", ["pipeline.yaml:2:1: not valid YAML", "does not take tabs: indent with spaces"]),
    "colon": (b"a: b: c\n", ["pipeline.yaml:1:5: not valid YAML: mapping values", "in quotes"]),
    "bracket": (b"a: [1,\nb: 2\n", ["pipeline.yaml:3:1: not valid YAML", "which starts on line 1"]),
    "quote": (b"a: 'b\n", ["not valid YAML: found unexpected end of stream"]),
    "alias": (b"a: *b\n", ["pipeline.yaml:1:4: not valid YAML: found undefined alias 'b'"]),
    "two documents": (
        b"a: 1\n---\nb: 1\n",
        ["pipeline.yaml:2:1: not valid YAML: found a second", "delete the `---`"],
    ),
    "latin-1": (b"label: a\nname: caf\xe9\n", ["pipeline.yaml:2: the file is not UTF-8: byte 0xe9"]),
    "utf-16": ("label: a\n".encode("utf-16"), ["the file is UTF-16", "save it as UTF-8"]),
    "control character": (b"a: 1\nb: \x01\n", ["pipeline.yaml:2: not valid YAML"]),
}


@pytest.mark.parametrize(("text", "pieces"), BROKEN.values(), ids=BROKEN.keys())
def test_not_a_mapping_in_yaml(tmp_path, text, pieces):
    said = message(tmp_path, text)
    assert all(piece in said for piece in pieces), said


def test_what_is_required(tmp_path):
    said = message(tmp_path, "name: a\n")
    assert "pipeline.yaml: data.source: missing: a file" in said
    assert "pipeline.yaml: label: missing: the column to predict" in said


def test_a_byte_order_mark_is_fine(tmp_path):
    assert load_config(project(tmp_path, b"\xef\xbb\xbf" + MINIMAL.encode())).label == "tip"


def test_all_mistakes_at_once_in_the_order_of_lines(tmp_path):
    text = MINIMAL + "train:\n" + "".join(f"  k{i}: 1\n" for i in range(6)) + "  epochs: x\n  epochs: y\n"
    lines = message(tmp_path, text, "push.keep=x").splitlines()
    assert lines[0] == "8 problems in the configuration"
    assert [line.split(":")[1] for line in lines[1:6]] == ["4", "5", "6", "7", "8"]
    assert lines[6:] == ["  and 3 more"]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.epochs=abc", "--set train.epochs=abc: train.epochs: expected an integer greater than 0"),
        ("train.epoch=1", "--set train.epoch=1: train.epoch: unknown key, did you mean 'epochs'?"),
        ("train", "--set train: expected KEY=VALUE"),
        ("=3", "--set =3: expected KEY=VALUE"),
        ("train..epochs=3", "--set train..epochs=3: expected KEY=VALUE"),
        ("label=[a", "--set label=[a: not valid YAML"),
        ("label.x=3", "--set label.x=3: label is a single value"),
        ("model.hidden=3", "--set model.hidden=3: model.hidden: expected a list"),
        ("evaluate.gate.acc.min=1", "--set evaluate.gate.acc.min=1: evaluate.gate.acc: not a metric"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, override, said):
    assert said in message(tmp_path, MINIMAL, override)


@pytest.mark.parametrize("name", ["", "nope.csv"])
def test_nothing_there(tmp_path, name):
    with pytest.raises(UserError, match=r"no pipeline.yaml in|does not exist") as caught:
        load_config(tmp_path / name)
    assert "\n  fix: " in str(caught.value)


def test_dump_loads_to_an_equal_config(tmp_path):
    text = (
        MINIMAL
        + "features: {a: {kind: numeric}}\nevaluate: {slices: [[b], [a, b]], gate: {auc: {min: 1e-9}}}\n"
    )
    config = load_config(
        project(tmp_path, text), ["data.delimiter='|'", "data.missing=['null', '~', 'no', '1']"]
    )
    text = dump(config)
    assert list(YAML(typ="safe").load(text)) == [
        field.alias or name for name, field in PipelineConfig.model_fields.items()
    ]
    assert "hidden: [128, 64]\n" in text
    assert "task: null\n" in text
    assert load_config(project(tmp_path, text)) == config


def test_the_json_schema_describes_every_option():
    schema = Schema(json_schema())
    assert schema.root["required"] == ["data", "label"]
    assert {"train.epochs", "features.COLUMN.vocabulary", "evaluate.gate.METRIC.min"} <= set(schema.options())
    for name, field in PipelineConfig.model_fields.items():
        assert field.description, name


def test_a_wider_union_is_still_explained():
    class Wide(Section):
        either: int | list[int] | bool = 1

    schema = Schema(Wide.model_json_schema())
    path, node = schema.walk(("either", "list[int]", 0))
    assert path == ("either",)
    assert schema.describe(node) == "an integer or a list, each item an integer or true or false"


def headrace(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [HEADRACE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_command_prints_the_whole(tmp_path):
    project(tmp_path, MINIMAL)
    done = headrace("config", "--set", "train.epochs=3", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["train"]["epochs"] == 3
    printed = headrace("config", cwd=tmp_path)
    assert printed.stdout == dump(load_config(tmp_path))
    assert json.loads(headrace("config", "--schema", cwd=tmp_path).stdout)["title"] == "pipeline.yaml"


def test_the_command_ends_with_2_and_no_traceback(tmp_path):
    project(tmp_path, MINIMAL + "epochs: 3\n")
    done = headrace("config", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr
        == "error: pipeline.yaml:3: epochs: unknown key, did you mean train.epochs or tune.epochs?\n"
    )
