#include "step.h"

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

void proof_step_describe(const proof_step *step, char *text, size_t capacity)
{
    char stream[16];
    char to[16];
    describe_stream(step->stream, stream, sizeof(stream));
    describe_stream(step->to, to, sizeof(to));
    (void)snprintf(text, capacity, "t%u %-15s b%u b/e%u  on %s to %s  p%u  choice %u amount %u",
                   step->thread, names[step->kind], step->block, step->more, stream, to, step->pool,
                   step->choice, step->amount);
}
