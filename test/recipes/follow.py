#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Follow the recipes of docs/design/recipes.md on a copy of the sources, build it, and test it.

usage: follow.py SOURCE_DIR

Each recipe below changes the files in the numbered steps of its section, in their order, and no
others. The copy must pass the tests of the tree and the tests that the recipes add. Whether the
text of a step is good advice is not checked. Skipped (77) outside a git repository.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NAME = "sample"
ALGORITHM = "reduce_sample"  # no two sources have the same name
LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
LICENCE_OF_LISTS = "# SPDX-License-Identifier: BSD-3-Clause\n"


class Copy:
    """A copy of the sources, with the list of files that the present recipe has changed."""

    def __init__(self, source, folder):
        self.folder = folder
        self.changed = []
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                               cwd=source, check=True, capture_output=True).stdout.decode()
        for name in filter(None, names.split("\0")):
            if os.path.isfile(os.path.join(source, name)):
                os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                shutil.copy(os.path.join(source, name), self.path(name))

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        if name not in self.changed:
            self.changed.append(name)

    def change(self, name, pattern, text):
        """Replace the one place where the pattern fits."""
        new, n = re.subn(pattern, text, self.read(name), flags=re.M)
        if n != 1:
            sys.exit(f"follow.py: {name}: {n} places match {pattern!r}, expected 1")
        self.write(name, new)

    def run(self, *words, **options):
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
        if done.returncode != 0:
            last = "\n".join(done.stdout.splitlines()[-40:])
            sys.exit(f"follow.py: {' '.join(words)}: status {done.returncode}\n{last}")
        return done.stdout


# ---- the recipes ---------------------------------------------------------------------------------

def algorithm(copy):
    copy.write(f"src/coll/{ALGORITHM}.c", LICENCE + """/* Reductions between nodes as the tree does them. */
#include "coll_internal.h"

static void sample_leaders(const struct stp_coll_reduction *r, void *dest, size_t nreduce)
{
    stp_coll_reduce_tree.reduce_leaders(r, dest, nreduce);
}

const struct stp_coll_algorithm stp_coll_reduce_sample = {
    .name = "sample",
    .operation = STP_COLL_REDUCE,
    .reduce_leaders = sample_leaders,
    .reduce_cell = stp_coll_leader_tree_reduce_small,
};
""")
    copy.change("src/coll/CMakeLists.txt", r"^    scan\.c$", f"    {ALGORITHM}.c\n    scan.c")
    copy.change("src/coll/algorithm_table.h", r"^    ROW\(alltoall_direct\)$",
                "    ROW(alltoall_direct)" + " " * 75 + f"\\\\\n    ROW({ALGORITHM})")
    copy.write(f"test/pe/coll/tables/{ALGORITHM}.txt", LICENCE_OF_LISTS + f"reduce  *  *  *  *  {NAME}\n")
    copy.change("test/pe/coll/CMakeLists.txt", r"^set\(tables one other\)$",
                f"set(tables one other {ALGORITHM})")


