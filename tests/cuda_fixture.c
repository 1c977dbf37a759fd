/* Loads a paper driver in place of libcuda. */
#include "cuda_fixture.h"

#include <dlfcn.h>
#include <string.h>

const gp_backend_ops *ops;
fake_driver *driver;
gp_backend *backend;
fake_driver_set_thread_fn *set_thread;
fake_driver_context_depth_fn *context_depth;
fake_driver_capture_mode_fn *capture_mode;

static void take(void *library, const char *name, void *function)
{
    void *entry = dlsym(library, name);
    cr_assert(ne(ptr, entry, NULL));
    memcpy(function, &entry, sizeof(entry));
}

/* The loader takes a library it already knows by its name, libcuda.so.1. */
static void load(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    cr_assert(ne(ptr, library, NULL), "%s", dlerror());

    fake_driver_get_fn *get = NULL;
    take(library, "fake_driver_get", &get);
    take(library, "fake_driver_set_thread", &set_thread);
    take(library, "fake_driver_context_depth", &context_depth);
    take(library, "fake_driver_capture_mode", &capture_mode);
    driver = get();
    ops = gp_backend_cuda();
}

void cuda_load_driver(void)
{
    load(FAKE_DRIVER_FILE);
}

void cuda_load_old_driver(void)
{
    load(FAKE_OLD_DRIVER_FILE);
}

void cuda_open_backend(void)
{
    cuda_load_driver();
    cr_assert(eq(int, ops->probe(), GP_OK), "%s", gp_last_error());
    cr_assert(eq(int, ops->open(0, &backend), GP_OK), "%s", gp_last_error());
    driver->log_length = 0;
}

bool cuda_was_called(const char *native)
{
    for (size_t i = 0; i < driver->log_length; i++) {
        if (strcmp(driver->log[i], native) == 0)
            return true;
    }
    return false;
}

bool cuda_error_mentions(const char *words)
{
    return strstr(gp_last_error(), words) != NULL;
}
