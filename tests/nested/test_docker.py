# SPDX-License-Identifier: Apache-2.0
"""BR-154: started in a container of the real Docker engine, with more and fewer permissions. The engine is this test's own: a
daemon with a data folder, a socket and no network, ended with the test; the image holds plimsoll, the libraries that it needs,
and nothing else."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import IS_ROOT, PEOPLE, PROGRAMS, USER_ID, Inside, every_claim_holds

RUNS = "runs"
NO_VIEW = ["host.view", "nested pid namespace", "--pid=host"]
CLONE = ["clone into namespaces", "filter", "seccomp="]
MOUNT = ["mount a root", "filter", "seccomp="]
PRIVILEGED = ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt", "systempaths=unconfined"]
# What starting a container may take before anything of ours is started; this is not what is tested.
ENGINE_S = 30.0

CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP""".split()


def privileged():
    """--privileged; where this machine itself lacks a capability, which the engine takes for an error, the same but for that."""
    status = pathlib.Path("/proc/self/status").read_text()
    have = int(re.search(r"CapBnd:\s*(\S+)", status)[1], 16)
    last = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
    if have == (2 << last) - 1:
        return ["--privileged"]
    names = [name for number, name in enumerate(CAPABILITIES) if have >> number & 1]
    return [*PRIVILEGED, "--cap-drop=ALL", *(f"--cap-add={name}" for name in names)]


def image_fill(folder, programs):
    """plimsoll in /app, and what the loader says it needs where it is looked for."""
    for name in ("app", "proc", "tmp", "run", "etc"):
        (folder / name).mkdir()
    for name in PROGRAMS:
        shutil.copy(programs / name, folder / "app" / name)
        needs = subprocess.run(["ldd", programs / name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for path in re.findall(r"(/\S+)", needs.stdout):
            if os.path.isfile(path) and not path.startswith(str(programs)):
                target = folder / path.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)


def daemon_start(folder):
    """The daemon, or the reason why there is none."""
    socket, log = f"unix://{folder}/sock", folder / "log"
    with open(log, "wb") as output:
        daemon = subprocess.Popen(["dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs",
                                   "--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid", "-H", socket],
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/")
    end = time.monotonic() + 60
    while daemon.poll() is None and time.monotonic() < end:
        if subprocess.run(["docker", "-H", socket, "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return daemon, socket
        time.sleep(0.2)
    daemon_end(daemon)
    lines = log.read_text(errors="replace").strip().splitlines()
    return None, lines[-1] if lines else "it says nothing"


def daemon_end(daemon):
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def unmount_below(folder):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        paths = [line.split()[4] for line in file if line.split()[4].startswith(f"{folder}/")]
    for path in reversed(paths):
        subprocess.run(["umount", "-l", path], check=False)


@pytest.fixture(scope="session")
def engine(programs):
    """The words that run plimsoll's image in a new container, but for the options in between."""
    if not IS_ROOT:
        pytest.skip("the Docker engine is started by root")
    if not shutil.which("dockerd") or not shutil.which("docker"):
        pytest.skip("needs the Docker engine: scripts/setup test")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pl-docker-", dir="/tmp"))  # short: its sockets are below it
    daemon, socket = daemon_start(folder)
    try:
        if not daemon:
            pytest.skip(f"the Docker engine does not start here: {socket}")
        (folder / "image").mkdir()
        image_fill(folder / "image", programs)
        tar = subprocess.Popen(["tar", "-C", folder / "image", "-c", "."], stdout=subprocess.PIPE)
        subprocess.run(["docker", "-H", socket, "import", "-", "plimsoll-nested"], stdin=tar.stdout, stdout=subprocess.DEVNULL, check=True)
        tar.stdout.close()
        assert tar.wait() == 0
        yield ["docker", "-H", socket, "run", "--rm", "--network=none"]
    finally:
        if daemon:
            daemon_end(daemon)
        unmount_below(folder)
        shutil.rmtree(folder, ignore_errors=True)


# name: (options, what to expect of the container wall as root, as a user); the process wall is there in all of them.
CONTAINERS = {
    "as it comes": ([], NO_VIEW, NO_VIEW),
    "with SYS_ADMIN": (["--cap-add=SYS_ADMIN"], NO_VIEW, NO_VIEW),
    "privileged": (privileged, NO_VIEW, NO_VIEW),
    "read-only": (["--read-only", "--tmpfs=/run"], NO_VIEW, NO_VIEW),
    "no new privileges, no capabilities": (["--security-opt=no-new-privileges", "--cap-drop=ALL"], NO_VIEW, NO_VIEW),
    "few processes, little memory": (["--pids-limit=32", "--memory=256m"], NO_VIEW, NO_VIEW),
    "the host's pids": (["--pid=host"], ["cred.uid", "CAP_SYS_ADMIN, CAP_SYS_PTRACE"], CLONE),
    "the host's pids, SYS_ADMIN": (["--pid=host", "--cap-add=SYS_ADMIN"], ["cred.uid", "CAP_SYS_PTRACE"], MOUNT),
    "the host's pids, SYS_ADMIN, SYS_PTRACE": (["--pid=host", "--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE"], MOUNT, MOUNT),
    "the host's pids, no filter": (["--pid=host", "--security-opt=seccomp=unconfined"], ["cred.uid", "CAP_SYS_ADMIN, CAP_SYS_PTRACE"], None),
    "the host's pids, privileged": (lambda: ["--pid=host", *privileged()], RUNS, RUNS),
}


# Every container costs a second: where the answer is that of another one, nightly.
COMBINATIONS = [(name, who) for name in CONTAINERS for who in PEOPLE
                if os.environ.get("PLIMSOLL_ALL") or who == "root" or name in ("as it comes", "privileged") or "host" in name]


@pytest.mark.parametrize("name, who", COMBINATIONS)
def test_in_a_container(engine, name, who):
    options, as_root, as_user = CONTAINERS[name]
    options = options() if callable(options) else options
    user = [f"--user={USER_ID}:{USER_ID}"] if who == "user" else []
    inside = Inside([*engine, *options, *user, "plimsoll-nested"], "/app/plimsoll", who, slow=ENGINE_S)
    rows, _ = every_claim_holds(inside, as_root if who == "root" else as_user, RUNS)
    nested = "--pid=host" not in options
    assert rows[("host", "container")]["state"] == ("limited" if nested else "ok")
