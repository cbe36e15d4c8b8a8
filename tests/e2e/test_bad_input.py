"""Mistakes of the user's: one message that says what, where and how to mend it, and exit code 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from headrace_calls import environment, headrace
from own_model import write_trips

GOOD = "data: {source: trips.csv}\nlabel: tip\n"


@pytest.fixture
def project(tmp_path) -> Path:
    folder = tmp_path / "tips"
    folder.mkdir()
    write_trips(folder / "trips.csv", rows=120)
    (folder / "pipeline.yaml").write_text(GOOD)
    return folder


def refused(done, *sentences):
    """Checks that the call ended with one message, which says all of these."""
    assert done.code == 2, done.said
    assert "Traceback" not in done.said
    for sentence in sentences:
        assert done.said.count(sentence) == 1, done.said
    assert len(re.findall(r"^error: |^\w+ failed: ", done.said, re.MULTILINE)) == 1, done.said


class TestBeforeAnythingRuns:
    """Found without loading TensorFlow, and before anything is written."""

    @pytest.mark.parametrize(
        ("arguments", "sentences"),
        [
            (["nowhere"], ["nowhere does not exist"]),
            (["tips/nowhere.csv", "--label", "tip"], ["tips/nowhere.csv does not exist"]),
            (["tips/trips.csv"], ["the column to predict is missing", "add --label COLUMN"]),
            (["tips", "--from", "Trianer"], ["no step 'Trianer', did you mean 'Trainer'?", "name one of: "]),
            (["tips", "--to", "train"], ["no step 'train', did you mean 'Trainer'?"]),
            (["tips", "--set", "train.epoch=3"], ["unknown key, did you mean 'epochs'?"]),
            (["tips", "--set", "train.epochs=many"], ["expected an integer greater than 0, received 'many'"]),
            (["tips", "--set", "data.source=trip.csv"], ["no such file: ", "trip.csv", "data.source: "]),
            (["tips", "--set", "data.source=package:nopackage/x.csv"], ["no installed package 'nopackage'"]),
            (["tips", "--set", "data.exclude=[tip]"], ["'tip' is the label and cannot be excluded"]),
            (["tips", "--set", "model.build=model.build_model"], ["there is no model.py in "]),
            (["tips", "--nonsense"], ["No such option"]),
        ],
    )
    def test_one_message(self, project, arguments, sentences):
        done = headrace("run", *arguments, cwd=project.parent)
        assert done.code == 2, done.said
        assert "Traceback" not in done.said
        assert done.out == ""
        for sentence in sentences:
            assert sentence.casefold() in done.err.casefold()
        assert done.seconds < 15
        assert sorted(path.name for path in project.iterdir()) == ["pipeline.yaml", "trips.csv"]

    def test_the_line_of_an_unknown_key(self, project):
        (project / "pipeline.yaml").write_text(GOOD + "train:\n  epocs: 3\n")
        done = headrace("run", cwd=project)
        refused(done, "pipeline.yaml:4: train.epocs: unknown key, did you mean 'epochs'?")
        assert not (project / ".headrace").exists()

    def test_a_home_that_is_a_file(self, project):
        (project / ".headrace").write_text("precious")
        refused(headrace("run", cwd=project), f"{project / '.headrace'}: cannot write here", "--home DIR")
        assert (project / ".headrace").read_text() == "precious"
        home = environment(HEADRACE_HOME=str(project / "trips.csv"))
        refused(headrace("run", cwd=project, env=home), "trips.csv: cannot write here")

    def test_a_push_folder_that_is_a_file(self, project):
        (project / "models").write_text("precious")
        done = headrace("run", "--set", "push.to=models/tips", cwd=project)
        refused(done, f"push.to: {project / 'models' / 'tips'}: cannot write here", "choose another folder")
        assert (project / "models").read_text() == "precious"
        assert not (project / ".headrace").exists()

    def test_a_model_with_a_syntax_error(self, project):
        (project / "model.py").write_text("import helper\n\n\ndef build_model(plan, config):\n    return 1\n")
        (project / "helper.py").write_text("x = 1\ny = (2\n")
        done = headrace("run", "--set", "model.build=model.build_model", cwd=project)
        refused(done, f"{project / 'helper.py'}:2: cannot be parsed: '(' was never closed")


@pytest.mark.slow
class TestInTheData:
    """Found by the step that reads the data."""

    @pytest.mark.parametrize(
        ("content", "sentences"),
        [
            ("", ["the file is empty"]),
            ("miles,tip\n", ["a header but no rows"]),
            ("miles,tips\n1,yes\n2,no\n", ["the data has no column 'tip', did you mean 'tips'?"]),
            ("miles,tip\n" + "1,often\n" * 40, ["the column has only one value, 'often'"]),
            ("miles,tip\n" + "1,\n" * 40, ["the column has no value at all"]),
            ("miles,tip\n1,yes\n2,no\n", ["splits got no rows"]),
            ("miles,tip\n1,yes\n2,no,maybe\n", ["trips.csv:3: 1 row does not have 2 cells"]),
            ("miles,miles,tip\n1,2,yes\n", ["column name 'miles' stands twice"]),
            (
                "name,tip\n" + "".join(f"n{i},{i % 2}\n" for i in range(90)),
                ["no column is left for the model"],
            ),
        ],
        ids=lambda value: value[0][:30] if isinstance(value, list) else "",
    )
    def test_one_message(self, warm, project, content, sentences):
        (project / "trips.csv").write_text(content)
        done = warm("run", cwd=project)
        refused(done, *sentences)
        assert not (project / ".headrace" / "models").exists()

    @pytest.mark.parametrize(
        ("override", "sentence"),
        [
            ("features={mile: {kind: numeric}}", "the data has no column 'mile', did you mean 'miles'?"),
            ("features={zone: {kind: numeric}}", "kind numeric needs a column of type integer or float"),
        ],
    )
    def test_a_feature_that_the_data_does_not_allow(self, warm, project, override, sentence):
        refused(warm("run", "--set", override, cwd=project), sentence)

    def test_what_is_good_stays(self, own_model):
        versions, digest = own_model.versions, own_model.run().json["version_path"]
        data = own_model.folder / "trips.csv"
        content = data.read_text()
        data.write_text("miles,fare,zone,tip\n1,2,a\n")
        try:
            refused(
                own_model.warm("run", own_model.folder, cwd=own_model.folder), "trips.csv:2: 1 row does not"
            )
        finally:
            data.write_text(content)
        assert own_model.versions == versions
        done = own_model.run()
        assert set(done.states().values()) == {"CACHED"}
        assert done.json["version_path"] == digest


@pytest.mark.slow
class TestInTheModel:
    """The user's code: what is wrong and the line of it."""

    @pytest.mark.parametrize(
        ("code", "sentences"),
        [
            ("import nothere\n", ["model.py:1: ModuleNotFoundError: No module named 'nothere'"]),
            ("def build_mode(plan, config): ...\n", ["model.py has no function 'build_model'"]),
            (
                "def build_model(plan, config):\n    x = 1\n    return x / 0\n",
                ["model.py:3: ZeroDivisionError"],
            ),
            (
                "def build_model(plan):\n    return 1\n",
                ["model.py:1: ", "build_model must take (plan, config)"],
            ),
            ("def build_model(plan, config):\n    return 'x'\n", ["returned str, expected a keras.Model"]),
        ],
        ids=["import", "name", "raises", "signature", "result"],
    )
    def test_one_message(self, own_model, code, sentences):
        other = own_model.folder / "other.py"
        other.write_text(code)
        try:
            done = own_model.warm(
                *("run", own_model.folder, "--to", "Trainer", "--set", "model.build=other.build_model"),
                cwd=own_model.folder,
            )
        finally:
            other.unlink()
        refused(done, *(sentence.replace("model.py", "other.py") for sentence in sentences))
