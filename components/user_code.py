"""The user's own modules: found, bundled by content, and loaded under a private name.

`model.build: model.build_model` names a function in a file beside pipeline.yaml. All that the
file imports from the project goes into one archive, whose URI a step gets as a parameter; the
step loads it as the package `_headrace_user`, so that no folder of the user's can shadow ours,
nor ours theirs.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from components.errors import UserError

PACKAGE = "_headrace_user"
# Archives must not differ by the time they were made.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _module_file(root: Path, name: str) -> Path | None:
    path = root.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported_names(tree: ast.AST, package: str) -> set[str]:
    """Every module that the code may import, as absolute names; `from a import b` gives a and a.b."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".") if package else []
                kept = parents[: len(parents) - (node.level - 1)]
                base = ".".join([*kept, *([base] if base else [])])
            if base:
                names.add(base)
            names.update(f"{base}.{alias.name}" if base else alias.name for alias in node.names)
    return names


def parse(path: Path) -> ast.Module:
    """The file's syntax tree.

    Raises:
      UserError: for a syntax error, with its line.
    """
    try:
        return ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise UserError(f"cannot be parsed: {error.msg}", where=f"{path}{line}") from error
    except ValueError as error:
        raise UserError(f"cannot be parsed: {error}", where=str(path)) from error


def reachable(root: Path, module: str, within: str = "") -> dict[str, Path]:
    """Module name to file of all modules below `root` that `module` imports, itself included.

    Args:
      root: the folder that top-level modules lie in.
      module: where to begin.
      within: follow only modules of this package; empty: any below `root`.
    """
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or (within and name.split(".")[0] != within):
            continue
        path = _module_file(root, name)
        if path is None:
            continue
        found[name] = path
        parts = name.split(".")
        waiting.extend(".".join(parts[:i]) for i in range(1, len(parts)))
        package = name if path.name == "__init__.py" else ".".join(parts[:-1])
        waiting.extend(imported_names(parse(path), package))
    return found


def bundle(project: Path, dotted: str) -> tuple[bytes, dict[str, str]]:
    """The archive of the module that `dotted` names with all that it imports from the project.

    Returns:
      The zip's bytes, the same for the same sources, and each file's path with its SHA-256.

    Raises:
      UserError: when the project has no such module.
    """
    module = dotted.rpartition(".")[0]
    files = reachable(project, module)
    if module not in files:
        raise UserError(
            f"no file {module.replace('.', '/')}.py in {project}",
            where=dotted,
            fix="name module.function of a file beside pipeline.yaml",
        )
    archive, digests = io.BytesIO(), {}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        for path in sorted(set(files.values())):
            name = path.relative_to(project).as_posix()
            source = path.read_bytes()
            digests[name] = hashlib.sha256(source).hexdigest()
            stream.writestr(zipfile.ZipInfo(name, _EPOCH), source)
    return archive.getvalue(), digests


class _Private(ast.NodeTransformer):
    """Sends the imports of the project's own modules to the private package."""

    def __init__(self, own: set[str]) -> None:
        self._own = own

    def _is_own(self, name: str) -> bool:
        return name.split(".")[0] in self._own

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level and node.module and self._is_own(node.module):
            node.module = f"{PACKAGE}.{node.module}"
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.AST] | ast.AST:
        statements: list[ast.AST] = []
        for alias in node.names:
            if not self._is_own(alias.name):
                statements.append(ast.copy_location(ast.Import([alias]), node))
            elif alias.asname:
                renamed = ast.alias(f"{PACKAGE}.{alias.name}", alias.asname)
                statements.append(ast.copy_location(ast.Import([renamed]), node))
            else:
                # `import a.b` loads a.b and binds a.
                top = alias.name.split(".")[0]
                loads = ast.Import([ast.alias(f"{PACKAGE}.{alias.name}", f"_{PACKAGE}_loaded")])
                binds = ast.ImportFrom(PACKAGE, [ast.alias(top, None)], 0)
                statements.extend(ast.copy_location(statement, node) for statement in (loads, binds))
        return [ast.fix_missing_locations(statement) for statement in statements]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the private package from an archive's sources."""

    def __init__(self, sources: dict[str, bytes], where: str) -> None:
        self._sources, self._where = sources, where
        self._own = {name.split("/")[0].removesuffix(".py") for name in sources}

    def _source(self, fullname: str) -> tuple[str, bool] | None:
        inside = fullname.removeprefix(f"{PACKAGE}.").replace(".", "/")
        if f"{inside}.py" in self._sources:
            return f"{inside}.py", False
        if f"{inside}/__init__.py" in self._sources:
            return f"{inside}/__init__.py", True
        # A folder without __init__.py is a package all the same.
        return ("", True) if any(name.startswith(f"{inside}/") for name in self._sources) else None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == PACKAGE:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if not fullname.startswith(f"{PACKAGE}."):
            return None
        found = self._source(fullname)
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=found[1])

    def exec_module(self, module: Any) -> None:
        found = None if module.__name__ == PACKAGE else self._source(module.__name__)
        if not found or not found[0]:
            return
        file = f"{self._where}/{found[0]}"
        tree = _Private(self._own).visit(ast.parse(self._sources[found[0]], file))
        module.__file__ = file
        exec(compile(tree, file, "exec"), module.__dict__)


@contextlib.contextmanager
def blaming(uri: str) -> Iterator[None]:
    """What the user's code raises becomes a UserError with the line of it that is at fault."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        lines = [
            f"{frame.filename.removeprefix(uri).lstrip('/')}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith(uri)
        ]
        raise UserError(f"{type(error).__name__}: {error}", where=lines[-1] if lines else "") from error


def _check_takes(function: Callable[..., Any], uri: str, arguments: Sequence[str]) -> None:
    """Raises UserError when the function cannot be called with so many arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        code = getattr(function, "__code__", None)
        raise UserError(
            f"{function.__name__} must take ({', '.join(arguments)}): {error}",
            where=f"{code.co_filename.removeprefix(uri).lstrip('/')}:{code.co_firstlineno}" if code else "",
        ) from None
    except ValueError:  # some builtins do not say what they take
        return


def load(uri: str, dotted: str, arguments: Sequence[str]) -> Callable[..., Any]:
    """The function that `dotted` names, from the archive at `uri`.

    Args:
      uri: of the archive that `bundle` made.
      dotted: module.function.
      arguments: names of the arguments that it will be called with, by position.

    Raises:
      UserError: when the module cannot be imported, or has no such function. The function itself
        raises one for whatever goes wrong in it, with the line.
    """
    from tfx.dsl.io import fileio

    with fileio.open(uri, "rb") as stream, zipfile.ZipFile(io.BytesIO(stream.read())) as archive:
        sources = {name: archive.read(name) for name in archive.namelist()}
    for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    sys.meta_path.insert(0, _Finder(sources, uri))
    module_name, _, function = dotted.rpartition(".")
    with blaming(uri):
        module = importlib.import_module(f"{PACKAGE}.{module_name}")
    found = getattr(module, function, None)
    if not callable(found):
        raise UserError(
            f"{module_name.replace('.', '/')}.py has no function {function!r}",
            where=dotted,
            fix=f"define {function}({', '.join(arguments)}) there",
        )
    _check_takes(found, uri, arguments)

    @functools.wraps(found)
    def blamed(*values: Any) -> Any:
        with blaming(uri):
            return found(*values)

    return blamed
