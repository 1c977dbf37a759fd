/*
 * A crew: threads that live as long as a measurement and do their jobs together.
 *
 * They outlive the single job because a pool's thread caches live as long as
 * their thread: a warm pass must find the threads of the cold one.
 */
#ifndef GP_BENCH_CREW_H
#define GP_BENCH_CREW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_crew bench_crew;

/* What a thread does: `member` counts from 0. */
typedef void (*bench_crew_job)(void *argument, size_t member);

/* Start `count` threads, at least 1. False if they cannot be had; *crew is then NULL. */
bool bench_crew_create(bench_crew **crew, size_t count);

/* Let every member do the job once, and return when all have. */
void bench_crew_run(bench_crew *crew, bench_crew_job job, void *argument);

/* End the threads. NULL is allowed. */
void bench_crew_destroy(bench_crew *crew);

#endif
