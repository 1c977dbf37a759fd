#include "stream_names.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "lock.h"

void gp_stream_names_init(gp_stream_names *names)
{
    (void)pthread_mutex_init(&names->lock, NULL);
}

void gp_stream_names_destroy(gp_stream_names *names)
{
    while (names->first != NULL) {
        gp_stream_name *next = names->first->next;
        free(names->first);
        names->first = next;
    }
    (void)pthread_mutex_destroy(&names->lock);
}

static bool is_name(const char *name)
{
    const size_t length = strnlen(name, GP_STREAM_NAME_BYTES);
    for (size_t i = 0; i < length; i++) {
        if (name[i] < ' ' || name[i] > '~')
            return false;
    }
    return length > 0 && length < GP_STREAM_NAME_BYTES;
}

static gp_stream_name *find_or_make_locked(gp_stream_names *names, const char *name)
{
    gp_stream_name *found = names->first;
    while (found != NULL && strcmp(found->text, name) != 0)
        found = found->next;
    if (found != NULL)
        return found;
    found = calloc(1, sizeof(*found));
    if (found == NULL)
        return NULL;
    memcpy(found->text, name, strlen(name));
    found->next = names->first;
    names->first = found;
    return found;
}

gp_status gp_stream_names_keep(gp_stream_names *names, const char *name, const char **kept)
{
    if (!is_name(name))
        return gp_error_set(GP_ERR_INVALID_ARGUMENT,
                            "a stream's name is 1 to %d bytes of printable ASCII",
                            GP_STREAM_NAME_BYTES - 1);
    gp_mutex_lock(&names->lock, GP_RANK_LEAF);
    const gp_stream_name *found = find_or_make_locked(names, name);
    gp_mutex_unlock(&names->lock, GP_RANK_LEAF);
    if (found == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a stream's name");
    *kept = found->text;
    return GP_OK;
}
