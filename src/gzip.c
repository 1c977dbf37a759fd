#include "gzip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "error.h"

static gp_gzip loaded;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* POSIX makes dlsym's result a function's address; C has no cast for it. */
static bool take(void *library, const char *symbol, void *field)
{
    void *entry = dlsym(library, symbol);
    memcpy(field, &entry, sizeof(entry));
    return entry != NULL;
}

static void load_once(void)
{
    /* Never closed: others in the process use it as well. */
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    found = library != NULL && take(library, "gzopen", &loaded.open) &&
            take(library, "gzgets", &loaded.gets) && take(library, "gzerror", &loaded.error) &&
            take(library, "gzclose_r", &loaded.close);
}

gp_status gp_gzip_load(const gp_gzip **gzip)
{
    (void)pthread_once(&once, load_once);
    if (!found)
        return gp_error_set(GP_ERR_UNSUPPORTED, "there is no zlib to read a gzipped file with");
    *gzip = &loaded;
    return GP_OK;
}
