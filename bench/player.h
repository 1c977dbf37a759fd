/*
 * The jobs of a stage's players. Each is a bench_crew_job whose argument is the
 * stage.
 */
#ifndef GP_BENCH_PLAYER_H
#define GP_BENCH_PLAYER_H

#include <stddef.h>

/* First and last job of a thread: make the device current, and let go of it. */
void bench_player_arrive(void *stage, size_t member);
void bench_player_depart(void *stage, size_t member);

/* Play the whole trace once; only the calls to the contender are timed. */
void bench_player_play(void *stage, size_t member);

/* Free what the trace leaves live, and wait for the streams. Untimed. */
void bench_player_clean_up(void *stage, size_t member);

#endif
