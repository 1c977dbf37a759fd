#include "shrink.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In all; and the shorter programs, of which many may hang, each. */
enum { MOST_SECONDS = 20, HANGS_AFTER = 2 };

typedef struct shrinker {
    const proof_options *options;
    proof_plan *plan;
    proof_result *result;
    proof_step *rest; /* room for a shorter program */
    time_t end;
} shrinker;

static bool fails(const shrinker *self, const proof_plan *plan, bool *acted)
{
    proof_result result;
    if (!proof_try(self->options, plan, HANGS_AFTER, &result, acted) || result.failure[0] == '\0')
        return false;
    *self->result = result;
    return true;
}

/* Without steps [from, to). */
static bool fails_without(const shrinker *self, size_t from, size_t to)
{
    proof_plan shorter = *self->plan;
    shorter.steps = self->rest;
    shorter.count = self->plan->count - (to - from);
    memcpy(self->rest, self->plan->steps, from * sizeof(proof_step));
    memcpy(self->rest + from, self->plan->steps + to,
           (self->plan->count - to) * sizeof(proof_step));
    return fails(self, &shorter, NULL);
}

static void take_out(const shrinker *self, size_t from, size_t to)
{
    proof_plan *plan = self->plan;
    memmove(plan->steps + from, plan->steps + to, (plan->count - to) * sizeof(proof_step));
    plan->count -= to - from;
}

/* What comes after the failure cannot have caused it. */
static void cut_end(const shrinker *self)
{
    size_t steps = self->result->steps;
    if (steps > 0 && steps < self->plan->count && fails_without(self, steps, self->plan->count))
        self->plan->count = steps;
}

/* Steps that did nothing may go, all at once. */
static void drop_idle(const shrinker *self)
{
    proof_plan *plan = self->plan;
    bool *acted = calloc(plan->count + 1, sizeof(*acted));
    if (acted != NULL && fails(self, plan, acted)) {
        proof_plan shorter = *plan;
        shorter.steps = self->rest;
        shorter.count = 0;
        for (size_t i = 0; i < plan->count; i++) {
            if (acted[i])
                self->rest[shorter.count++] = plan->steps[i];
        }
        if (shorter.count < plan->count && fails(self, &shorter, NULL)) {
            memcpy(plan->steps, self->rest, shorter.count * sizeof(proof_step));
            plan->count = shorter.count;
        }
    }
    free(acted);
}

/* One pass from the end to the start; true if something went. */
static bool pass(const shrinker *self, size_t width)
{
    bool progress = false;
    for (size_t to = self->plan->count; to > 0 && time(NULL) < self->end;) {
        size_t from = to > width ? to - width : 0;
        if (fails_without(self, from, to)) {
            take_out(self, from, to);
            progress = true;
        }
        to = from;
    }
    return progress;
}

void proof_shrink(const proof_options *options, proof_plan *plan, proof_result *result)
{
    shrinker self = {.options = options,
                     .plan = plan,
                     .result = result,
                     .rest = malloc((plan->count + 1) * sizeof(proof_step)),
                     .end = time(NULL) + MOST_SECONDS};
    if (self.rest == NULL)
        return;
    cut_end(&self);
    drop_idle(&self);
    size_t width = plan->count / 2 > 0 ? plan->count / 2 : 1;
    while (time(NULL) < self.end) {
        bool progress = pass(&self, width);
        if (width == 1 && !progress)
            break;
        width = width > 1 ? width / 2 : 1;
    }
    drop_idle(&self);
    (void)fails(&self, plan, NULL);
    free(self.rest);
}
