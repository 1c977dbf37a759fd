/*
 * One arena: the memory that one capture took from a pool, cut for its streams.
 *
 *     piece   |LLLL|ff1fff|LL|......any......|     from the commons, pinned until release
 *
 * A *lane* is a stream inside the capture. The order of a graph is that of its streams: what was
 * freed on a lane is free for the same lane only, whose later work comes after the free in each
 * replay. What no lane has used yet is for any.
 *
 * Nothing here locks or calls the driver: arenas.h does.
 */
#ifndef GP_SRC_ARENA_H
#define GP_SRC_ARENA_H

#include "tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gp/arena.h"
#include "gp/policy.h"
#include "request.h"

typedef enum gp_arena_state {
    GP_ARENA_FREE,
    GP_ARENA_LIVE,    /* The caller holds it. */
    GP_ARENA_RETURNED /* Freed outside the capture: kept, since the graph may use it. */
} gp_arena_state;

#define GP_ARENA_ANY_LANE 0u

/* A part of a piece. All parts together are all of the arena's memory. */
typedef struct gp_arena_span {
    RB_ENTRY(gp_arena_span) by_address;
    uintptr_t base;
    size_t bytes;
    gp_arena_state state;
    uint32_t lane;     /* Of a free one: who may have it. */
    bool starts_piece; /* Never joined to what lies below. */
} gp_arena_span;

RB_HEAD(gp_arena_tree, gp_arena_span);

/* The per-thread handle is another stream in each thread. */
typedef struct gp_arena_lane {
    cudaStream_t stream;
    uint64_t thread; /* 0 for any other handle. */
} gp_arena_lane;

struct gp_arena {
    struct gp_arena *next; /* In the pool. */
    uint64_t capture_id;
    struct gp_arena_tree spans;
    gp_arena_lane *lanes; /* Lane n is the entry n - 1. */
    uint32_t lane_count;
};

/* NULL: no host memory. */
gp_arena *gp_arena_make(uint64_t capture_id);
void gp_arena_drop(gp_arena *arena);

/* The lane of a stream in the calling thread, added if it is new; GP_ARENA_ANY_LANE without host
 * memory. */
uint32_t gp_arena_lane_of(gp_arena *arena, cudaStream_t stream);

/* A piece comes in, free for any lane. False without host memory. */
bool gp_arena_add(gp_arena *arena, gp_span piece);

/* Cut a block for a lane. NULL in *block: none fits. GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_arena_take(gp_arena *arena, uint32_t lane, const gp_request *request,
                        gp_arena_span **block);

/* A live block was freed on a lane. */
void gp_arena_give(gp_arena *arena, gp_arena_span *block, uint32_t lane);

/* The part that contains an address; NULL if the arena does not. */
gp_arena_span *gp_arena_find(gp_arena *arena, uintptr_t address);

/* The next piece that starts at or above an address. False: there is none. */
bool gp_arena_next_piece(gp_arena *arena, uintptr_t address, gp_span *piece);

#endif
