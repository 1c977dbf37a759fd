/*
 * Plays programs with threads that run freely: each its own, on streams of its own, on pools they
 * share. Blocks go from thread to thread through letterboxes, behind events. No two runs are the
 * same, so what fails is not shrunk; and what only a standing pool can be asked is asked at the
 * end.
 */
#ifndef GP_TESTS_PROOF_CROWD_H
#define GP_TESTS_PROOF_CROWD_H

#include "player.h"

/* The plan names the machine and the pools; each thread has a program of its own by its seed. */
void proof_play_crowd(const proof_device *device, const proof_plan *plan,
                      const proof_limits *limits, proof_result *result);

#endif
