/*
 * The shadow model: what a program holds, and what is ordered after what.
 *
 * Each stream counts its positions; a stream's clock says up to which position of every other
 * stream its next work is ordered. A block knows where it was written last, and where it was read
 * since. With that a program adds just the waits that CUDA's rules ask for, and no more.
 */
#ifndef GP_TESTS_PROOF_WORLD_H
#define GP_TESTS_PROOF_WORLD_H

#include "device.h"
#include "generator.h"
#include "step.h"

enum { PROOF_READS = 6, PROOF_GRAPH_USES = 8, PROOF_FAULTS = 3, PROOF_NONE = 255 };

/* A place in a stream's order; position 0: nowhere. */
typedef struct proof_point {
    uint32_t position;
    uint8_t stream;
    bool is_recorded; /* gp_record_use() told gp of it */
} proof_point;

typedef struct proof_clock {
    uint32_t positions[PROOF_STREAMS];
} proof_clock;

typedef enum proof_block_state {
    PROOF_BLOCK_NONE,
    PROOF_BLOCK_LIVE,     /* from a pool */
    PROOF_BLOCK_CAPTURED, /* a node of the capture that runs on stream `graph` */
    PROOF_BLOCK_RESTING,  /* of a graph that does not free it; not launched since its last free */
    PROOF_BLOCK_LAUNCHED  /* the same, launched */
} proof_block_state;

typedef struct proof_block {
    proof_block_state state;
    char *address;
    size_t bytes; /* asked for */
    size_t usable;
    uint32_t life; /* tells this block from others of its slot */
    uint8_t pool;
    uint8_t graph;
    uint8_t read_count;
    proof_point write;
    proof_point reads[PROOF_READS];
} proof_block;

typedef struct proof_stream {
    cudaStream_t handle;
    bool exists;
    bool is_blocking;
    bool is_attached[PROOF_POOLS];
    uint8_t capture; /* stream on which the capture began that this one is in; PROOF_NONE: none */
    uint32_t position;
    uint32_t position_before; /* the capture */
    proof_clock clock;
    proof_clock clock_before;
    gp_sim_gate gate; /* closed; NULL: none */
} proof_stream;

typedef struct proof_event {
    gp_sim_event handle;
    bool is_recorded;
    proof_clock clock;
} proof_event;

/* A block from outside that a graph touches. */
typedef struct proof_graph_use {
    uint32_t life;
    uint8_t block;
} proof_graph_use;

/* One for each stream: the capture that began there, then its graph. */
typedef struct proof_graph {
    gp_sim_graph handle; /* NULL: none */
    bool is_capturing;
    bool is_spent; /* a block that it touches was freed inside: not to be launched */
    uint8_t thread;
    gp_sim_capture_mode mode;
    uint8_t use_count;
    proof_graph_use uses[PROOF_GRAPH_USES];
    gp_arena *arenas[PROOF_POOLS]; /* where its blocks are, in pools that have arenas */
    uint8_t resting; /* slot of the block that it leaves allocated; PROOF_NONE: none */
    proof_point launch;
} proof_graph;

typedef struct proof_fault {
    gp_sim_function function;
    uint32_t nth;
    uint32_t count;
    gp_sim_result code;
    uint8_t calls_left; /* of gp, before it is forgotten; 0: no fault */
} proof_fault;

typedef struct proof_pool {
    gp_pool *handle; /* NULL: none */
    uint64_t live_bytes;
    uint64_t live_blocks;
} proof_pool;

typedef struct proof_world {
    const proof_device *device;
    const proof_plan *plan;
    proof_pool pools[PROOF_POOLS];
    proof_stream streams[PROOF_STREAMS];
    proof_block blocks[PROOF_BLOCKS];
    proof_event events[PROOF_EVENTS];
    proof_graph graphs[PROOF_STREAMS];
    proof_fault faults[PROOF_FAULTS];
    proof_clock observed; /* by the host */
    unsigned captures;    /* that run */
    unsigned gates;       /* that are closed */
    uint32_t last_life;
    uint8_t thread;   /* that acts */
    bool is_faulty;   /* a fault was armed during the last call of gp */
    bool has_acted;   /* the step did something */
    bool ends_thread; /* the acting thread ends after the step */
    bool in_crowd;    /* other threads, each with a world of its own, are at it too */
    uint64_t operations;
    char *failure; /* PROOF_TEXT bytes; empty as long as nothing failed */
} proof_world;

enum { PROOF_TEXT = 2048 };

/* ---- points ---- */

/* Give the stream's next work a place. */
proof_point proof_next_point(proof_world *world, uint8_t stream);

/* Is the stream's next work ordered after a point, by what was queued or seen so far? */
bool proof_covers(const proof_world *world, uint8_t stream, proof_point point);

/* The host has seen all work of a stream complete. */
void proof_observe(proof_world *world, uint8_t stream);

/* ---- streams ---- */

/* Can the acting thread name the stream, and does that exist? */
bool proof_is_nameable(const proof_world *world, uint8_t stream);

/* The same, and it does not capture. */
bool proof_is_eager(const proof_world *world, uint8_t stream);

/* Could `later` be made to wait for `earlier` now, and both stay as they are? */
bool proof_can_order(const proof_world *world, uint8_t earlier, uint8_t later);

/* Make it wait, with an event of its own. */
void proof_order(proof_world *world, uint8_t earlier, uint8_t later);

/* Let `later` follow a point, by a wait if there is none yet. */
bool proof_can_follow(const proof_world *world, uint8_t later, proof_point point);
void proof_follow(proof_world *world, uint8_t later, proof_point point);

/* ---- blocks ---- */

/* Can the stream follow all uses of a block, or the last write only? */
bool proof_can_follow_block(const proof_world *world, uint8_t stream, const proof_block *block);
void proof_follow_block(proof_world *world, uint8_t stream, const proof_block *block);

/* The stream's work from here on is the block's only use. */
void proof_take_over(proof_world *world, uint8_t stream, proof_block *block);

/* Slot of a live block at or around an address range; PROOF_NONE. */
unsigned proof_find_overlap(const proof_world *world, const char *address, size_t bytes,
                            unsigned except);

/* A stream goes: whatever was used there last is ordered before what `heir` does next. */
void proof_inherit(proof_world *world, uint8_t stream, uint8_t heir);

#endif
