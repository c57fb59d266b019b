/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: PTX modules and kernels. The
 * driver runs no PTX. It reads from the text which kernels exist and which parameters they take. A
 * C function for a kernel, its host twin, does the work of the kernel in the order of the stream.
 */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MODULE_MAGIC = 0x4d6f6446,
    FUNCTION_MAGIC = 0x46756e46,
    MAX_NAME = 128,
    MAX_PARAMS = 32,
    MAX_BYTES = 4096, /* of all parameters */
    MAX_BLOCKS = 64,
    MAX_TWINS = 64,
    MAX_THREADS = 1024, /* of a block */
    PTX_VERSION = 84,   /* of CUDA 12.4, and what its devices can do */
    PTX_TARGET = 90
};

struct CUfunc_st {
    unsigned int magic;
    CUmodule module;
    char name[MAX_NAME];
    int n_params;
    size_t sizes[MAX_PARAMS];
    CUfunction next;
};

/* Never freed, nor are its functions, so that the use of an unloaded one is seen. */
struct CUmod_st {
    unsigned int magic;
    CUcontext ctx;
    bool unloaded;
    int n_pending;
    CUfunction functions;
    CUmodule next;
};

struct kernel_work {
    struct fake_work work;
    CUfunction function;
    fakecuda_twin twin;
    struct fakecuda_launch launch;
    unsigned char params[MAX_BYTES];
    struct fake_block *blocks[MAX_BLOCKS]; /* that words of parameters point into */
    int n_blocks;
};

static CUmodule modules;

static struct {
    char name[MAX_NAME];
    fakecuda_twin twin;
} twins[MAX_TWINS];

long fake_module_count_locked(void)
{
    long count = 0;

    for (CUmodule module = modules; module; module = module->next)
        count += !module->unloaded && module->ctx->alive;
    return count;
}

/* ---- twins ------------------------------------------------------------------ */

void fakecuda_kernel(const char *name, fakecuda_twin twin)
{
    int i = 0;

    pthread_mutex_lock(&fake.lock);
    while (i < MAX_TWINS && twins[i].name[0] && strcmp(twins[i].name, name) != 0)
        i++;
    if (i == MAX_TWINS || strlen(name) >= MAX_NAME) fake_die("no room for twin %s", name);
    strcpy(twins[i].name, name);
    twins[i].twin = twin;
    pthread_mutex_unlock(&fake.lock);
}

static fakecuda_twin find_twin_locked(const char *name)
{
    for (int i = 0; i < MAX_TWINS && twins[i].name[0]; i++)
        if (strcmp(twins[i].name, name) == 0) return twins[i].twin;
    return fake_twin_builtin(name);
}

/* ---- the text ----------------------------------------------------------------- */

/* The text behind the next word, or NULL. */
static const char *after(const char *text, const char *word)
{
    const char *at = text ? strstr(text, word) : NULL;

    return at ? at + strlen(word) : NULL;
}

/* A name: its length. */
static size_t name_length(const char *text)
{
    size_t len = 0;

    while (isalnum((unsigned char)text[len]) || strchr("_$%", text[len] ? text[len] : ' '))
        len++;
    return len;
}

static size_t type_size(const char *type)
{
    const char *digits = type + strcspn(type, "0123456789");

    return (size_t)strtoul(digits, NULL, 10) / 8;
}

/*
 * Bytes of the parameter ".u64 name", or ".align 8 .b8 name[80]" for a structure; 0: not known.
 * end: of all of them.
 */
static size_t param_size(const char *text, const char *end)
{
    const char *comma = memchr(text, ',', (size_t)(end - text));
    const char *bracket = memchr(text, '[', (size_t)((comma ? comma : end) - text));
    size_t n = bracket ? (size_t)strtoul(bracket + 1, NULL, 10) : 1;

    if (strncmp(text, ".align", 6) == 0) text = strchr(text + 1, '.');
    if (!text || text > end || *text != '.') return 0;
    return bracket && type_size(text) != 1 ? 0 : n * type_size(text);
}

