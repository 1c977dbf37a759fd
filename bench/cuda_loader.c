/* Finds the CUDA driver for the harness. */
#include "cuda_loader.h"

#include "device_error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef GP_HAVE_CUDA_H
#include <cuda.h>

_Static_assert(sizeof(cuda_pool_props) == sizeof(CUmemPoolProps), "the driver reads all of it");
_Static_assert(offsetof(cuda_pool_props, location_type) == offsetof(CUmemPoolProps, location),
               "only zeros may stand elsewhere");
#endif

cuda_driver cuda;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static device_result load_result = DEVICE_UNAVAILABLE;
static char load_error[256];

static bool take_entry(void *library, const char *symbol, size_t offset)
{
    void *entry = dlsym(library, symbol);
    if (entry == NULL) {
        snprintf(load_error, sizeof(load_error), "the CUDA driver lacks %s", symbol);
        return false;
    }
    /* POSIX makes dlsym's result a function's address; C has no cast for it. */
    memcpy((char *)&cuda + offset, &entry, sizeof(entry));
    return true;
}

static bool take_entries(void *library)
{
    static const struct {
        const char *symbol;
        size_t offset;
    } wanted[] = {
#define CUDA_ROW(field, symbol, parameters) {#symbol, offsetof(cuda_driver, field)},
        CUDA_ENTRIES(CUDA_ROW)
#undef CUDA_ROW
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!take_entry(library, wanted[i].symbol, wanted[i].offset))
            return false;
    }
    return true;
}

static const char *error_name(int result)
{
    const char *name = NULL;
    if (cuda.error_name(result, &name) != 0 || name == NULL)
        return "unnamed CUDA error";
    return name;
}

static void load_once(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(load_error, sizeof(load_error), "no CUDA driver: %s", dlerror());
        return;
    }
    if (!take_entries(library))
        return;

    int result = cuda.init(0);
    if (result != DEVICE_OK)
        snprintf(load_error, sizeof(load_error), "cuInit: %s (%d)", error_name(result), result);
    else
        load_result = DEVICE_OK;
}

device_result cuda_load(void)
{
    pthread_once(&once, load_once);
    if (load_result != DEVICE_OK)
        return device_fail(load_result, "%s", load_error);
    return DEVICE_OK;
}

device_result cuda_result(int result, const char *call)
{
    if (result == DEVICE_OK || result == DEVICE_NOT_READY)
        return result;
    return device_fail(result, "%s: %s (%d)", call, error_name(result), result);
}
