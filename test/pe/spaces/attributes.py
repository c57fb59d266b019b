#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Attributes of spaces from Python, without a macro: the structure is made from the table of
docs/design/spaces.md, which has what the ABI has, and a space is created with it.

usage: attributes.py LIBRARY SPACES.MD ABI
"""

import ctypes
import re
import sys


def fields(page):
    """(offset, name, type, default) of each row of the table."""
    row = re.compile(r"^\| (\d+) \| `(\w+)` \| `(c_\w+)` \| ([^|]+?) \|", re.M)
    with open(page, encoding="utf-8") as text:
        rows = [(int(at), name, kind, default) for at, name, kind, default in
                row.findall(text.read())]
    return rows


class Config(ctypes.Structure):
    """shmem_space_config_t"""
    _fields_ = [("device_type", ctypes.c_int), ("size", ctypes.c_size_t),
                ("flags", ctypes.c_int)]


def check(right, what):
    """A PE that fails ends the job."""
    if not right:
        print(f"attributes.py: {what}", file=sys.stderr)
        library.shmem_global_exit(2)


def check_table(table):
    """Offsets and defaults are those of the library."""
    attr = Attr()
    ctypes.memset(ctypes.byref(attr), 0xa5, ctypes.sizeof(attr))
    library.shmemx_space_attr_init(ctypes.byref(attr), ctypes.c_size_t(ctypes.sizeof(attr)))
    for at, name, _, default in table:
        value = getattr(attr, name)
        check(getattr(Attr, name).offset == at, f"{name} is at {getattr(Attr, name).offset}")
        if default == "its size":
            check(value == ctypes.sizeof(attr), f"struct_size is {value}")
        elif default == "the world":
            check(value not in (None, 0), "no parent")
        else:
            check(str(value) == default, f"{name} is {value}, not {default}")
    with open(sys.argv[3], encoding="utf-8") as text:
        abi = re.findall(r"^FIELD\(shmemx_space_attr_t, (\w+), (\d+), (\d+)\)", text.read(), re.M)
    told = [(name, str(at), str(getattr(Attr, name).size)) for at, name, _, _ in table]
    check(told == abi, f"the table has {told}, the ABI {abi}")


def check_space():
    """A space whose pages come from all NUMA nodes, used and destroyed."""
    config, attr = Config(0, 1 << 20, 0), Attr()
    space, team = ctypes.c_void_p(), ctypes.c_void_p()
    library.shmemx_space_attr_init(ctypes.byref(attr), ctypes.c_size_t(ctypes.sizeof(attr)))
    attr.numa_policy = 2
    check(library.shmemx_space_create_attr(ctypes.byref(config), ctypes.byref(attr),
                                           ctypes.byref(space), ctypes.byref(team)) == 0,
          "no space")
    word = library.shmem_space_malloc(space, ctypes.c_size_t(8))
    check(word is not None, "no memory")
    me, n_pes = library.shmem_my_pe(), library.shmem_n_pes()
    library.shmem_long_p(ctypes.c_void_p(word), ctypes.c_long(7 + me), (me + 1) % n_pes)
    library.shmem_barrier_all()
    left = (me + n_pes - 1) % n_pes
    check(ctypes.c_long.from_address(word).value == 7 + left, "the word did not come")
    library.shmem_space_free(space, ctypes.c_void_p(word))
    library.shmem_team_destroy(team)
    check(library.shmem_space_destroy(space) == 0, "the space stays")


TABLE = fields(sys.argv[2])
library = ctypes.CDLL(sys.argv[1])
library.shmem_space_malloc.restype = ctypes.c_void_p
Attr = type("Attr", (ctypes.Structure,),
            {"_fields_": [(name, getattr(ctypes, kind)) for _, name, kind, _ in TABLE]})
library.shmem_init()
check_table(TABLE)
check_space()
library.shmem_finalize()
