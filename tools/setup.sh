#!/usr/bin/env bash
# Makes .venv: picks the stack that this host can run, finds a Python for it, installs what uv.lock says.
# Run again, it does nothing when nothing changed. HEADRACE_PYTHON=/path/to/python overrides the choice.
# Why there are two stacks: docs/stacks.md.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
venv=$root/.venv
stamp=$venv/.headrace-setup # line 1: what .venv was made from; 2: the checkout; 3: the interpreter; 4: the stack

say() { echo "setup: $*"; }
fail() {
  echo "setup: $1" >&2
  [ -z "${2:-}" ] || echo "  fix: $2" >&2
  exit 1
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# How to install system packages here: the apt name, the dnf name.
install_hint() {
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo "
  if command -v apt-get >/dev/null; then
    echo "${sudo}apt-get install -y $1"
  elif command -v dnf >/dev/null; then
    echo "${sudo}dnf install -y $2"
  else
    echo "install $1 (Debian, Ubuntu) or $2 (Fedora, RHEL) or your system's package of it"
  fi
}

# Sets `versions`, the Pythons to look for, best first, `allowed`, those that can work at all, and `why`.
pick_stack() {
  case "$(uname -s) $(uname -m)" in
    "Darwin arm64") versions="3.13 3.12 3.11" allowed=$versions why="macOS on Apple silicon" && return ;;
    "Linux x86_64") ;;
    *) fail "no wheels of TFX exist for $(uname -s) $(uname -m)" "use Linux on x86-64, or macOS on arm64" ;;
  esac
  local glibc major minor
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2) || true
  [ -n "$glibc" ] || fail "this system has no glibc, and TFX has wheels for glibc only" "use a Debian or Ubuntu image"
  IFS=. read -r major minor _ <<<"$glibc"
  if [ "$major" -gt 2 ] || [ "$minor" -ge 39 ]; then
    versions="3.13 3.12 3.11" allowed="$versions 3.10" why="glibc $glibc is 2.39 or newer"
  else
    versions="3.10" allowed=$versions why="glibc $glibc is older than 2.39, which the current stack's wheels need"
  fi
}

# What an interpreter is when it runs, as a pyenv shim may be of another version or of none: VERSION|HAS_HEADERS|PATH
describe() {
  "$1" -c 'import os, sys, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
print("%d.%d" % sys.version_info[:2], os.path.exists(header), os.path.realpath(sys.executable), sep="|")' \
    2>/dev/null </dev/null || true
}

candidates() {
  type -ap "python$1" python3 || true
  local pyenv=${PYENV_ROOT:-$HOME/.pyenv}/versions
  # shellcheck disable=SC2012  # version folders have plain names
  ls -d "$pyenv/$1".*/bin/python 2>/dev/null | sort -rV || true
}

headers_fail() {
  fail "$2 has no header files (Python.h), and some packages are built from source" \
    "$(install_hint "python$1-dev" "python$1-devel")"
}

# Sets `python` (a real path, no shim) and `version`.
find_python() {
  local v candidate found headers path bare=""
  if [ -n "${HEADRACE_PYTHON:-}" ]; then
    IFS='|' read -r version headers python <<<"$(describe "$HEADRACE_PYTHON")"
    [ -n "$version" ] || fail "HEADRACE_PYTHON=$HEADRACE_PYTHON does not run" "name a Python of ${allowed// / or }"
    case " $allowed " in
      *" $version "*) ;;
      *) fail "HEADRACE_PYTHON=$HEADRACE_PYTHON is Python $version, and this host can use ${allowed// / or } ($why)" \
        "name such a Python, or unset HEADRACE_PYTHON" ;;
    esac
    [ "$headers" = True ] || headers_fail "$version" "$python"
    return
  fi
  # A .venv that can work stays as it is, also when HEADRACE_PYTHON chose its Python the last time.
  IFS='|' read -r version headers python <<<"$(describe "$venv/bin/python")"
  case " $allowed " in *" ${version:-none} "*) [ "$headers" != True ] || return 0 ;; esac
  for v in $versions; do
    while read -r candidate; do
      IFS='|' read -r found headers path <<<"$(describe "$candidate")"
      [ "$found" = "$v" ] || continue
      if [ "$headers" = True ]; then
        version=$v python=$path
        return
      fi
      bare=${bare:-$v $path}
    done < <(candidates "$v")
  done
  # shellcheck disable=SC2086  # two words: the version and the path
  [ -z "$bare" ] || headers_fail $bare
  version=${versions%% *}
  find_uv
  say "no Python ${versions// / or } here: uv downloads $version"
  { "$uv" python install --quiet "$version" && python=$("$uv" python find --managed-python "$version"); } || fail \
    "found no Python ${versions// / or }, and the download failed" \
    "install one (pyenv install $version, or your system's package) or set HEADRACE_PYTHON=/path/to/python$version"
}

