/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of steppe-bench that only Steppe has: the description of the library in the heading,
 * the commands other than measuring, and the benches that other OpenSHMEM libraries cannot run.
 */
#include "portable/harness.h"
#include "raw_ofi_dlopen_and_addresses.h"
#include "space_setup_helpers.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Directory of the tools in the build tree, relative to the program's directory. Installed programs
 * use BENCH_MODULE_DIR.
 */
#define BUILD_DIR "../lib/steppe"

/* ---- the heading ----------------------------------------------------------------------- */

/*
 * Finds out which libfabric provider, fabric and domain the library uses. shmemx_space_print()
 * writes a table of spaces that contains the names. If the library uses no fabric, the fields stay
 * empty.
 */
static void describe_provider(struct bench_machine *machine)
{
    FILE *table = tmpfile();
    char line[512];

    if (table == NULL) return;
    if (shmemx_space_print(fileno(table)) == 0) rewind(table);
    while (fgets(line, sizeof(line), table) != NULL) {
        sscanf(line, "spaces of pe %*d: node path %*s fabric %63s on %63s", machine->provider,
               machine->fabric);
        sscanf(line, "%*s default %*s %*s %*s %*s %*s %63s", machine->domain);
    }
    if (machine->fabric[0] == '\0') machine->provider[0] = machine->domain[0] = '\0';
    fclose(table);
}

/* Fills in the version of libfabric, if this process has loaded libfabric. */
static void describe_libfabric(struct bench_machine *machine)
{
    void *handle = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
    uint32_t (*version)(void);

    if (handle == NULL) return;
    *(void **)&version = dlsym(handle, "fi_version");
    if (version != NULL)
        snprintf(machine->libfabric, sizeof(machine->libfabric), "%u.%u", version() >> 16,
                 version() & 0xffff);
    dlclose(handle);
}

static void describe_library(struct bench_machine *machine)
{
    describe_provider(machine);
    describe_libfabric(machine);
}

/* ---- commands -------------------------------------------------------------------------- */

/*
 * Measures shmem_init() and shmem_finalize() on this PE and prints both times. The command
 * `steppe-bench launch` uses this output.
 */
static int startup(void)
{
    uint64_t start = bench_now_ns(), init_ns;
    int me;

    shmem_init();
    init_ns = bench_now_ns() - start;
    me = shmem_my_pe();
    start = bench_now_ns();
    shmem_finalize();
    printf("{\"pe\": %d, \"init_ns\": %llu, \"finalize_ns\": %llu}\n", me,
           (unsigned long long)init_ns, (unsigned long long)(bench_now_ns() - start));
    return 0;
}

/* Returns whether `word` names a tool. Tools are Python programs and run without a launcher. */
static bool is_tool(const char *word)
{
    static const char *const tools[] = {"compare", "plot", "launch", "tune"};

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(word, tools[i]) == 0) return true;
    return false;
}

/*
 * Finds the paths of this program and of the tools. Returns 0, or -ENOENT if the tools do not
 * exist.
 */
static int find(char *program, char *tools)
{
    static const char *const places[] = {BENCH_MODULE_DIR, BUILD_DIR};
    ssize_t n = readlink("/proc/self/exe", program, PATH_MAX - 1);
    char *slash;

    program[n > 0 ? n : 0] = '\0';
    slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(tools, PATH_MAX + 64, "%.*s/%s/bench/main.py", (int)(slash - program), program,
                 places[i]);
        if (access(tools, R_OK) == 0) return 0;
    }
    return -ENOENT;
}

/* Executes the tools' Python program with argv[1] and all later arguments. Returns 2 on errors. */
static int run_tool(char **argv)
{
    char program[PATH_MAX], tools[PATH_MAX + 64];
    size_t n = 0;
    char **args;

    if (find(program, tools) != 0) {
        fprintf(stderr,
                "steppe-bench: %s: the file %s/bench/main.py is missing (relative to the folder "
                "of %s): install Steppe completely\n",
                argv[1], BENCH_MODULE_DIR, program);
        return 2;
    }
    while (argv[n] != NULL)
        n++;
    args = calloc(n + 2, sizeof(*args));
    if (args == NULL) return 2;
    args[0] = "python3";
    args[1] = tools;
    memcpy(args + 2, argv + 1, n * sizeof(*args)); /* including the final NULL */
    setenv("STEPPE_BENCH_PROGRAM", program, 1);
    execvp(args[0], args);
    fprintf(stderr, "steppe-bench: %s: cannot run python3: %s\n", argv[1], strerror(errno));
    return 2;
}

static int command(int argc, char **argv)
{
    if (argc > 1 && is_tool(argv[1])) return run_tool(argv);
    if (argc == 3 && strcmp(argv[1], "--floor") == 0) return bench_raw_ofi_floor(argv[2]);
    if (argc != 2) return -1;
    if (strcmp(argv[1], "--startup") == 0) return startup();
    if (strcmp(argv[1], "--man") != 0) return -1;
    bench_write_man_items(stdout);
    return 0;
}

/* ---- the program ----------------------------------------------------------------------- */

/*
 * The benches on GPUs (device) come last. As soon as a GPU space exists, puts from host memory
 * check first whether their buffers are in GPU memory. This check would slow down the other
 * benches.
 */
#define LISTS(X)                                                                                   \
    X(strided)                                                                                     \
    X(wait) X(overlap) X(memory) X(passive) X(space_life) X(space_kinds) X(threads) X(device)

LISTS(BENCH_LIST_DECLARE)
static const struct bench_list *const steppe_lists[] = {LISTS(BENCH_LIST_ADDRESS) NULL};

int main(int argc, char **argv)
{
    static const struct bench_list *const *const lists[] = {bench_lists, steppe_lists, NULL};
    static const struct bench_extras extras = {.lists = lists,
                                               .command = command,
                                               .describe_library = describe_library,
                                               .describe_gpu = bench_describe_gpu,
                                               .raw_load = bench_raw_ofi_load,
                                               .raw_unload = bench_raw_ofi_unload};

    return bench_main(argc, argv, &extras);
}
