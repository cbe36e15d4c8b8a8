"""A task's command in a process that sees what a pod would: the image, its inputs, its claims, and no more.

A mount namespace with a root of its own stands in for the container. It holds the operating system and the
Python that runs this (or an image's root file system instead), read-only where the kernel permits it; an
empty home, an empty /tmp and a /dev/shm of the size that Kubernetes gives; /s3, /minio and /gcs with what the
launcher fetches; and the claims where the spec mounts them. Of this machine's other files it holds none, and
what a command writes beside its outputs goes with the pod. The environment is empty but for what the image
and the spec say of it. Two things it does not stand in for: the image's user, here it is root, and a network
of its own.
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
from pathlib import Path

from components.errors import UserError
from pipeline.kubeflow.mounts import FOLDERS

_ROOT = Path(__file__).parents[3]
_PACKAGES = ("components", "pipeline", "serving")
_OWN = (*FOLDERS, "tmp")
# As in Dockerfile.
_HOME = "/home/headrace"
# Arguments: the pod's folder, the root file system, the checkout, the folders that Python needs with `:`
# between them, the number of claims, a folder and a mount point for each, the command.
_SCRIPT = """
set -e
pod=$1 base=$2 checkout=$3 needed=$4 claims=$5
shift 5
new=$pod/root
show() {
  mkdir -p "$new$2"
  mount --rbind "$1" "$new$2"
  # Not every kernel lets a user's namespace do this.
  mount -o remount,bind,ro "$new$2" 2>/dev/null || true
}
if [ "$base" = / ]; then
  for name in bin etc lib lib32 lib64 libx32 nix sbin usr; do
    if [ -L "/$name" ]; then
      cp -P "/$name" "$new/$name"
    elif [ -d "/$name" ]; then
      show "/$name" "/$name"
    fi
  done
else
  mount -t tmpfs tmpfs "$pod/layer"
  mkdir "$pod/layer/upper" "$pod/layer/work"
  mount -t overlay -o "lowerdir=$base,upperdir=$pod/layer/upper,workdir=$pod/layer/work" overlay "$new"
fi
for name in proc dev sys; do
  mkdir -p "$new/$name"
  mount --rbind "/$name" "$new/$name"
done
mount -t tmpfs -o size=64m tmpfs "$new/dev/shm"
for name in s3 minio gcs tmp; do
  mkdir -p "$new/$name"
  mount --bind "$pod/$name" "$new/$name"
done
if [ "$base" = / ]; then
  IFS=:
  for path in $needed; do show "$path" "$path"; done
  unset IFS
  # Names of hosts are looked up by a file that may lie outside of /etc.
  names=$(readlink -f /etc/resolv.conf || true)
  case $names in
    /etc/* | "") ;;
    *) mkdir -p "$new${names%/*}" && touch "$new$names" && mount --bind "$names" "$new$names" ;;
  esac
else
  for name in components pipeline serving; do show "$checkout/$name" "/headrace/$name"; done
  for site in "$new"/opt/headrace/.venv/lib/python3*/site-packages; do
    echo /headrace >"$site/headrace.pth"
  done
fi
while [ "$claims" -gt 0 ]; do
  mkdir -p "$new$2"
  mount --bind "$1" "$new$2"
  shift 2
  claims=$((claims - 1))
done
mkdir -p "$new$HOME"
exec chroot "$new" /usr/bin/env -C "$HOME" "$@"
"""


@dataclass(frozen=True)
class Pod:
    """The pod of one try of one task.

    Attributes:
      folder: an empty folder for what it sees; goes with it.
      claims: mount point to the folder that stands for the claim, or for a secret.
      environment: what the spec says of it.
      base: the root file system: this machine's, or that of tools/image.sh, into which this checkout is put.
    """

    folder: Path
    claims: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    base: Path = Path("/")

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
        arguments = [str(self.folder), str(self.base), str(_ROOT), ":".join(_needed()), str(len(self.claims))]
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
                    "HOME": _HOME,
                    "LANG": "C.UTF-8",
                    "PYTHONUNBUFFERED": "1",
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


def _needed() -> list[str]:
    """The folders of the Python that runs this, outermost first, beyond what every system has in /usr."""
    paths = {sys.prefix, sys.base_prefix, *(str(_ROOT / name) for name in _PACKAGES)}
    found: list[str] = []
    for path in sorted(
        {os.path.abspath(each) for each in paths} | {os.path.realpath(each) for each in paths}
    ):
        if not any(Path(path).is_relative_to(known) for known in ("/usr", *found)):
            found.append(path)
    return found


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
