/* What steps do, by kind; each does nothing if the slots it names are not as it needs them. */
#ifndef GP_TESTS_PROOF_ACTIONS_H
#define GP_TESTS_PROOF_ACTIONS_H

#include "world.h"

typedef void proof_action(proof_world *world, const proof_step *step);

/* What the step's kind says. */
proof_action proof_act;

/* Does a step lack what it needs at least? Then nobody need be woken for it. */
bool proof_is_idle(const proof_world *world, const proof_step *step);

/* blocks */
proof_action proof_alloc, proof_write, proof_read, proof_record_use, proof_free,
    proof_free_elsewhere, proof_bad_free;

/* streams and time */
proof_action proof_order_streams, proof_record_event, proof_wait_event, proof_create_stream,
    proof_destroy_stream, proof_attach, proof_detach, proof_synchronize, proof_advance,
    proof_close_gate, proof_open_gate;

/* captures */
proof_action proof_begin_capture, proof_end_capture, proof_launch_graph, proof_destroy_graph;

/* pools, threads, faults */
proof_action proof_trim, proof_reserve, proof_create_pool, proof_destroy_pool, proof_plan_fault,
    proof_end_thread, proof_look;

/* blocks that go from thread to thread, where these run freely */
proof_action proof_exchange;

/* ---- what they share ---- */

/* Is the block what was asked for, and nobody else's? Finds out how much of it is usable. */
void proof_judge_block(proof_world *world, unsigned slot, size_t alignment);

/* On a stream that captures: see act_capture.c. */
void proof_alloc_captured(proof_world *world, const proof_step *step, proof_block *block);
void proof_touch_captured(proof_world *world, const proof_step *step, proof_block *block);
void proof_free_captured(proof_world *world, const proof_step *step, proof_block *block);

/* Work of a stream on one or two ranges. */
void proof_launch(proof_world *world, uint8_t stream, const gp_sim_access *accesses, size_t count,
                  uint64_t duration_ns);

/* Free a block on a stream that follows its uses, or was told of them. False: it is live still. */
bool proof_free_on(proof_world *world, uint8_t stream, proof_block *block);

/* Streams lose what they have before they go; the acting thread can name both. */
bool proof_can_retire(const proof_world *world, uint8_t stream, uint8_t heir);
void proof_retire(proof_world *world, uint8_t stream, uint8_t heir);

void proof_open_gate_of(proof_world *world, proof_stream *stream);
void proof_detach_all(proof_world *world, proof_stream *stream);

/* End a capture without a program's leave: everything is freed inside of it. */
void proof_close_capture(proof_world *world, uint8_t stream, bool may_leave_block);
/* `to` follows the last launch: its arenas are released there. */
void proof_drop_graph(proof_world *world, uint8_t stream, uint8_t to);

/* Let all work end. False where that is not possible now. */
bool proof_settle(proof_world *world);

#endif
