"""The user's modules: what is found and bundled, and how they are loaded."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from components.errors import UserError
from components.user_code import PACKAGE, bundle, load

NO_ARGUMENTS: tuple[str, ...] = ()


@pytest.fixture
def project(tmp_path):
    """A function that writes modules and gives their folder; `of` is the name of a package's own."""

    def write(**files: str) -> Path:
        for name, content in files.items():
            path = tmp_path / "project" / (name.replace("__", "/").replace("/of", "/__init__") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path / "project"

    return write


@pytest.fixture
def call(tmp_path):
    """A function that bundles, loads and calls what a dotted path names."""

    def bundled(folder: Path, dotted: str = "model.build", arguments: tuple[str, ...] = NO_ARGUMENTS):
        archive = tmp_path / "code.zip"
        archive.write_bytes(bundle(folder, dotted)[0])
        return load(str(archive), dotted, arguments)(*arguments)

    yield bundled
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != load.__module__]


def files_of(folder, dotted="model.build"):
    """What is bundled."""
    return set(bundle(folder, dotted)[1])


class TestWhatIsBundled:
    def test_all_that_is_imported_and_nothing_else(self, project):
        folder = project(
            model="import a\nfrom b import c\n\ndef build():\n    import d\n    from e.f import g\n",
            a="import keras, os.path",
            b="c = 1",
            d="",
            e__f="",
            e__other="",
            unused="import nothing",
        )
        assert files_of(folder) == {"model.py", "a.py", "b.py", "d.py", "e/f.py"}

    def test_packages_and_relative_imports(self, project):
        folder = project(
            model="from nets import wide\nfrom . import shared",
            nets__of="from .deep import tower",
            nets__wide="from .. import shared\nfrom ..shared import x\nfrom . import parts",
            nets__deep="tower = 1",
            nets__parts__of="import nets.parts.one",
            nets__parts__one="",
            shared="x = 1",
        )
        assert files_of(folder) == {
            "model.py",
            "shared.py",
            *(
                "nets/__init__.py",
                "nets/wide.py",
                "nets/deep.py",
                "nets/parts/__init__.py",
                "nets/parts/one.py",
            ),
        }

    def test_circles_end(self, project):
        folder = project(model="import a", a="import b", b="import a, model")
        assert files_of(folder) == {"model.py", "a.py", "b.py"}

    def test_the_same_sources_make_the_same_archive_wherever_they_lie(self, tmp_path):
        archives = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "helper.py").write_text("x = 1")
            (folder / "model.py").write_text("import helper")
            archives.append(bundle(folder, "model.build")[0])
        assert archives[0] == archives[1]
        assert zipfile.ZipFile(BytesIO(archives[0])).namelist() == ["helper.py", "model.py"]
        (folder / "helper.py").write_text("x = 2")
        assert bundle(folder, "model.build")[0] != archives[0]

    def test_a_module_that_is_not_there(self, project):
        with pytest.raises(UserError, match=r"no file nets/model\.py in "):
            bundle(project(model=""), "nets.model.build")

    @pytest.mark.parametrize(
        "content", ["x = 1\ny = (2\n", "x = 1\nif x\n    y = 2\n", "x = 1\n\tprint(x)\n"]
    )
    def test_a_syntax_error_is_named_with_its_line(self, project, content):
        folder = project(model="import helper", helper=content)
        with pytest.raises(UserError, match="cannot be parsed") as raised:
            bundle(folder, "model.build")
        assert raised.value.where == f"{folder / 'helper.py'}:2"

    @pytest.mark.parametrize("content", [b"x = '\xe9'\n", b"x = 1\0\n"], ids=["latin", "null"])
    def test_bytes_that_are_no_source(self, project, content):
        folder = project(model="import helper", helper="")
        (folder / "helper.py").write_bytes(content)
        with pytest.raises(UserError, match="cannot be parsed") as raised:
            bundle(folder, "model.build")
        assert raised.value.where.startswith(str(folder / "helper.py"))


class TestLoading:
    def test_imports_of_every_form(self, project, call):
        folder = project(
            model="""
import a
import a as also
import nets.wide
import nets.deep as deep
import os.path, json
from nets import wide, deep as deep_again
from nets.deep import tower
from . import a as near
from .nets.wide import width


def build():
    from nets.late import late
    import nets.later

    assert also is a is near and deep is deep_again is nets.deep and wide is nets.wide
    return [a.x, nets.wide.width, tower, width, late, nets.later.y, os.path.sep, json.dumps(1)]
""",
            a="x = 1",
            nets__wide="width = 2",
            nets__deep="from .wide import width\ntower = width + 1",
            nets__late="late = 4",
            nets__later="y = 5",
        )
        assert call(folder) == [1, 2, 3, 2, 4, 5, "/", "1"]

    def test_the_users_folders_do_not_shadow_ours_nor_ours_theirs(self, project, call):
        folder = project(
            model="""
import components.own
import pipeline
import data.rows
import json


def build():
    return [components.own.x, pipeline.x, data.rows.x, json.x]
""",
            components__own="x = 'mine'",
            pipeline__of="x = 'mine'",
            data__rows="x = 'mine'",
            json="x = 'mine'",
        )
        assert call(folder) == ["mine"] * 4
        import json

        import components.errors
        import pipeline.config

        assert components.errors.UserError is UserError
        assert not hasattr(pipeline, "x")
        assert json.dumps(1) == "1"
        assert pipeline.config

    def test_another_bundle_replaces_the_one_before(self, project, call):
        assert call(project(model="import a\ndef build(): return a.x", a="x = 1")) == 1
        assert call(project(a="x = 2")) == 2

    def test_it_needs_neither_the_project_nor_its_folder(self, project, tmp_path):
        folder = project(model="from helper import x\n\ndef build():\n    return x", helper="x = 'here'")
        (tmp_path / "code.zip").write_bytes(bundle(folder, "model.build")[0])
        for path in folder.iterdir():
            path.unlink()
        call = (
            "import sys; from components.user_code import load; print(load(sys.argv[1], 'model.build', ())())"
        )
        done = subprocess.run(
            [sys.executable, "-c", call, str(tmp_path / "code.zip")],
            capture_output=True,
            text=True,
            cwd="/",
            check=True,
        )
        assert done.stdout.strip() == "here"


class TestBlame:
    @pytest.mark.parametrize(
        ("files", "where", "what"),
        [
            ({"model": "def built(): ..."}, "model.build", "model.py has no function 'build'"),
            ({"model": "build = 3"}, "model.build", "model.py has no function 'build'"),
            ({"model": "\nimport nothere"}, "model.py:2", "ModuleNotFoundError: No module named 'nothere'"),
            ({"model": "import a", "a": "\n\n1 / 0"}, "a.py:3", "ZeroDivisionError: division by zero"),
            (
                {
                    "model": "from a import f\n\ndef build():\n    f()",
                    "a": "def f():\n    raise KeyError('k')",
                },
                "a.py:2",
                "KeyError: 'k'",
            ),
            ({"model": "import json\ndef build():\n    json.loads('x')"}, "model.py:3", "JSONDecodeError: "),
            ({"model": "\ndef build(plan): ..."}, "model.py:2", "build must take (): missing a required"),
        ],
    )
    def test_the_line_of_the_user_is_named(self, project, call, files, where, what):
        with pytest.raises(UserError) as raised:
            call(project(**files))
        assert raised.value.where == where
        assert raised.value.what.startswith(what)

    def test_the_arguments_arrive(self, project, call):
        folder = project(model="def build(plan, config, extra='x'):\n    return plan + config + extra")
        assert call(folder, arguments=("plan", "config")) == "planconfigx"