def kind(copy):
    upper = NAME.upper()
    header = "include/shmem.h.in"
    copy.change(header, r"^    SHMEM_DEVICE_FAM      (/\*.*)$",
                rf"    SHMEM_DEVICE_FAM,     \1\n    SHMEM_DEVICE_{upper}   /* host memory again */")
    for handle in ("space", "team"):
        last = rf"#define SHMEM_{handle.upper()}_FAM SHMEM_IMPL_HANDLE(shmem_{handle}_t, 11)"
        copy.change(header, "^" + re.escape(last) + "$",
                    last + "\n" + last.replace("FAM", upper).replace("11", "12"))
    copy.run(sys.executable, "tools/gen_api.py")
    copy.change("base/base.h", r"ROW\(FAM, fam\)", rf"ROW(FAM, fam) ROW({upper}, {NAME})")
    copy.write(f"spaces/{NAME}.c", LICENCE + """/* Host memory, as the kind cpu has it. */
#include "spaces/host_memory_kind.h"

#include <stdio.h>

extern const struct stp_kind stp_kind_sample;

static int sample_probe(const struct stp_space_params *params, char *why, size_t len)
{
    (void)params;
    snprintf(why, len, "a sample");
    return 0;
}

static int sample_admit(const struct stp_space_params *params)
{
    return stp_cpu_check_fits_ram_and_cgroup(params, "sample");
}

static bool sample_describe(int i, char *text, size_t len)
{
    if (i != 0) return false;
    snprintf(text, len, "a sample");
    return true;
}

static int sample_devices(int i, struct stp_device *device)
{
    (void)i;
    (void)device;
    return 1;
}

const struct stp_kind stp_kind_sample = {
    .name = "sample",
    .device_type = STP_DEVICE_SAMPLE,
    .host = true,
    .in_window = true,
    .probe = sample_probe,
    .admit = sample_admit,
    .create = stp_cpu_create,
    .attach = stp_cpu_attach,
    .destroy = stp_cpu_destroy,
    .describe = sample_describe,
    .devices = sample_devices,
};
""")
    copy.change("spaces/CMakeLists.txt", r"^    space_registry\.c$", f"    {NAME}.c\n    space_registry.c")
    copy.write(f"test/pe/spaces/space_{NAME}.c", LICENCE + """/* A space of the kind, and the one of the environment. */
#include "pe_test.h"

int main(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_SAMPLE, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;
    int *value;

    pe_test_begin();
    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "shmem_space_create failed");
    value = shmem_space_malloc(space, sizeof(*value));
    shmem_int_p(value, pe_me, (pe_me + 1) % pe_n);
    shmem_barrier_all();
    PE_CHECK_EQ(*value, (pe_me + pe_n - 1) % pe_n);
    shmem_space_free(space, value);
    shmem_team_destroy(team);
    shmem_space_destroy(space);
    value = shmem_space_malloc(SHMEM_SPACE_SAMPLE, sizeof(*value));
    PE_CHECK(value != NULL, "shmem_space_malloc returned NULL for the space of the environment");
    shmem_space_free(SHMEM_SPACE_SAMPLE, value);
    return pe_test_end();
}
""")
    copy.change("test/check_names.py", r"^    SHMEM_SPACE_FAM ",
                f"    SHMEM_DEVICE_{upper} SHMEM_SPACE_{upper} SHMEM_TEAM_{upper}\n    SHMEM_SPACE_FAM ")
    copy.change("test/pe/spaces/CMakeLists.txt", r"^steppe_gpu_test\(space_gpu\)$",
                f"steppe_pe_test(space_{NAME} NP 2 FABRIC 2 PROVIDERS tcp "
                f"ENV SHMEM_ENABLE_{upper}=1)\nsteppe_gpu_test(space_gpu)")


def variable(copy):
    copy.change("base/base.h", r"^(    const char \*fam_path;.*)$",
                rf"\1\n    int {NAME};           /* SHMEM_{NAME.upper()} */")
    copy.change("base/env.c", r'^(    \{"SHMEM_FAM_PATH",)',
                f'    {{"SHMEM_{NAME.upper()}", NULL, STP_ENV_INT, FIELD({NAME}), "3", NULL,\n'
                f'     "a number that nobody reads"}},\n' r"\1")


def routine(copy):
    copy.change("include/shmemx.h", r"^int shmemx_device_count\(",
                f"/* The number of this PE, from 1 on. */\nint shmemx_{NAME}(void);\n\n"
                "int shmemx_device_count(")
    copy.change("include/shmemx.h", r"^int pshmemx_device_count\(",
                f"int pshmemx_{NAME}(void);\nint pshmemx_device_count(")
    text = copy.read("src/query.c").replace('#include "pshmem.h"\n', '#include "pshmem.h"\n#include "shmemx.h"\n')
    copy.write("src/query.c", text + f"""
int pshmemx_{NAME}(void)
{{
    return stp_rt.pe + 1;
}}
STP_PROFILED(shmemx_{NAME});
""")
    page = copy.read("docs/man/shmem_team_is_valid.3")
    copy.write(f"docs/man/shmemx_{NAME}.3", page.replace("shmem_team_is_valid", f"shmemx_{NAME}")
               .replace("SHMEM_TEAM_IS_VALID", f"SHMEMX_{NAME.upper()}"))
    copy.change("docs/reference/spaces-routines.md", r"^(\| `shmemx_space_print`,)",
                f"| `shmemx_{NAME}` | Steppe | may change |\n" r"\1")
    copy.write(f"test/pe/setup/{NAME}.c", LICENCE + f"""/* The number of this PE. */
#include "pe_test.h"

#include <shmemx.h>

int main(void)
{{
    pe_test_begin();
    PE_CHECK_EQ(shmemx_{NAME}(), pe_me + 1);
    return pe_test_end();
}}
""")
    lists = "test/pe/setup/CMakeLists.txt"
    copy.write(lists, copy.read(lists) + f"\nsteppe_pe_test({NAME} NP 2)\n")


