# SPDX-License-Identifier: BSD-3-Clause
"""
Checks that a Python program that is a PE can use multiprocessing, with workers that are forked and
with workers that are spawned. A forked worker that calls a routine ends alone with status 1.
usage: fork_python.py LIBRARY
"""
import ctypes
import multiprocessing
import os
import sys


def square(connection):
    connection.send(connection.recv() ** 2)


def check(condition, text):
    if not condition:
        print(f"fork_python.py: {text}", file=sys.stderr)
        library.shmem_global_exit(2)


def barrier_in_child():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the line of the library is expected
    library.shmem_barrier_all()


def main():
    heap = ctypes.cast(library.shmem_calloc(ctypes.c_size_t(1), ctypes.c_size_t(8)),
                       ctypes.POINTER(ctypes.c_long))
    me, n = library.shmem_my_pe(), library.shmem_n_pes()
    for method in "fork", "spawn":
        # No pool, because its semaphores are files in /dev/shm, which tests beside this one notice.
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        worker = context.Process(target=square, args=(theirs,))
        worker.start()
        ours.send(7)
        result = ours.recv()
        worker.join()
        check(result == 49 and worker.exitcode == 0,
              f"a worker ({method}) returned {result} and ended with {worker.exitcode}, expected 49 and 0")
    child = multiprocessing.get_context("fork").Process(target=barrier_in_child)
    child.start()
    child.join()
    check(child.exitcode == 1, f"a child in a barrier ended with {child.exitcode}, expected 1")
    library.shmem_long_p(heap, ctypes.c_long(me + 1), ctypes.c_int((me + 1) % n))
    library.shmem_barrier_all()
    check(heap[0] == (me + n - 1) % n + 1, f"the put of the left PE brought {heap[0]}")
    library.shmem_finalize()


if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv[1])
    library.shmem_calloc.restype = ctypes.c_void_p
    library.shmem_init()
    main()
