/*
 * The shared library comes and goes: loaded, used, and unloaded while its pools live and its
 * threads have caches; then the process ends. Usage: unload libgp.so MODE
 *
 *   closed     every pool is destroyed before the library is unloaded (C62)
 *   open       a pool with cached and pending blocks is left behind (C62)
 *   thread     another thread has used it, lives on, and ends after it is gone (C62, C63)
 *   recording  a pool is recorded, whose writer is a thread of the library's
 *   copies     the statically linked copy of gp is used beside it (C69)
 */
#include "gp/gp.h"
#include "gp/sim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct library {
    void *handle;
    gp_status (*create)(gp_pool **, const gp_pool_config *);
    gp_status (*destroy)(gp_pool *);
    gp_status (*alloc)(void **, size_t, gp_pool *, cudaStream_t);
    gp_status (*free)(void *, cudaStream_t);
    void (*config_init)(gp_pool_config *);
    gp_sim_result (*stream_create)(cudaStream_t *, bool);
    gp_status (*trace_start)(gp_pool *, const char *);
    gp_pool *pool;
    cudaStream_t stream;
} library;

static int failures;

static bool expect(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "unload: failed: %s\n", what);
        failures++;
    }
    return holds;
}
#define EXPECT(condition) expect((condition), #condition)

static bool find(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    memcpy(function, &found, sizeof(found));
    return expect(found != NULL, name);
}

static bool load(library *self, const char *file)
{
    self->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return expect(self->handle != NULL, file) &&
           find(self->handle, "gp_pool_create", &self->create) &&
           find(self->handle, "gp_pool_destroy", &self->destroy) &&
           find(self->handle, "gp_alloc_from_pool_async", &self->alloc) &&
           find(self->handle, "gp_free_async", &self->free) &&
           find(self->handle, "gp_pool_config_init", &self->config_init) &&
           find(self->handle, "gp_sim_stream_create", &self->stream_create) &&
           find(self->handle, "gp_trace_start", &self->trace_start);
}

static bool use(library *self)
{
    for (size_t bytes = 512; bytes <= (size_t)8 << 20; bytes *= 4) {
        void *block = NULL;
        if (!EXPECT(self->alloc(&block, bytes, self->pool, self->stream) == GP_OK) ||
            !EXPECT(self->free(block, self->stream) == GP_OK))
            return false;
    }
    return true;
}

static bool open_pool(library *self)
{
    gp_pool_config config;
    self->config_init(&config);
    config.backend = GP_BACKEND_SIM;
    return EXPECT(self->create(&self->pool, &config) == GP_OK) &&
           EXPECT(self->stream_create(&self->stream, true) == 0) && use(self);
}

/* ---- the modes ---- */

static void come_and_go(const char *file, bool destroyed)
{
    for (int round = 0; round < 3; round++) {
        library gp;
        if (!load(&gp, file) || !open_pool(&gp))
            return;
        if (destroyed)
            EXPECT(gp.destroy(gp.pool) == GP_OK);
        EXPECT(dlclose(gp.handle) == 0);
    }
}

/* The last line says that the file is whole. */
static bool is_complete(const char *path)
{
    char line[128] = "";
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    }
    return file != NULL && fclose(file) == 0 && strstr(line, ",e,") != NULL;
}

static void leave_a_recording_behind(const char *file)
{
    char path[] = "/tmp/gp_unload_XXXXXX";
    library gp;
    int made = mkstemp(path);
    if (!EXPECT(made >= 0 && close(made) == 0) || !load(&gp, file) || !open_pool(&gp))
        return;
    EXPECT(gp.trace_start(gp.pool, path) == GP_OK);
    (void)use(&gp);
    EXPECT(dlclose(gp.handle) == 0);
    EXPECT(is_complete(path));
    (void)unlink(path);
}

typedef struct guest {
    library *gp;
    sem_t used, unloaded;
} guest;

static void *use_and_outlive(void *started)
{
    guest *self = started;
    (void)use(self->gp);
    (void)sem_post(&self->used);
    (void)sem_wait(&self->unloaded);
    return NULL; /* gp's key must not call into what is gone */
}

static void leave_a_thread_behind(const char *file)
{
    library gp;
    pthread_t thread;
    guest other = {.gp = &gp};
    (void)sem_init(&other.used, 0, 0);
    (void)sem_init(&other.unloaded, 0, 0);
    if (!load(&gp, file) || !open_pool(&gp) ||
        !EXPECT(pthread_create(&thread, NULL, use_and_outlive, &other) == 0))
        return;
    (void)sem_wait(&other.used);
    EXPECT(dlclose(gp.handle) == 0);
    (void)sem_post(&other.unloaded);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static void use_two_copies(const char *file)
{
    library loaded;
    library linked = {.create = gp_pool_create,
                      .destroy = gp_pool_destroy,
                      .alloc = gp_alloc_from_pool_async,
                      .free = gp_free_async,
                      .config_init = gp_pool_config_init,
                      .stream_create = gp_sim_stream_create};
    if (!load(&loaded, file) || !open_pool(&loaded) || !open_pool(&linked))
        return;
    EXPECT(loaded.create != linked.create);
    void *block = NULL;
    EXPECT(loaded.alloc(&block, 4096, linked.pool, loaded.stream) == GP_ERR_INVALID_POOL);
    EXPECT(loaded.destroy(loaded.pool) == GP_OK);
    EXPECT(dlclose(loaded.handle) == 0);
    EXPECT(use(&linked));
    EXPECT(linked.destroy(linked.pool) == GP_OK);
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[2] : "";
    (void)alarm(60);
    if (strcmp(mode, "closed") == 0 || strcmp(mode, "open") == 0)
        come_and_go(argv[1], mode[0] == 'c');
    else if (strcmp(mode, "thread") == 0)
        leave_a_thread_behind(argv[1]);
    else if (strcmp(mode, "recording") == 0)
        leave_a_recording_behind(argv[1]);
    else if (strcmp(mode, "copies") == 0)
        use_two_copies(argv[1]);
    else
        return 2;
    return failures == 0 ? 0 : 1;
}