def bench(copy):
    copy.write(f"bench/portable/benches/{NAME}.c", LICENCE + """/* Quiet, when there is nothing to complete. */
#include "../bench_definition.h"

static void quiet(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_quiet();
}

static const struct bench rows[] = {
    {.name = "sample",
     .group = "order",
     .description = "shmem_quiet, nothing to complete",
     .metric = BENCH_LATENCY,
     .steppe = {quiet, NULL}},
};
BENCH_LIST(bench_list_sample, rows);
""")
    copy.change("bench/portable/benches/all_benches.c", r"X\(alltoall\)", f"X(alltoall) X({NAME})")
    copy.change("bench/CMakeLists.txt", r"^    portable/benches/signal\.c$",
                f"    portable/benches/{NAME}.c\n    portable/benches/signal.c")


RECIPES = {"An algorithm of a collective": algorithm, "A kind of memory": kind,
           "An environment variable": variable, "A routine": routine, "A bench": bench}


# ---- what the page says, and what came of it -------------------------------------------------------

def steps(page, title, name):
    """The files of the numbered steps of a section, which adds what is called name."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, flags=re.M | re.S)
    if section is None:
        sys.exit(f"follow.py: docs/design/recipes.md has no section '{title}'")
    return [file.replace("NAME", name)
            for file in re.findall(r"^\d+\. `([^`]+)`", section[1], flags=re.M)]


def follow(copy):
    page = copy.read("docs/design/recipes.md")
    for title, recipe in RECIPES.items():
        copy.changed = []
        recipe(copy)
        files = steps(page, title, ALGORITHM if recipe == algorithm else NAME)
        if copy.changed != files:
            sys.exit(f"follow.py: '{title}' changes {copy.changed}, but the steps in "
                     f"docs/design/recipes.md are {files}")
        sources = [name for name in files if name.endswith((".c", ".h"))]
        if shutil.which("clang-format") is not None:
            copy.run("clang-format", "-i", *sources)


def look(copy):
    """Does what was added work?"""
    copy.run("git", "init", "-q")
    copy.run("git", "add", "-A")
    copy.run("cmake", "-S", ".", "-B", "build", "-DSTEPPE_WERROR=ON",
             "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG")
    copy.run("cmake", "--build", "build", f"-j{os.cpu_count()}")
    # The copy has no history, in which tree.results looks for the commits of the results.
    for words in (["-L", "tree", "-LE", "full", "-E", "^tree.results$"], ["-R", NAME]):
        with open(copy.path("build/test/endless"), "r+b", buffering=0) as endless:
            done = subprocess.run(["ctest", "--test-dir", "build", "--output-on-failure",
                                   "--no-tests=error", *words], cwd=copy.folder, stdin=endless,
                                  check=False)
        if done.returncode != 0:
            sys.exit("follow.py: a test of the changed copy fails, see the output of ctest above")
    told = json.loads(copy.run("build/bin/oshinfo", "--json", "environment", "collectives"))
    names = {row["name"]: row for row in told["environment"]["variables"]}
    if names[f"SHMEM_{NAME.upper()}"]["value"] != "3" or NAME not in told["collectives"]["reduce"]:
        sys.exit(f"follow.py: oshinfo does not report the variable or the algorithm {NAME}: {told}")
    rows = json.loads(copy.run("build/bin/oshrun", "-n", "2", "build/bin/steppe-bench", NAME,
                               "--seconds", "0.01", "--format", "json"))["results"]
    if [row["bench"] for row in rows] != [NAME]:
        sys.exit(f"follow.py: steppe-bench {NAME} must print one row of this bench: {rows}")


def main():
    source = sys.argv[1]
    if not os.path.isdir(os.path.join(source, ".git")):
        print("skipped: the sources are not a git repository, so that they cannot be copied")
        return 77
    with tempfile.TemporaryDirectory(prefix="recipes.") as folder:
        copy = Copy(source, folder)
        follow(copy)
        look(copy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
