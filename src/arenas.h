/*
 * The arenas of a pool: which capture has which, and what is allocated and freed in them.
 *
 * Their pieces count as live from the moment they are taken from the commons until the arena is
 * released, whatever of them is handed out.
 */
#ifndef GP_SRC_ARENAS_H
#define GP_SRC_ARENAS_H

#include <pthread.h>

#include "arena.h"
#include "counter.h"

typedef struct gp_arenas {
    pthread_mutex_t lock; /* Leaf lock. Guards the list and all that is in it. */
    gp_arena *first;
    gp_counter count;
    gp_counter bytes; /* Of all their pieces. */
} gp_arenas;

void gp_arenas_init(gp_arenas *arenas);
void gp_arenas_destroy(gp_arenas *arenas);

/* A block of the arena of the capture that `stream` takes part in. Statuses as gp_alloc_async(),
 * and those of gp_arena_supply(). */
gp_status gp_arenas_alloc(gp_pool *pool, void **ptr, const gp_request *request,
                          cudaStream_t stream);

/* The pool that has an arena in which the address lies; NULL: there is none. */
gp_pool *gp_arenas_pool_of(const void *ptr);

/* gp_free_async() and gp_usable_size() of an address in one of the pool's arenas. */
gp_status gp_arenas_free(gp_pool *pool, void *ptr, cudaStream_t stream);
gp_status gp_arenas_usable_size(gp_pool *pool, const void *ptr, size_t *bytes);

#endif
