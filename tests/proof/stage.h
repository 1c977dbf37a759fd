/* What is there before a program's first step, and how everything is put away after its last. */
#ifndef GP_TESTS_PROOF_STAGE_H
#define GP_TESTS_PROOF_STAGE_H

#include "world.h"

/* A new machine, the streams that are always there, events, a pool or two. */
void proof_stage_open(proof_world *world, const proof_device *device, const proof_plan *plan);

/* The same for the world of another thread, on the machine and the pools of the first. */
void proof_stage_join(proof_world *world, const proof_world *first);

/* What a thread that runs freely has is put away, by itself. */
void proof_stage_leave(proof_world *world);

/* Once no capture runs: everything is freed, pools and streams are destroyed. */
void proof_stage_clear(proof_world *world);

/* Once the threads have ended too: nothing may be left. */
void proof_stage_close(proof_world *world);

#endif
