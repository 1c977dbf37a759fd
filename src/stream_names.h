/*
 * The names that the streams of a pool got: each text once, for as long as the pool is there, since
 * whoever was told a name may keep it.
 */
#ifndef GP_SRC_STREAM_NAMES_H
#define GP_SRC_STREAM_NAMES_H

#include <pthread.h>

#include "gp/stream.h"

typedef struct gp_stream_name {
    struct gp_stream_name *next;
    char text[GP_STREAM_NAME_BYTES];
} gp_stream_name;

typedef struct gp_stream_names {
    pthread_mutex_t lock; /* Leaf lock. */
    gp_stream_name *first;
} gp_stream_names;

void gp_stream_names_init(gp_stream_names *names);
void gp_stream_names_destroy(gp_stream_names *names);

/* The pool's own copy of a name. GP_ERR_INVALID_ARGUMENT: it is no name;
 * GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_stream_names_keep(gp_stream_names *names, const char *name, const char **kept);

#endif
