/*
 * The blocks of a pool that passes through (gp_pool_config.pass_through), by address. Each is a
 * native allocation of its own:
 *
 *     native   |slack|guard|.......bytes.......|guard|slack|
 *                          base
 *
 * Slack is there only for a larger alignment than the native pool's, and guards if they are asked
 * for (guard.h).
 *
 * The youngest of those that were freed stay known, until their memory is handed out anew, so
 * that a second free is told from a pointer that gp never saw.
 */
#ifndef GP_SRC_DIRECT_TABLE_H
#define GP_SRC_DIRECT_TABLE_H

#include "tree.h"
#include <pthread.h>
#include <sys/queue.h>

#include "gp/base.h"
#include "gp/status.h"
#include "counter.h"
#include "fence.h"

typedef enum gp_direct_state {
    GP_DIRECT_LIVE,   /* The caller holds it. */
    GP_DIRECT_PARKED, /* Freed inside a capture; free once that ends. */
    GP_DIRECT_ENDING, /* A thread is about to give it to the native pool. */
    GP_DIRECT_HELD,   /* Freed, and in quarantine. */
    GP_DIRECT_STUCK,  /* No caller's, and the native pool did not take it back. */
    GP_DIRECT_FREED   /* Only remembered. */
} gp_direct_state;

typedef struct gp_direct_block {
    RB_ENTRY(gp_direct_block) by_address;
    TAILQ_ENTRY(gp_direct_block) by_age; /* While freed; while held, in the quarantine. */
    uintptr_t base;
    size_t bytes; /* As asked for. */
    void *native;
    size_t native_bytes;
    uint64_t stream_id; /* Of its allocation, */
    uint64_t freed_on;  /* and of its free. */
    gp_fence *fence;    /* For some aids. Live: behind the allocation. Held: behind the free. */
    gp_direct_state state;
    bool is_poisoned; /* A freed one. */
    bool replaced;    /* An ending one: its address is another block's already. */
} gp_direct_block;

RB_HEAD(gp_direct_tree, gp_direct_block);

typedef struct gp_direct_table {
    pthread_mutex_t lock; /* Leaf lock. */
    struct gp_direct_tree tree;
    TAILQ_HEAD(, gp_direct_block) freed; /* The oldest first. */
    size_t freed_count;
    gp_counter count; /* Blocks in the tree. */
} gp_direct_table;

/* Bytes of what is outstanding. */
typedef struct gp_direct_sum {
    uint64_t native;
    uint64_t live;
    uint64_t parked;
} gp_direct_sum;

void gp_direct_table_init(gp_direct_table *table);

/* Release the fences that are left. */
void gp_direct_table_destroy(gp_direct_table *table, gp_fence_store *fences);

/* Memory that was just allocated, live or stuck, in a struct of malloc's that the table owns from
 * here on. */
void gp_direct_table_add(gp_direct_table *table, gp_direct_block *block);

/* Does the address lie in a block that has its memory, or in one that is freed or ending? */
bool gp_direct_table_has(gp_direct_table *table, uintptr_t address);
bool gp_direct_table_has_freed(gp_direct_table *table, uintptr_t address);

/* Copy the live block that starts at, or contains, an address. GP_ERR_NOT_OWNED,
 * GP_ERR_INTERIOR_POINTER (only the first), GP_ERR_DOUBLE_FREE, with a text. */
gp_status gp_direct_table_at(gp_direct_table *table, const void *ptr, gp_direct_block *copy);
gp_status gp_direct_table_containing(gp_direct_table *table, const void *ptr,
                                     gp_direct_block *copy);

/* The block that starts at `base` goes from one state to the next: of several threads that try
 * it, one gets the block, the others NULL. */
gp_direct_block *gp_direct_table_claim(gp_direct_table *table, uintptr_t base, gp_direct_state from,
                                       gp_direct_state to);

/* A claimed block goes back to the state it came from. */
void gp_direct_table_restore(gp_direct_table *table, gp_direct_block *block, gp_direct_state state);

/* An ending block is freed. */
void gp_direct_table_retire(gp_direct_table *table, gp_direct_block *block);

/* The memory of freed blocks may be anybody's from here on. */
void gp_direct_table_forget_freed(gp_direct_table *table);

/* Copies of all outstanding blocks, in address order, to free(). False without host memory. */
bool gp_direct_table_list(gp_direct_table *table, gp_direct_block **blocks, size_t *count);

gp_direct_sum gp_direct_table_sum(gp_direct_table *table);

#endif