/* Parse ".param .u64 name, ...)"; what follows, or NULL. */
static const char *parse_params(const char *text, CUfunction function)
{
    const char *end = strchr(text, ')');
    size_t total = 0;

    while (end) {
        const char *param = after(text, ".param");
        size_t nbytes;

        if (!param || param > end) return end + 1;
        param += strspn(param, " \t\n");
        nbytes = param_size(param, end);
        total += (nbytes + 7) / 8 * 8;
        if (function->n_params == MAX_PARAMS || nbytes == 0 || total > MAX_BYTES) return NULL;
        function->sizes[function->n_params++] = nbytes;
        text = param;
    }
    return NULL;
}

/* Parse what follows ".entry"; what follows that, or NULL. */
static const char *parse_entry(const char *text, CUmodule module)
{
    CUfunction function = calloc(1, sizeof(*function));
    size_t len;

    if (!function) return NULL;
    text += strspn(text, " \t\n");
    len = name_length(text);
    function->magic = FUNCTION_MAGIC;
    function->module = module;
    function->next = module->functions;
    module->functions = function;
    if (len == 0 || len >= MAX_NAME) return NULL;
    memcpy(function->name, text, len);
    text += len;
    text += strspn(text, " \t\n");
    return *text == '(' ? parse_params(text, function) : text;
}

static CUresult parse(const char *text, CUmodule module)
{
    const char *version = after(text, ".version");
    const char *target = after(text, ".target");
    const char *size = after(text, ".address_size");
    char *minor;
    long number;

    if (!version || !target) return CUDA_ERROR_INVALID_PTX;
    number = strtol(version, &minor, 10) * 10;
    if (*minor == '.') number += strtol(minor + 1, NULL, 10);
    if (number > PTX_VERSION) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    target = after(target, "sm_");
    if (!target || strtol(target, NULL, 10) > PTX_TARGET || !size || strtol(size, NULL, 10) != 64)
        return CUDA_ERROR_INVALID_PTX;
    while ((text = after(text, ".entry")) != NULL)
        if ((text = parse_entry(text, module)) == NULL) return CUDA_ERROR_INVALID_PTX;
    return CUDA_SUCCESS;
}

/* ---- modules ------------------------------------------------------------------ */

static void free_module(CUmodule module)
{
    while (module->functions) {
        CUfunction next = module->functions->next;

        free(module->functions);
        module->functions = next;
    }
    free(module);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuModuleLoadData, &ctx);
    CUmodule loaded;

    if (result != CUDA_SUCCESS) return result;
    if (!module || !image) return fake_end(CUDA_ERROR_INVALID_VALUE);
    /* ELF: a binary for one sort of device; and a fat one */
    if (memcmp(image, "\x7f", 1) == 0 || memcmp(image, "\x50", 1) == 0)
        return fake_end(CUDA_ERROR_INVALID_IMAGE);
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    result = parse(image, loaded);
    if (result != CUDA_SUCCESS) {
        free_module(loaded);
        return fake_end(result);
    }
    loaded->magic = MODULE_MAGIC;
    loaded->ctx = ctx;
    loaded->next = modules;
    modules = loaded;
    *module = loaded;
    return fake_end(CUDA_SUCCESS);
}

static void check_module(CUmodule module)
{
    if (module->magic != MODULE_MAGIC) fake_die("%p is not a module", (void *)module);
    if (module->unloaded) fake_die("module %p was unloaded", (void *)module);
}

CUresult cuModuleUnload(CUmodule module)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuModuleUnload, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!module) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    check_module(module);
    if (module->n_pending > 0)
        fake_die("module %p is unloaded while %d of its kernels are under way", (void *)module,
                 module->n_pending);
    module->unloaded = true;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuModuleGetFunction, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!function || !module || !name) return fake_end(CUDA_ERROR_INVALID_VALUE);
    check_module(module);
    for (CUfunction at = module->functions; at; at = at->next) {
        if (strcmp(at->name, name) != 0) continue;
        *function = at;
        return fake_end(CUDA_SUCCESS);
    }
    return fake_end(CUDA_ERROR_NOT_FOUND);
}

/* ---- launches ----------------------------------------------------------------- */

/* What a twin may touch: memory of devices, and of hosts where it is known to the driver. */
static void *kernel_memory(CUdeviceptr address, size_t nbytes)
{
    struct fake_block *block;
    void *memory = NULL;

    pthread_mutex_lock(&fake.lock);
    block = fake_block_of_device_locked(&address);
    if (!block) fake_block_check_stale_locked(address);
    if (block && nbytes <= block->nbytes - (address - block->base))
        memory = block->alias + (address - block->base);
    pthread_mutex_unlock(&fake.lock);
    return memory;
}

