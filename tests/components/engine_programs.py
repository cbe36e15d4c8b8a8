"""Programs named docker and kubectl that start the embedded server where the real ones start TensorFlow Serving.

They take what the real ones take of the arguments that a trial gives, print what Docker 26 and kubectl 1.32 with
Kubernetes 1.33 printed, and keep what runs as files of a folder, by which a test sees what is left behind.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HEAD = """\
#!{python}
import csv, json, os, pathlib, shutil, signal, socket, subprocess, sys, threading, time
state = pathlib.Path({state!r})
args = sys.argv[1:]
{common}
"""

# tensorflow_model_server: a server that opens its ports only with a loaded model, and ends when there is none.
_COMMON = """
def flag(name):
    return next(each.split("=", 1)[1] for each in args if each.startswith(f"--{name}="))

def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)

def serve(model, rest, grpc, **more):
    return subprocess.Popen([sys.executable, "-I", "-m", "serving", model, "--name", flag("model_name"), "--port",
                             str(rest), "--grpc-port", str(grpc)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **more)

def cannot_load():
    print("[evhttp_server.cc : 261] NET_LOG: Entering the event loop ...")
    print("Failed to start server. Error: Unknown: 1 servable(s) did not become available", file=sys.stderr)

def free():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]
"""

_DOCKER = """
def here(name):
    return state / name

if args[0] == "run":
    name = args[args.index("--name") + 1]
    image = args[args.index("--entrypoint") + 2]
    if image == "nosuch/image:1":
        fail("Unable to find image 'nosuch/image:1' locally\\ndocker: Error response from daemon: pull access denied "
             "for nosuch/image\\n\\nRun 'docker run --help' for more information", 125)
    assert args[args.index(image) + 1] == "-c" and "cat <&3" in args[args.index(image) + 2]
    if image == "debian:trixie-slim":
        fail("sh: 2: tensorflow_model_server: not found", 127)
    (mount,) = csv.reader([args[args.index("--mount") + 1]])
    source = dict(each.split("=", 1) for each in mount if "=" in each)["source"]
    if not os.path.isdir(source):
        fail("docker: Error response from daemon: invalid mount config for type \\"bind\\": bind source path does not "
             f"exist: {source}", 125)
    ports = {"8501": free(), "8500": free()}
    if image == "hangs":
        server = subprocess.Popen(["sleep", "100"])
    else:
        server = serve(source, ports["8501"], ports["8500"])
    here(name).write_text(json.dumps({"ports": ports, "pid": server.pid}))
    def end_with_stdin():
        sys.stdin.buffer.read()
        server.kill()
    threading.Thread(target=end_with_stdin, daemon=True).start()
    code = server.wait()
    if code == 2:
        assert flag("max_num_load_retries") == "0", "would try again in a minute"
        cannot_load()
    here(name).unlink(missing_ok=True)
    os._exit(255 if code == 2 else code % 256)
name = args[-2] if args[0] == "port" else args[-1]
if not here(name).exists() or not here(name).read_text():
    fail(f"Error response from daemon: No such container: {name}")
container = json.loads(here(name).read_text())
if args[0] == "port":
    print(f"127.0.0.1:{container['ports'][args[-1].removesuffix('/tcp')]}")
elif args[0] == "stats":
    print("266.3MiB / 23.5GiB")
elif args[0] == "rm":
    os.kill(container["pid"], signal.SIGKILL)
    here(name).unlink()
"""

_KUBECTL = """
assert args[1] == "--namespace"
verb, rest = args[0], args[3:]
names = [each.removeprefix("pod/").split(":")[0] for each in rest]
name = next(each for each in names if each.startswith("infra-validator-"))
pod = state / name
if verb == "run":
    pod.mkdir()
    image = flag("image")
    assert json.loads(flag("overrides"))["spec"]["activeDeadlineSeconds"] > 0
    (pod / "image").write_text(image)
    (pod / "flags").write_text(json.dumps(args))
    (pod / "forwards").write_text("")
    print(f"pod/{name} created")
    sys.exit()
if verb == "delete":
    if (pod / "pid").exists():
        os.kill(int((pod / "pid").read_text()), signal.SIGKILL)
    shutil.rmtree(pod)
    print(f'pod "{name}" deleted')
    sys.exit()
if not pod.exists():
    fail(f'Error from server (NotFound): pods "{name}" not found')
image = (pod / "image").read_text()
args = json.loads((pod / "flags").read_text())
ended = (pod / "log").exists() and "Failed to start server" in (pod / "log").read_text()
if verb == "get":
    status = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}
    if image == "nosuch/image:1":
        waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nosuch/image:1": not found'}
        status = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}],
                  "containerStatuses": [{"state": {"waiting": waiting}}]}
    elif image == "large":
        why = "0/1 nodes are available: 1 Insufficient memory."
        status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": why}]}
    elif image == "debian:trixie-slim" or ended:
        code = 255 if ended else 127
        status = {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": code}}}]}
    print(json.dumps({"kind": "Pod", "status": status}))
elif verb == "logs":
    print("sh: 1: exec: tensorflow_model_server: not found" if image == "debian:trixie-slim" else (pod / "log").read_text())
elif verb == "cp":
    shutil.copytree(rest[0], pod / "staged")
elif verb == "exec" and "mv" in rest:
    (pod / "model").mkdir()
    (pod / "staged").rename(pod / "model" / "1")
    ports = [free(), free()]
    (pod / "ports").write_text(json.dumps(ports))
    with open(pod / "log", "w") as log:
        server = subprocess.Popen([sys.executable, "-c", WAITER, str(pod), flag("model_name"), flag("max_num_load_retries"),
                                   *map(str, ports)], stdout=log, stderr=log, start_new_session=True)
    (pod / "pid").write_text(str(server.pid))
elif verb == "exec":
    print(279_000_000)
elif verb == "port-forward":
    # The real one ends with "lost connection to pod" when it forwards to a port where nobody listens.
    with open(pod / "forwards", "a") as count:
        count.write("x")
    local = [int(each.split(":")[0]) for each in rest[-2:]]
    remote = json.loads((pod / "ports").read_text())
    def pump(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        finally:
            for each in (one, other):
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
    def listen(here, there):
        with socket.create_server(("127.0.0.1", here)) as door:
            while True:
                client, _ = door.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", there))
                except OSError:
                    print("error: lost connection to pod", file=sys.stderr)
                    os._exit(1)
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()
    for pair in zip(local, remote):
        threading.Thread(target=listen, args=pair, daemon=True).start()
    threading.Event().wait()
"""

# The pod's process: the server, and its end as the real one ends.
_WAITER = """
import subprocess, sys
pod, name, retries, rest, grpc = sys.argv[1:]
code = subprocess.call([sys.executable, "-I", "-m", "serving", pod + "/model/1", "--name", name, "--port", rest,
                        "--grpc-port", grpc], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
if code == 2:
    assert retries == "0"
    print("Failed to start server. Error: Unknown: 1 servable(s) did not become available", file=sys.stderr)
"""


def write(folder: Path) -> Path:
    """Writes both programs into `folder`, to be first on PATH; returns the folder of what runs."""
    state = folder / "running"
    state.mkdir(parents=True)
    for name, body in {"docker": _DOCKER, "kubectl": f"WAITER = {_WAITER!r}\n{_KUBECTL}"}.items():
        head = _HEAD.format(python=sys.executable, state=str(state), common=_COMMON)
        (folder / name).write_text(head + body)
        (folder / name).chmod(0o755)
    return state