find_compiler() {
  local name
  for name in "${CXX:-c++}" g++ clang++; do
    if command -v "${name%% *}" >/dev/null; then return; fi
  done
  if [ "$(uname -s)" = Darwin ]; then
    fail "no C++ compiler found, and some packages are built from source" "xcode-select --install"
  fi
  fail "no C++ compiler found, and some packages are built from source" "$(install_hint g++ gcc-c++)"
}

# Sets `uv`: the one on PATH, or the one in .tools, which is installed when there is neither.
find_uv() {
  local name own=$root/.tools/uv pip=""
  for uv in "$(command -v uv || true)" "$own/bin/uv"; do
    case "$("$uv" --version 2>/dev/null || true)" in
      "uv 0."[0-6].*) ;; # too old for this uv.lock
      "uv "*) return ;;
    esac
  done
  for name in python3 "${python:-}"; do
    if "$name" -m pip --version >/dev/null 2>&1; then pip=$name && break; fi
  done
  [ -n "$pip" ] || fail "uv is missing, and so is pip to install it" \
    "curl -LsSf https://astral.sh/uv/install.sh | sh    or: $(install_hint python3-pip python3-pip)"
  say "installing uv into .tools/uv"
  rm -rf "$own" "$own.partial"
  PIP_USER=0 PIP_ROOT_USER_ACTION=ignore "$pip" -m pip install --quiet --disable-pip-version-check --target "$own.partial" "uv>=0.9" ||
    fail "pip could not install uv (its message is above)" "curl -LsSf https://astral.sh/uv/install.sh | sh"
  mv "$own.partial" "$own"
  uv=$own/bin/uv
}

stamp_line() { sed -n "$1p" "$stamp" 2>/dev/null || true; }

# Whether .venv is what a set-up of these files in this folder left, and its interpreter is there and the one asked for.
up_to_date() {
  [ -x "$venv/bin/python" ] && [ "$(stamp_line 1)" = "$key" ] && [ "$(stamp_line 2)" = "$root" ] &&
    { [ -z "${HEADRACE_PYTHON:-}" ] || [ "$HEADRACE_PYTHON" -ef "$(stamp_line 3)" ] ||
      [ "$(describe "$HEADRACE_PYTHON" | cut -d'|' -f3)" = "$(stamp_line 3)" ]; }
}

key=$(cat uv.lock pyproject.toml setup.py tools/setup.sh | sha256)
if up_to_date; then
  say "$(stamp_line 4); .venv is up to date"
  exit 0
fi

mkdir -p .tools
if command -v flock >/dev/null; then # two set-ups at once would write over each other; the kernel drops the lock
  exec 9>.tools/setup.lock
  flock -n 9 || { say "waiting for another set-up of this checkout" && flock 9; }
  if up_to_date; then
    say "$(stamp_line 4); .venv is up to date"
    exit 0
  fi
fi

pick_stack
find_compiler
find_python
find_uv
if [ "$version" = 3.10 ]; then stack="older stack (TFX 1.16, TensorFlow 2.16)"; else stack="current stack (TFX 1.21, TensorFlow 2.21)"; fi
case " $versions " in *" $version "*) ;; *) why="HEADRACE_PYTHON asked for it" ;; esac
line="$stack on Python $version: $why"
say "$line"
say "installing into .venv with $python"

# Scripts in .venv name its folder and its interpreter: for another of either, it is made anew.
made_in=$(stamp_line 2)
made_of=$(describe "$venv/bin/python" | cut -d'|' -f3)
if [ -e "$venv" ] && { [ "${made_in:-$root}" != "$root" ] || [ "$made_of" != "$python" ]; }; then
  say "rebuilding .venv: it was made ${made_of:+with $made_of }${made_in:+in $made_in}"
  rm -rf "$venv"
fi
rm -f "$stamp"

# Imports are three times slower without compiled bytecode, so neither may be switched off here.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX VIRTUAL_ENV PYTHONHOME PYTHONPATH
quiet=--quiet
[ ! -t 2 ] || quiet= # a person sees the progress
UV_PROJECT_ENVIRONMENT=$venv "$uv" sync --frozen --compile-bytecode $quiet --python "$python" ||
  fail "uv sync failed (its message is above); .venv is not complete" "mend the cause, then: make setup"
# A syntax error in our own files is for the linter to tell, not for the set-up to die of.
"$venv/bin/python" -m compileall -q pipeline components serving || true
printf '%s\n' "$key" "$root" "$python" "$line" >"$stamp"
say "done in $SECONDS s"
