/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library changes defaults of libfabric's layer ofi_rxm by environment variables. Checks that
 * the program and its children do not see these variables, that settings of the user stay, and
 * which size of buffers the program gets when it opens ofi_rxm itself. ofi_rxm reads the size once.
 *
 * usage: rxm_defaults after|before|user|multiple|threads
 *   after    the program loads libfabric after shmem_init, and gets the library's size
 *   before   the program asks libfabric first, and shmem_init changes nothing
 *   user     FI_OFI_RXM_BUFFER_SIZE is 4096, and stays so
 *   multiple as after, with SHMEM_THREAD_MULTIPLE, but without a second thread
 *   threads  a second thread runs during shmem_init, which does not change the environment
 */
#include "pe_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE_NAME "FI_OFI_RXM_BUFFER_SIZE"

/*
 * Returns the size of the buffers of ofi_rxm, which is the option FI_OPT_MIN_MULTI_RECV of a new
 * endpoint, or 0 if there is no ofi_rxm. Loads libfabric with dlopen(), because a program that is
 * linked with libfabric has always loaded it before shmem_init.
 */
static size_t buffer_size(void)
{
    void *libfabric = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
               struct fi_info **) = NULL;
    int (*open_fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *) = NULL;
    struct fi_info *(*dup)(const struct fi_info *) = NULL;
    struct fi_info *hints, *info = NULL;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    size_t size = 0, len = sizeof(size);

    if (libfabric != NULL) {
        *(void **)&get = dlsym(libfabric, "fi_getinfo");
        *(void **)&dup = dlsym(libfabric, "fi_dupinfo");
        *(void **)&open_fabric = dlsym(libfabric, "fi_fabric");
    }
    if (get == NULL || dup == NULL || open_fabric == NULL) return 0;
    hints = dup(NULL);
    hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG;
    if (get(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) != 0) return 0;
    if (open_fabric(info->fabric_attr, &fabric, NULL) != 0) return 0;
    if (fi_domain(fabric, info, &domain, NULL) != 0) return 0;
    if (fi_endpoint(domain, info, &ep, NULL) != 0) return 0;
    if (fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, &len) != 0) return 0;
    /* The endpoint stays open. ofi_rxm crashes when an endpoint without queues is closed. */
    return size;
}

/* Returns the number of variables that the library sets for libfabric and that a child inherits. */
static int n_in_child(void)
{
    int status = system("exit $(env | grep -cE '^FI_(OFI_RXM|TCP_MAX)_')");

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *sleep_forever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "after";
    bool user = strcmp(way, "user") == 0, threads = strcmp(way, "threads") == 0;
    bool before = strcmp(way, "before") == 0;
    size_t first = before ? buffer_size() : 0, size;
    bool multiple = threads || strcmp(way, "multiple") == 0;
    const char *value;
    pthread_t thread;
    int provided;

    if (threads && pthread_create(&thread, NULL, sleep_forever, NULL) != 0) return 2;
    shmem_init_thread(multiple ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
    pe_test_attach();
    value = getenv(SIZE_NAME);
    PE_CHECK(user ? value != NULL && strcmp(value, "4096") == 0 : value == NULL, "%s is %s",
             SIZE_NAME, value != NULL ? value : "not set");
    PE_CHECK_EQ(n_in_child(), user);
    size = buffer_size();
    if (before) PE_CHECK_EQ(size, first);
    if (size == 0)
        pe_test_skip("libfabric has no provider tcp;ofi_rxm");
    else
        PE_CHECK_EQ(size, user ? 4096 : before || threads ? 16384 : 1024);
    return pe_test_end();
}
