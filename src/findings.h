/*
 * What debug aids found in a pool: counted, told to the caller's on_finding, and kept for the next
 * gp_pool_check().
 */
#ifndef GP_SRC_FINDINGS_H
#define GP_SRC_FINDINGS_H

#include <pthread.h>

#include "gp/pool.h"
#include "counter.h"

#define GP_FINDING_TEXT 256

typedef struct gp_findings {
    pthread_mutex_t lock;        /* Leaf lock. */
    char first[GP_FINDING_TEXT]; /* Of a write, since the last check; empty: none was found. */
    gp_counter overruns;
    gp_counter late_writes;
    gp_counter unordered_frees;
    gp_counter unchecked; /* Blocks that could not be looked at. */
} gp_findings;

void gp_findings_init(gp_findings *findings);
void gp_findings_destroy(gp_findings *findings);

/* A block was looked at, or could not be. */
void gp_findings_count_look(gp_pool *pool, gp_status status);

/* No lock is held: the caller is told. Its pool and text are set here. */
void gp_findings_add(gp_pool *pool, gp_finding *finding);

/* GP_ERR_CORRUPTED, with the text of the first finding of a write, if there was one since the last
 * time. */
gp_status gp_findings_take(gp_pool *pool);

#endif
