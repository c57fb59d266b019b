#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Runs the tests with the label smoke as in a container of an ordinary user: user 12345, 1024 open
files, 64 KiB of locked memory, 64 MiB in /dev/shm, and no ptrace, process_vm_* and pidfd_getfd.
Checks that each fallback is named. Needs root, which gives the rights away. Skips (77) otherwise.

usage: ordinary_user.py CTEST BUILD-FOLDER [PATTERN]
  PATTERN: a regular expression; only tests whose names contain it are run
"""
import ctypes
import errno
import json
import os
import platform
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

SKIP, FAILED = 77, 2
USER = 12345
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 1 << 18
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
# ptrace, process_vm_readv, process_vm_writev, pidfd_getfd
REFUSED = {"x86_64": (101, 310, 311, 438), "aarch64": (117, 270, 271, 438)}
# Variables of root's own session and folders that the user cannot write to.
DROPPED = ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "CCACHE_DIR")
libc = ctypes.CDLL(None, use_errno=True)


def checked(result, call):
    if result != 0:
        number = ctypes.get_errno()
        print(f"ordinary_user: {call}: {os.strerror(number)}", file=sys.stderr)
        sys.exit(SKIP if number in (errno.EPERM, errno.ENOSYS, errno.EINVAL) else FAILED)


def mount(source, target, kind, flags, data=b""):
    checked(libc.mount(source.encode(), target.encode(), kind, ctypes.c_ulong(flags), data),
            f"mount on {target}")


def refuse_system_calls():
    """Makes the system calls fail with EPERM, in this process and its children."""
    numbers = REFUSED[platform.machine()]
    code = [(0x20, 0, 0, 0)]  # load the number of the system call
    for i, number in enumerate(numbers):
        code.append((0x15, len(numbers) - i, 0, number))  # if equal, jump to the last instruction
    code += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x00050000 | errno.EPERM)]
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    checked(libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0), "seccomp")


def become_user(build, folder):
    """Private mounts, limits and refusals for all processes that are started from now on."""
    checked(libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", "/dev/shm", b"tmpfs", 0, b"size=64m,mode=1777")
    endless = os.path.join(folder, "endless")
    os.mkfifo(endless)
    os.chmod(folder, 0o777)
    os.chmod(endless, 0o666)
    mount(endless, os.path.join(build, "test", "endless"), None, MS_BIND)
    os.mkdir(os.path.join(folder, "fam"), 0o777)
    os.chmod(os.path.join(folder, "fam"), 0o777)
    mount(os.path.join(folder, "fam"), os.path.join(build, "test", "pe", "fam"), None, MS_BIND)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    refuse_system_calls()
    for name in DROPPED:
        os.environ.pop(name, None)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder


def environment(test):
    variables = dict(os.environ)
    for item in test["properties"]:
        if item["name"] == "ENVIRONMENT":
            variables.update(entry.split("=", 1) for entry in item["value"])
    return variables


def run(test, folder):
    """Returns an error text, or an empty text if the test has passed or was skipped."""
    properties = {item["name"]: item["value"] for item in test["properties"]}
    try:
        done = subprocess.run(test["command"], cwd=folder, env=environment(test), check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=properties.get("TIMEOUT", 120))
    except subprocess.TimeoutExpired:
        return "it did not end in time"
    if done.returncode in (0, properties.get("SKIP_RETURN_CODE")):
        return ""
    return f"status {done.returncode}\n{done.stdout.decode(errors='replace')[-3000:]}"


def names_fallbacks(build, folder):
    """Returns an error text unless oshinfo --doctor names what this user lacks."""
    done = subprocess.run([os.path.join(build, "bin", "oshinfo"), "--doctor", "--verbose"], cwd=folder,
                          check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    text = done.stdout.decode(errors="replace")
    words = ("process_vm_readv: Operation not permitted", "64 MiB free of 64 MiB",
             "ulimit -l: 64 KiB", "ulimit -n: 1024")
    flat = " ".join(text.split())  # the doctor breaks lines
    missing = [word for word in words if word not in flat]
    return f"oshinfo --doctor does not name {missing}:\n{text}" if missing else ""


def names_copies(build, folder):
    """Returns an error text unless a program whose PEs cannot copy from each other reports this."""
    program = [os.path.join(build, "bin", name) for name in ("oshrun", "pe_space_adopt")]
    done = subprocess.run([program[0], "-n", "2", program[1], "staged"], cwd=folder, check=False,
                          env=dict(os.environ, SHMEM_DEBUG="1"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    text = done.stdout.decode(errors="replace")
    if done.returncode == 0 and "the kernel refuses to copy to and from" in text:
        return ""
    return f"no line names the copies of the proxy thread (status {done.returncode}):\n{text}"


def report(name, error):
    print(f"{'FAIL' if error else 'ok  '} {name} {error}", flush=True)
    return error != ""


def main():
    ctest, build = sys.argv[1], os.path.abspath(sys.argv[2])
    pattern = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1", "-L", "smoke"],
                            check=True, stdout=subprocess.PIPE)
    tests = [test for test in json.loads(listed.stdout)["tests"]
             if pattern.search(test["name"]) and not test["name"].startswith("tree.")]
    if os.geteuid() != 0 or platform.machine() not in REFUSED:
        print("ordinary_user: skip: needs root on x86-64 or aarch64", file=sys.stderr)
        return SKIP
    folder = tempfile.mkdtemp()
    failed = 0
    child = os.fork()  # the parent stays root, to remove what the user has left
    if child != 0:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shutil.rmtree(folder, ignore_errors=True)
        return status
    become_user(build, folder)
    if not os.access(os.path.join(build, "bin", "oshrun"), os.X_OK):
        print(f"ordinary_user: skip: other users cannot read {build}", file=sys.stderr)
        os._exit(SKIP)
    failed += report("the doctor names the fallbacks", names_fallbacks(build, folder))
    failed += report("a line names the copies of the proxy thread", names_copies(build, folder))
    for test in tests:
        failed += report(test["name"], run(test, folder))
    os._exit(FAILED if failed or not tests else 0)


sys.exit(main())
