"""A task's command in a process that sees what a pod would: the image, its inputs, its claims, and no more.

A mount namespace with a root of its own stands in for the container: the machine's folders (or those of an
image's root file system), with /tmp, /s3, /minio and /gcs empty but for what the launcher fetches, and the
claims where the spec mounts them. The environment is empty but for what the spec says.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from components.errors import UserError
from pipeline.kubeflow.mounts import FOLDERS

_ROOT = Path(__file__).parents[3]
_OWN = (*FOLDERS, "tmp")
# Arguments: the pod's folder, the root file system, top-level names to leave out with `:` between them, the
# checkout, the project's folder, the number of claims, a folder and a mount point for each, the command.
_SCRIPT = """
set -e
pod=$1 base=$2 hidden=$3 checkout=$4 project=$5 claims=$6
shift 6
new=$pod/root
if [ "$base" = / ]; then
  for path in /* /.[!.]*; do
    name=${path#/}
    case ":$hidden:" in *":$name:"*) continue ;; esac
    if [ -L "$path" ]; then
      cp -P "$path" "$new/$name"
    elif [ -d "$path" ]; then
      mkdir "$new/$name"
      mount --rbind "$path" "$new/$name"
    fi
  done
  [ -z "$project" ] || mount -t tmpfs tmpfs "$new$project"
else
  mount -t tmpfs tmpfs "$pod/layer"
  mkdir "$pod/layer/upper" "$pod/layer/work"
  mount -t overlay -o "lowerdir=$base,upperdir=$pod/layer/upper,workdir=$pod/layer/work" overlay "$new"
  for name in proc dev sys; do mount --rbind "/$name" "$new/$name"; done
  for name in components pipeline serving; do
    mkdir -p "$new/headrace/$name"
    mount --bind "$checkout/$name" "$new/headrace/$name"
  done
  for site in "$new"/opt/headrace/.venv/lib/python3*/site-packages; do
    echo /headrace >"$site/headrace.pth"
  done
fi
for name in s3 minio gcs tmp; do
  mkdir -p "$new/$name"
  mount --bind "$pod/$name" "$new/$name"
done
while [ "$claims" -gt 0 ]; do
  mkdir -p "$new$2"
  mount --bind "$1" "$new$2"
  shift 2
  claims=$((claims - 1))
done
exec chroot "$new" /usr/bin/env -C / "$@"
"""


@dataclass(frozen=True)
class Pod:
    """The pod of one try of one task.

    Attributes:
      folder: an empty folder for what it sees; goes with it.
      claims: mount point to the folder that stands for the claim, or for a secret.
      environment: what the spec says of it.
      base: the root file system: this machine's, or that of tools/image.sh, into which this checkout is put.
      hidden: a folder of this machine that the pod sees empty; None: none.
    """

    folder: Path
    claims: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    base: Path = Path("/")
    hidden: Path | None = None

    def __enter__(self) -> Pod:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in (*_OWN, "root", "layer"):
            (self.folder / name).mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, inside: str) -> Path:
        """Where a path below /s3, /minio, /gcs or /tmp in the pod lies outside."""
        return self.folder / inside.lstrip("/")

    def run(self, command: Sequence[str], log: Path, timeout: float | None = None) -> int:
        """Runs a command to its end, and ends what it leaves running.

        Args:
          command: as the launcher calls it.
          log: gets what it prints.
          timeout: seconds after which the pod is ended; None: none.

        Returns:
          The exit code; negative for a signal.
        """
        arguments = [
            str(self.folder),
            str(self.base),
            ":".join(self._own()),
            str(_ROOT),
            self._project(),
            str(len(self.claims)),
        ]
        for mount, folder in self.claims.items():
            folder.mkdir(parents=True, exist_ok=True)
            arguments += [str(folder), mount]
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                [*_namespace(), "sh", "-c", _SCRIPT, "pod", *arguments, *command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={
                    "PATH": f"{self._python()}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                    "HOME": "/tmp",
                    "LANG": "C.UTF-8",
                    **self.environment,
                },
                start_new_session=True,
            )
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                stream.write(f"ended: it ran for more than {timeout:g} s\n".encode())
                return -signal.SIGKILL
            finally:
                _end_group(process)

    def _python(self) -> Path:
        return Path(sys.executable).parent if self.base == Path("/") else Path("/opt/headrace/.venv/bin")

    def _project(self) -> str:
        """The folder to hide; empty where it is hidden already, or what the pod runs lies below it."""
        if self.hidden is None or PurePosixPath(self.hidden).parts[1] in self._own():
            return ""
        needed = [Path(os.path.abspath(each)) for each in (sys.prefix, sys.base_prefix, _ROOT)]
        return "" if any(each.is_relative_to(self.hidden) for each in needed) else str(self.hidden)

    def _own(self) -> list[str]:
        """Top-level folders that the pod has of its own, in place of the machine's."""
        found = {*_OWN, *(PurePosixPath(mount).parts[1] for mount in self.claims)}
        if self.base == Path("/"):
            for needed in (sys.prefix, sys.base_prefix, str(_ROOT)):
                top = PurePosixPath(os.path.abspath(needed)).parts[1]
                if top in found:
                    raise UserError(
                        f"the simulated pod has a /{top} of its own, and {needed} lies below it",
                        where="kubeflow simulate",
                        fix="mount claims elsewhere, such as in /models, and install outside of /tmp",
                    )
        return sorted(found)


def _end_group(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _namespace() -> list[str]:
    """The command that gives what follows it a mount namespace."""
    return (
        ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    )


def check_possible() -> None:
    """Raises UserError when this machine gives no mount namespaces."""
    if shutil.which("unshare"):
        tried = subprocess.run(
            [*_namespace(), "mount", "--bind", "/tmp", "/tmp"], capture_output=True, text=True
        )
        if tried.returncode == 0:
            return
        reason = tried.stderr.strip()
    else:
        reason = "there is no unshare"
    raise UserError(
        f"this machine cannot set up a pod's file system: {reason}",
        where="kubeflow simulate",
        fix="run it on Linux, as root or where users may have namespaces of their own",
    )
