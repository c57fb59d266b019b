#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that another language can use the attributes of spaces without the macros of the header.
The structure is made from the table in docs/design/spaces.md. Its offsets, sizes and defaults must
be those of the library and of the list of the ABI, and a space is created with it.

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
        check(getattr(Attr, name).offset == at, f"field {name} is at offset {getattr(Attr, name).offset}, the table has {at}")
        if default == "its size":
            check(value == ctypes.sizeof(attr), f"struct_size is {value}, expected {ctypes.sizeof(attr)}")
        elif default == "the world":
            check(value not in (None, 0), "the default of parent is NULL, expected the world team")
        else:
            check(str(value) == default, f"the default of {name} is {value}, the table has {default}")
    with open(sys.argv[3], encoding="utf-8") as text:
        abi = re.findall(r"^FIELD\(shmemx_space_attr_t, (\w+), (\d+), (\d+)\)", text.read(), re.M)
    told = [(name, str(at), str(getattr(Attr, name).size)) for at, name, _, _ in table]
    check(told == abi, f"the table has the fields {told}, the ABI list has {abi}")


def check_space():
    """A space whose pages come from all NUMA nodes, used and destroyed."""
    config, attr = Config(0, 1 << 20, 0), Attr()
    space, team = ctypes.c_void_p(), ctypes.c_void_p()
    library.shmemx_space_attr_init(ctypes.byref(attr), ctypes.c_size_t(ctypes.sizeof(attr)))
    attr.numa_policy = 2
    check(library.shmemx_space_create_attr(ctypes.byref(config), ctypes.byref(attr),
                                           ctypes.byref(space), ctypes.byref(team)) == 0,
          "shmemx_space_create_attr failed")
    word = library.shmem_space_malloc(space, ctypes.c_size_t(8))
    check(word is not None, "shmem_space_malloc of 8 bytes returned NULL")
    me, n_pes = library.shmem_my_pe(), library.shmem_n_pes()
    library.shmem_long_p(ctypes.c_void_p(word), ctypes.c_long(7 + me), (me + 1) % n_pes)
    library.shmem_barrier_all()
    left = (me + n_pes - 1) % n_pes
    check(ctypes.c_long.from_address(word).value == 7 + left, f"the word from PE {left} did not arrive in the space")
    library.shmem_space_free(space, ctypes.c_void_p(word))
    library.shmem_team_destroy(team)
    check(library.shmem_space_destroy(space) == 0, "shmem_space_destroy failed")


TABLE = fields(sys.argv[2])
library = ctypes.CDLL(sys.argv[1])
library.shmem_space_malloc.restype = ctypes.c_void_p
Attr = type("Attr", (ctypes.Structure,),
            {"_fields_": [(name, getattr(ctypes, kind)) for _, name, kind, _ in TABLE]})
library.shmem_init()
check_table(TABLE)
check_space()
library.shmem_finalize()
