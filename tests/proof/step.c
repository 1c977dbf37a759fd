#include "step.h"

#include <stdbool.h>
#include <stdio.h>

static const char *const names[PROOF_KINDS] = {
#define PROOF_NAME(kind, weight) [PROOF_##kind] = #kind,
    PROOF_STEP_KINDS(PROOF_NAME)
#undef PROOF_NAME
};

static void describe_stream(unsigned stream, char *text, size_t capacity)
{
    if (stream < PROOF_MADE_STREAMS)
        (void)snprintf(text, capacity, "s%u", stream);
    else if (stream == PROOF_LEGACY)
        (void)snprintf(text, capacity, "legacy");
    else
        (void)snprintf(text, capacity, "own%u", stream - PROOF_OWN);
}

static void describe_what(const proof_step *step, char *text, size_t capacity)
{
    const unsigned block = step->block;
    const unsigned pool = step->pool;
    const unsigned amount = step->amount;
    switch ((proof_kind)step->kind) {
    case PROOF_ALLOC:
        (void)snprintf(text, capacity, "b%u, %u bytes, from p%u", block, amount, pool);
        break;
    case PROOF_RESERVE:
        (void)snprintf(text, capacity, "%u bytes, %u times, in p%u", amount, 1u + step->choice % 4,
                       pool);
        break;
    case PROOF_WRITE:
        (void)snprintf(text, capacity, "b%u%s", block, step->choice % 4 == 0 ? " and another" : "");
        break;
    case PROOF_READ:
        (void)snprintf(text, capacity, "b%u%s", block, step->choice % 2 == 0 ? ", recorded" : "");
        break;
    case PROOF_RECORD_USE:
    case PROOF_FREE:
    case PROOF_FREE_ELSEWHERE:
    case PROOF_BAD_FREE:
        (void)snprintf(text, capacity, "b%u", block);
        break;
    case PROOF_RECORD_EVENT:
    case PROOF_WAIT_EVENT:
        (void)snprintf(text, capacity, "e%u", step->more % PROOF_EVENTS);
        break;
    case PROOF_ADVANCE:
        (void)snprintf(text, capacity, "%u ns", amount);
        break;
    case PROOF_FAULT:
        (void)snprintf(text, capacity, "choice %u, amount %u", step->choice, amount);
        break;
    default:
        (void)snprintf(text, capacity, "p%u, choice %u", pool, step->choice);
        break;
    }
}

/* Kinds that name one stream, and two. */
static bool names_stream(const proof_step *step)
{
    return step->kind != PROOF_ADVANCE && step->kind != PROOF_FREE && step->kind != PROOF_FAULT &&
           step->kind != PROOF_TRIM && step->kind != PROOF_CREATE_POOL &&
           step->kind != PROOF_DESTROY_POOL && step->kind != PROOF_LOOK;
}

static bool names_two(const proof_step *step)
{
    return step->kind == PROOF_ORDER || step->kind == PROOF_DESTROY_STREAM ||
           step->kind == PROOF_LAUNCH_GRAPH;
}

void proof_step_describe(const proof_step *step, char *text, size_t capacity)
{
    char what[64];
    char stream[16] = "";
    char to[16] = "";
    describe_what(step, what, sizeof(what));
    if (names_stream(step))
        describe_stream(step->stream, stream, sizeof(stream));
    if (names_two(step))
        describe_stream(step->to, to, sizeof(to));
    (void)snprintf(text, capacity, "t%u  %-14s  %-6s %-6s  %s", step->thread, names[step->kind],
                   stream, to, what);
}
