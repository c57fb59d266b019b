/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file opens the CUDA driver at run time and finds the devices. It keeps the primary context
 * of a device only while the library has objects in this context. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct stp_cuda stp_cuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- errors ------------------------------------------------------------------------- */

const char *stp_cuda_text(CUresult result, char *text, size_t len)
{
    const char *name = NULL, *error_text = NULL;

    /* Both driver calls set the text to NULL if the driver does not know the error code. */
    (void)stp_cuda.api.error_name(result, &name);
    (void)stp_cuda.api.error_string(result, &error_text);
    snprintf(text, len, "%s (%d): %s", name != NULL ? name : "error", (int)result,
             error_text != NULL ? error_text : "the driver has no text for this error");
    return text;
}

/* Returns whether this error makes the context unusable. */
static bool driver_is_lost(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case 220: /* NVLink error */
    case 226: /* contained memory error */
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case 702: /* timeout of a kernel */
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case 710: /* assertion in a kernel */
    case 714: /* 714 to 718: faults of a kernel (stack, instruction, address, program counter) */
    case 715:
    case 716:
    case 717:
    case 718:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 810: /* termination by the MPS server */
    case CUDA_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

int stp_cuda_check(struct cuda_device *device, CUresult result, const char *call)
{
    bool fatal = driver_is_lost(result);
    char text[CUDA_TEXT];

    if (STP_LIKELY(result == CUDA_SUCCESS)) return 0;
    /*
     * Pairs with the load in stream_drain(), and with this exchange in other threads. Only the
     * first thread that sets the flag reports the loss of the device.
     */
    if (fatal && __atomic_exchange_n(&device->lost, true, __ATOMIC_SEQ_CST))
        return -EIO; /* another thread has already reported the error */
    stp_error("gpu %d: %s: %s%s", device->ordinal, call, stp_cuda_text(result, text, sizeof(text)),
              fatal ? "; this PE can no longer use the device" : "");
    return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void stp_cuda_log_failure(CUresult result, const char *call)
{
    char text[CUDA_TEXT];

    if (result != CUDA_SUCCESS)
        stp_debug("gpu: %s: %s", call, stp_cuda_text(result, text, sizeof(text)));
}

/* ---- the library ---------------------------------------------------------------------- */

static bool driver_load(void)
{
    const char *error;

    if (stp_cuda.library != NULL) return true;
    if (stp_cuda.not_found) return false;
    stp_cuda.library = dlopen(STP_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (stp_cuda.library != NULL) return true;
    error = dlerror();
    if (error == NULL || strstr(error, "No such file") != NULL)
        snprintf(stp_cuda.reason, sizeof(stp_cuda.reason), STP_CUDA_LIBRARY " was not found");
    else
        snprintf(stp_cuda.reason, sizeof(stp_cuda.reason), STP_CUDA_LIBRARY " cannot be loaded: %s",
                 error);
    return false;
}

/*
 * Finds the addresses of all driver functions. If a required function is missing, writes an error
 * text to stp_cuda.reason and returns false.
 */
static bool driver_resolve(void)
{
    static const struct {
        const char *symbol;
        bool required;
        size_t offset; /* offset of the function pointer in struct stp_cuda_api */
    } functions[] = {
#define DRIVER_FUNCTION(member, symbol, required, arguments)                                       \
    {#symbol, required, offsetof(struct stp_cuda_api, member)},
        STP_CUDA_FUNCTIONS(DRIVER_FUNCTION)
#undef DRIVER_FUNCTION
    };

    for (size_t i = 0; i < STP_COUNT(functions); i++) {
        void *address = dlsym(stp_cuda.library, functions[i].symbol);
        if (address == NULL && functions[i].required) {
            snprintf(stp_cuda.reason, sizeof(stp_cuda.reason),
                     STP_CUDA_LIBRARY " has no function %s: the driver may be too old",
                     functions[i].symbol);
            return false;
        }
        memcpy((char *)&stp_cuda.api + functions[i].offset, &address, sizeof(address));
    }
    return true;
}

static bool driver_succeeded(CUresult result)
{
    const char *text = NULL;

    if (result == CUDA_SUCCESS) return true;
    (void)stp_cuda.api.error_string(result, &text);
    snprintf(stp_cuda.reason, sizeof(stp_cuda.reason), "the CUDA driver reports: %s (%d)",
             text != NULL ? text : "an error without a text", (int)result);
    return false;
}

/* ---- devices ---------------------------------------------------------------------------- */

/*
 * Converts a PCI address from the driver's format to the format of sysfs, and stores the result in
 * device->bus. The two formats differ in the case of letters and in the number of digits.
 */
static void device_spell_bus(struct cuda_device *device, const char *bus)
{
    unsigned domain, number, slot, function = 0;

    device->bus[0] = '\0';
    if (sscanf(bus, "%x:%x:%x.%x", &domain, &number, &slot, &function) < 3) return;
    snprintf(device->bus, sizeof(device->bus), "%04x:%02x:%02x.%x", domain & 0xffff, number & 0xff,
             slot & 0xff, function & 0xf);
}

int stp_cuda_attribute(const struct cuda_device *device, CUdevice_attribute attribute)
{
    int value = 0;

    stp_cuda_log_failure(stp_cuda.api.device_attribute(&value, attribute, device->handle),
                         "cuDeviceGetAttribute");
    return value;
}

/*
 * Returns whether the host must flush data that network adapters write to this device. Returns
 * false if the host cannot do this. Also returns false if the hardware orders these writes itself,
 * so that no flush is needed.
 */
static bool device_needs_flush(const struct cuda_device *device)
{
    int options =
        stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);

    return (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 &&
           stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) <
               CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
}

static CUresult device_uuid(struct cuda_device *device)
{
    const struct stp_cuda_api *api = &stp_cuda.api;

    if (api->device_uuid != NULL) return api->device_uuid(&device->uuid, device->handle);
    if (api->device_uuid_v1 != NULL) return api->device_uuid_v1(&device->uuid, device->handle);
    return CUDA_SUCCESS; /* device->uuid stays zero, because the driver cannot report it */
}

static CUresult device_query(struct cuda_device *device)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    char bus[32] = "";
    CUresult result = api->device_get(&device->handle, device->ordinal);

    if (result == CUDA_SUCCESS)
        result = api->device_name(device->name, (int)sizeof(device->name), device->handle);
    if (result == CUDA_SUCCESS) result = api->device_total_mem(&device->total, device->handle);
    if (result == CUDA_SUCCESS) result = device_uuid(device);
    if (result == CUDA_SUCCESS)
        result = api->device_pci_bus_id(bus, (int)sizeof(bus), device->handle);
    device_spell_bus(device, bus);
    return result;
}

static void device_discover(struct cuda_device *device, int ordinal)
{
    CUresult result;

    memset(device, 0, sizeof(*device));
    device->ordinal = ordinal;
    result = device_query(device);
    if (result != CUDA_SUCCESS) {
        stp_cuda_text(result, device->unusable_reason, sizeof(device->unusable_reason));
        return;
    }
    device->numa = stp_cuda_numa(device);
    device->max_pitch = (size_t)stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    device->flushes = device_needs_flush(device);
    if (stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
        snprintf(device->unusable_reason, sizeof(device->unusable_reason),
                 "its compute mode is \"prohibited\"");
    else if (stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 0)
        snprintf(device->unusable_reason, sizeof(device->unusable_reason),
                 "it has no unified addressing");
}

/* Finds all devices. Returns true if at least one device can be used. */
static bool driver_discover(void)
{
    int n = 0, n_usable = 0;

    if (!driver_succeeded(stp_cuda.api.device_count(&n))) return false;
    if (n > CUDA_MAX_DEVICES) n = CUDA_MAX_DEVICES;
    for (int i = 0; i < n; i++) {
        device_discover(&stp_cuda.devices[i], i);
        n_usable += stp_cuda.devices[i].unusable_reason[0] == '\0';
    }
    stp_cuda.n_devices = n;
    if (n == 0)
        snprintf(stp_cuda.reason, sizeof(stp_cuda.reason),
                 "the CUDA driver reports that there is no device");
    else if (n_usable == 0)
        snprintf(stp_cuda.reason, sizeof(stp_cuda.reason), "gpu 0 cannot be used: %.128s",
                 stp_cuda.devices[0].unusable_reason);
    return n_usable > 0;
}

/* ---- start and stop -------------------------------------------------------------------- */

/*
 * Returns whether the driver library was found. If SHMEM_GPU is off, returns true without a search.
 * The other PEs of the node then do not assume that the library is missing.
 */
bool stp_cuda_probe_library(void)
{
    if (!stp_env.gpu) return true;
    stp_cuda.not_found = !driver_load();
    return !stp_cuda.not_found;
}

void stp_cuda_set_driver_not_found(int leader)
{
    snprintf(stp_cuda.reason, sizeof(stp_cuda.reason),
             STP_CUDA_LIBRARY " was not found, or PE %d of this host could not load it", leader);
    stp_cuda.not_found = true;
}

void stp_cuda_start(void)
{
    stp_cuda.usable = false;
    stp_cuda.n_devices = 0;
    if (!stp_cuda.not_found) stp_cuda.reason[0] = '\0';
    if (!stp_env.gpu) {
        snprintf(stp_cuda.reason, sizeof(stp_cuda.reason), "SHMEM_GPU is off");
        return;
    }
    if (!driver_load() || !driver_resolve()) return;
    if (!driver_succeeded(stp_cuda.api.init(0)) || !driver_discover()) return;
    stp_cuda.nearest = stp_cuda_nearest();
    stp_cuda_find_brk_start();
    stp_cuda.usable = true;
    stp_window_set_devices(true);
    if (stp_env.gpu_device >= stp_cuda.n_devices)
        stp_warn("SHMEM_GPU_DEVICE is %d, but the valid numbers of GPUs on this PE are 0..%d",
                 stp_env.gpu_device, stp_cuda.n_devices - 1);
}

/*
 * Releases the context of every device, even if references to it are left. All spaces and queues
 * were destroyed before this call.
 */
void stp_cuda_stop(void)
{
    stp_cuda_device_amo_stop();
    for (int i = 0; i < stp_cuda.n_devices; i++) {
        stp_cuda_pin_drop(&stp_cuda.devices[i]);
        stp_cuda_streams_drain(&stp_cuda.devices[i], true);
        while (stp_cuda.devices[i].refs > 0) {
            stp_debug("gpu %d: a reference to the context was not released", i);
            stp_cuda_context_unref(&stp_cuda.devices[i]);
        }
    }
    stp_cuda.usable = stp_cuda.not_found = false;
    stp_cuda.n_devices = 0;
    stp_window_set_devices(false);
}

/* ---- contexts ---------------------------------------------------------------------------- */

int stp_cuda_context_ref(struct cuda_device *device)
{
    int rc = 0;

    if (__atomic_load_n(&device->lost, __ATOMIC_RELAXED)) return -EIO;
    pthread_mutex_lock(&stp_cuda.lock);
    if (device->refs == 0)
        rc = stp_cuda_check(device, stp_cuda.api.primary_ctx_retain(&device->ctx, device->handle),
                            "cuDevicePrimaryCtxRetain");
    if (rc == 0) device->refs++;
    pthread_mutex_unlock(&stp_cuda.lock);
    return rc;
}

void stp_cuda_context_unref(struct cuda_device *device)
{
    pthread_mutex_lock(&stp_cuda.lock);
    if (--device->refs == 0) {
        device->ctx = NULL;
        stp_cuda_log_failure(stp_cuda.api.primary_ctx_release(device->handle),
                             "cuDevicePrimaryCtxRelease");
    }
    pthread_mutex_unlock(&stp_cuda.lock);
}

int stp_cuda_enter(struct cuda_device *device)
{
    if (STP_UNLIKELY(__atomic_load_n(&device->lost, __ATOMIC_RELAXED))) return -EIO;
    return stp_cuda_check(device, stp_cuda.api.ctx_push_current(device->ctx), "cuCtxPushCurrent");
}

void stp_cuda_leave(void)
{
    CUcontext popped;

    stp_cuda_log_failure(stp_cuda.api.ctx_pop_current(&popped), "cuCtxPopCurrent");
}

int stp_cuda_retain_and_enter(struct cuda_device *device)
{
    int rc = stp_cuda_context_ref(device);

    if (rc != 0) return rc;
    rc = stp_cuda_enter(device);
    if (rc != 0) stp_cuda_context_unref(device);
    return rc;
}

bool stp_cuda_retain_and_enter_if_up(struct cuda_device *device)
{
    bool has_refs;

    pthread_mutex_lock(&stp_cuda.lock);
    has_refs = device->refs > 0;
    if (has_refs) device->refs++;
    pthread_mutex_unlock(&stp_cuda.lock);
    if (!has_refs || stp_cuda_enter(device) == 0) return has_refs;
    stp_cuda_context_unref(device);
    return false;
}

void stp_cuda_leave_and_release(struct cuda_device *device)
{
    stp_cuda_leave();
    stp_cuda_context_unref(device);
}