bool fakecuda_atomic(const struct fakecuda_launch *launch, CUdeviceptr address)
{
    const struct fake_block *block;
    bool may;

    pthread_mutex_lock(&fake.lock);
    block = fake_block_of_device_locked(&address);
    if (block && (block->kind == FAKE_HOST || block->kind == FAKE_REGISTERED))
        may = fake.native_atomics;
    else
        may = block && (fake.p2p_atomics || block->device == launch->device);
    pthread_mutex_unlock(&fake.lock);
    return may;
}

static void pin_locked(struct fake_work *work, int by)
{
    struct kernel_work *own = (struct kernel_work *)work;

    own->function->module->n_pending += by;
    for (int i = 0; i < own->n_blocks; i++)
        own->blocks[i]->n_pending += by;
}

static CUresult run_twin(struct fake_work *work)
{
    struct kernel_work *own = (struct kernel_work *)work;
    void *params[MAX_PARAMS];
    size_t at = 0;
    CUresult fault;

    for (int i = 0; i < own->function->n_params; i++) {
        params[i] = &own->params[at];
        at += (own->function->sizes[i] + 7) / 8 * 8;
    }
    fake_running(own->function->name);
    fault = own->twin(&own->launch, params);
    fake_running("work of a stream");
    return fault;
}

static void take_address_locked(struct kernel_work *own, CUdeviceptr address)
{
    struct fake_block *block = fake_block_of_device_locked(&address);

    if (!block || own->n_blocks == MAX_BLOCKS) return;
    fake_block_check_access_locked(block, false);
    own->blocks[own->n_blocks++] = block;
}

/* Values are taken now; words that are addresses keep their memory from being freed. */
static void take_params_locked(struct kernel_work *own, void **params)
{
    size_t at = 0;

    for (int i = 0; i < own->function->n_params; i++) {
        size_t nbytes = own->function->sizes[i];
        CUdeviceptr word;

        memcpy(&own->params[at], params[i], nbytes);
        for (size_t j = 0; j + sizeof(word) <= nbytes; j += sizeof(word)) {
            memcpy(&word, &own->params[at + j], sizeof(word));
            take_address_locked(own, word);
        }
        at += (nbytes + 7) / 8 * 8;
    }
}

static bool is_launch_valid(const struct fakecuda_launch *launch)
{
    for (int i = 0; i < 3; i++)
        if (launch->grid[i] == 0 || launch->block[i] == 0) return false;
    return launch->grid[0] <= 0x7fffffff && launch->grid[1] <= 65535 && launch->grid[2] <= 65535 &&
           (uint64_t)launch->block[0] * launch->block[1] * launch->block[2] <= MAX_THREADS;
}

static CUresult launch_locked(CUfunction function, const struct fakecuda_launch *launch,
                              CUstream handle, void **params, CUresult fault)
{
    struct kernel_work *own;
    CUstream stream;
    CUresult result = fake_stream_of_locked(handle, NULL, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (function->module->ctx != stream->ctx) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_launch_valid(launch) || (function->n_params > 0 && !params))
        return CUDA_ERROR_INVALID_VALUE;
    own = calloc(1, sizeof(*own));
    if (!own) return CUDA_ERROR_OUT_OF_MEMORY;
    own->work = (struct fake_work){.run = run_twin, .pin_locked = pin_locked};
    own->function = function;
    own->launch = *launch;
    own->launch.device = stream->ctx->device;
    own->twin = find_twin_locked(function->name);
    if (!own->twin) fake_die("kernel %s has no host twin: fakecuda_kernel()", function->name);
    take_params_locked(own, params);
    return fake_work_submit_locked(stream, &own->work, fault);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared, CUstream stream, void **params,
                        void **extra)
{
    struct fakecuda_launch launch = {
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .memory = kernel_memory,
    };
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuLaunchKernel, &ctx, &fault);

    if (result != CUDA_SUCCESS) return result;
    if (!function) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    if (function->magic != FUNCTION_MAGIC) fake_die("%p is not a function", (void *)function);
    check_module(function->module);
    if (shared > 48 << 10) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (extra) return fake_end(CUDA_ERROR_NOT_SUPPORTED);
    return fake_end(launch_locked(function, &launch, stream, params, fault));
}
