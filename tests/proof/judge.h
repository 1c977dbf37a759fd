/* Says what is wrong: with a call's result, with gp's own view, with the order of accesses. */
#ifndef GP_TESTS_PROOF_JUDGE_H
#define GP_TESTS_PROOF_JUDGE_H

#include "world.h"

/* Note a failure; the first one counts. */
GP_PRINTF(2, 3) void proof_fail(proof_world *world, const char *format, ...);
bool proof_has_failed(const proof_world *world);

/* A native call of the program itself, which must succeed. */
void proof_expect_native(proof_world *world, gp_sim_result result, const char *call);

/* ---- calls of gp: between these two the faults that wait are armed ---- */

void proof_enter_gp(proof_world *world);

/* Did the call succeed? If not, may it fail so? */
bool proof_leave_gp(proof_world *world, gp_status status, const char *call);

/* The same for a call that may find the device or the pool full. */
bool proof_leave_gp_full(proof_world *world, gp_status status, const char *call);

/* ---- after steps ---- */

/* No access was out of order, no dead handle was named. */
void proof_judge_order(proof_world *world);

/* The pool counts what the model counts. */
void proof_judge_counts(proof_world *world, unsigned pool);

/* The pool's own invariants hold. */
void proof_judge_pool(proof_world *world, unsigned pool);

/* Everything was given back, and the device has all it had. */
void proof_judge_end(proof_world *world);

#endif
