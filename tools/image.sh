#!/usr/bin/env bash
# The container image's recipe as a root file system, for hosts that have no container engine: Debian 13 with the
# current stack, made by debootstrap and entered with chroot in a mount namespace of its own.
#
#   tools/image.sh build             make it, or update it to uv.lock; prints its path
#   tools/image.sh run -- CMD...     run CMD in it, on a copy of this checkout in /headrace
#   tools/image.sh test [ARGS...]    run the test suite in it, on hosts that cannot run the current stack themselves
#
# It is kept in ~/.cache/headrace. What CMD writes is gone afterwards: it goes to memory, over the root file system.
set -euo pipefail
self=$(realpath "$0")
checkout=$(dirname "$(dirname "$self")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/headrace

suite=trixie
mirror=${HEADRACE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
# python3-dev and g++ for the packages that are built from source, libgomp1 for TensorFlow's companions.
packages=ca-certificates,python3,python3-dev,g++,libgomp1
recipe=1 # count up when make_root makes something else
venv=/opt/headrace/.venv

say() { echo "image: $*" >&2; }
fail() {
  echo "image: $1" >&2
  [ -z "${2:-}" ] || echo "  fix: $2" >&2
  exit 1
}
short_hash() { sha256sum | cut -c1-10; }

require_root() {
  [ "$(uname -s)" = Linux ] || fail "a root file system can be entered on Linux only"
  [ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root" "sudo $0 $*"
  unshare --mount true 2>/dev/null ||
    fail "this machine permits no mounts (a container without privileges?)" "run it on the host, or in a privileged container"
  command -v debootstrap >/dev/null && return
  local install=""
  if command -v apt-get >/dev/null; then
    install="apt-get install -y -qq debootstrap"
  elif command -v dnf >/dev/null; then
    install="dnf install -y -q debootstrap"
  fi
  [ -n "$install" ] || fail "debootstrap is missing" "install your system's package of it"
  say "$install"
  { $install || { apt-get update -qq && $install; }; } >/dev/null || fail "could not install debootstrap" "$install"
}

# The certificate authorities that this host trusts; a company's own may be among them.
host_certificates() {
  local file
  for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem; do
    if [ -s "$file" ]; then echo "$file" && return; fi
  done
}

# Runs in a namespace of its own: the root file system $1 with an empty layer in memory over it, mounted at $cache/mnt.
# With "write", no layer: what is written stays.
mount_root() {
  mkdir -p "$cache/mnt"
  if [ "${2:-}" = write ]; then
    mount --bind "$1" "$cache/mnt"
    root=$cache/mnt
  else
    mount -t tmpfs -o mode=755 tmpfs "$cache/mnt"
    mkdir "$cache/mnt/upper" "$cache/mnt/work" "$cache/mnt/root"
    mount -t overlay -o "lowerdir=$1,upperdir=$cache/mnt/upper,workdir=$cache/mnt/work" headrace "$cache/mnt/root"
    root=$cache/mnt/root
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --rbind /sys "$root/sys"
  local certificates
  cat /etc/resolv.conf >"$root/etc/resolv.conf" 2>/dev/null || true
  cat /etc/hosts >"$root/etc/hosts" 2>/dev/null || true
  certificates=$(host_certificates)
  [ -z "$certificates" ] || cat "$certificates" >"$root/etc/ssl/certs/ca-certificates.crt"
}

# CMD in $root, in folder $1. Of the environment it gets what says how to reach the network, how to test and how to print.
enter() {
  local name bundle=/etc/ssl/certs/ca-certificates.crt env=()
  for name in "${!HEADRACE_@}" "${!PYTEST_@}" "${!OPENBLAS_@}" CI TERM COLUMNS NO_COLOR FORCE_COLOR \
    http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY UV_INDEX_URL UV_DEFAULT_INDEX PIP_INDEX_URL; do
    case $name in HEADRACE_PYTHON | HEADRACE_HOME | PYTEST_CURRENT_TEST) continue ;; esac # of the host
    [ -z "${!name+set}" ] || env+=("$name=${!name}")
  done
  for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GRPC_DEFAULT_SSL_ROOTS_FILE_PATH; do
    [ -z "${!name:-}" ] || env+=("$name=$bundle")
  done
  chroot "$root" /usr/bin/env -i -C "$1" HOME=/root LANG=C.UTF-8 "PATH=$venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/uv/bin" \
    VIRTUAL_ENV="$venv" UV_PROJECT_ENVIRONMENT="$venv" PYTHONUNBUFFERED=1 ${env[@]+"${env[@]}"} "${@:2}"
}

find_uv() {
  for uv in "$(command -v uv || true)" "$checkout/.tools/uv/bin/uv"; do
    if "$uv" --version >/dev/null 2>&1; then return; fi
  done
  fail "uv is missing" "make setup"
}

# Makes or updates the root file system in folder $1.
make_root() {
  if [ ! -x "$1/usr/bin/python3" ]; then
    say "debootstrap $suite"
    debootstrap --variant=minbase --include="$packages" "$suite" "$1" "$mirror" >"$1.log" 2>&1 ||
      { tail -5 "$1.log" >&2 && fail "debootstrap failed; its whole log is $1.log"; }
    rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/* "$1.log"
  fi
  mkdir -p "$1/opt/headrace" "$1/headrace"
  cp "$checkout/uv.lock" "$checkout/pyproject.toml" "$1/opt/headrace/"
  # The host's own uv may be a wrapper script, so it fetches another for in there.
  "$uv" pip install --quiet --target "$1/opt/uv" --python-version 3.13 "uv>=0.9" || fail "uv could not be fetched"
  say "uv sync in it"
  unshare --mount --pid --fork --kill-child "$self" _sync "$1" || fail "uv sync failed in $1 (its message is above)"
  rm -rf "$1/root/.cache"
}

build() {
  local name old
  require_root "$@"
  find_uv
  name=rootfs-$(echo "$suite $packages $recipe" | short_hash)
  image=$cache/$name-$(short_hash <"$checkout/uv.lock")
  mkdir -p "$cache"
  exec 7>"$cache/build.lock" # one builder at a time; the kernel drops the lock with the process
  flock -n 7 || { say "waiting for another build" && flock 7; }
  for old in "$cache"/rootfs-*-*; do
    case $old in "$image" | "$image.partial" | *'*') continue ;; *.log) rm "$old" && continue ;; esac
    exec 8<"$old"
    if ! flock -n 8; then
      say "an older one is in use and stays: $old"
    elif [ "${old%-*}" = "$cache/$name" ] && [ ! -e "$image" ] && [ ! -e "$image.partial" ]; then
      say "updating $old to the new uv.lock"
      mv "$old" "$image.partial"
    else
      say "removing an older one: $old"
      rm -rf --one-file-system "$old"
    fi
    exec 8<&-
  done
  if [ ! -e "$image" ]; then
    # An interrupted debootstrap cannot be taken up again; an interrupted uv sync can.
    [ -x "$image.partial$venv/bin/python" ] || rm -rf --one-file-system "$image.partial"
    say "making $image"
    make_root "$image.partial"
    mv "$image.partial" "$image"
    say "made in $SECONDS s, $(du -sh "$image" | cut -f1)"
  fi
  exec 8<"$image"
  flock -s 8 # in use, as long as this process lives
  exec 7>&-
}

copy_checkout() {
  tar -C "$checkout" -c --exclude=./.git --exclude=./.venv --exclude=./.tools --exclude=.headrace --exclude=__pycache__ \
    --exclude='.*_cache' --exclude='./data/*/*.csv' --exclude='./data/*/images' --exclude=.hypothesis --exclude='*.egg-info' --exclude=./build --exclude=./dist . |
    tar -C "$root/headrace" -x --no-same-owner
}

case "${1:-}" in
  build)
    build build
    echo "$image"
    ;;
  run)
    shift
    [ "${1:-}" != -- ] || shift
    [ $# -gt 0 ] || fail "run needs a command" "$0 run -- headrace doctor"
    build run -- "$@"
    # exec, so that whoever ends this process ends all that runs in there
    exec unshare --mount --pid --fork --kill-child "$self" _run "$image" "$@"
    ;;
  test)
    shift
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2 || true)
    if [ "$(uname -s)" != Linux ] || [ "$(printf '%s\n' 2.39 "$glibc" | sort -V | head -1)" = 2.39 ]; then
      echo "image: nothing to do: this host runs the current stack itself"
      exit 0
    fi
    say "glibc $glibc is older than 2.39: testing the current stack in its own root file system"
    "$self" run -- python -m pytest "$@"
    ;;
  _sync) # inside the namespace
    mount_root "$2" write
    unset HEADRACE_PYTHON
    enter /opt/headrace /opt/uv/bin/uv sync --frozen --no-install-project --compile-bytecode --quiet --no-managed-python --python /usr/bin/python3
    ;;
  _run) # inside the namespace; this process is its first, and all that CMD leaves running ends with it
    mount_root "$2"
    copy_checkout
    enter /headrace /opt/uv/bin/uv pip install --quiet --python "$venv" --offline --no-cache --no-deps --no-build-isolation -e .
    enter /headrace "${@:3}"
    ;;
  *)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"
    exit 2
    ;;
esac
