#include "generator.h"

#include "seeded_random.h"

#include <stdlib.h>

#define KIB(n) ((size_t)1024 * (n))
#define MIB(n) ((size_t)1024 * 1024 * (n))
#define GIB(n) ((size_t)1024 * 1024 * 1024 * (n))

static const unsigned base_weights[PROOF_KINDS] = {
#define PROOF_WEIGHT(kind, weight) [PROOF_##kind] = (weight),
    PROOF_STEP_KINDS(PROOF_WEIGHT)
#undef PROOF_WEIGHT
};

typedef struct mood {
    unsigned weights[PROOF_KINDS];
    unsigned sum;
    unsigned blocks;  /* slots it uses, */
    unsigned streams; /* of those that are made */
    unsigned pools;
    unsigned large_percent;
    unsigned turn_of; /* a thread goes on for so many steps on average */
    size_t large_bytes;
    bool is_tight;
} mood;

/* ---- numbers ---- */

static unsigned below(uint64_t *state, unsigned bound)
{
    return (unsigned)seeded_random_below(state, bound);
}

static bool one_in(uint64_t *state, unsigned count)
{
    return below(state, count) == 0;
}

uint64_t proof_program_seed(uint64_t run_seed, uint64_t index)
{
    uint64_t state = run_seed ^ (index << 32 | index >> 32);
    return seeded_random(&state);
}

/* ---- the machine and the pools ---- */

static void choose_machine(uint64_t *random, const proof_limits *limits, proof_plan *plan)
{
    gp_sim_config *machine = &plan->machine;
    gp_sim_config_init(machine);
    machine->granularity = MIB(2);
    machine->clock = one_in(random, 2) ? GP_SIM_CLOCK_MANUAL : GP_SIM_CLOCK_VIRTUAL;
    machine->check_hazards = !limits->without_hazards;
    if (one_in(random, 8))
        machine->base_offset = 256;
    plan->is_tight = one_in(random, 12);
    if (plan->is_tight)
        machine->device_bytes = MIB(32) << below(random, 4);
}

static void choose_pool(uint64_t *random, proof_plan *plan)
{
    static const gp_share_mode modes[] = {GP_SHARE_WAIT, GP_SHARE_WAIT, GP_SHARE_COMPLETED,
                                          GP_SHARE_NEVER};
    gp_pool_config *pool = &plan->pool;
    gp_pool_config_init(pool);
    pool->share = modes[below(random, 4)];
    pool->segment_bytes = MIB(2) << below(random, 3);
    pool->large_bytes = KIB(64) << below(random, 6);
    if (one_in(random, 3))
        pool->l1_depth = 1 + below(random, 8);
    if (one_in(random, 3))
        pool->l1_bytes = KIB(64) << below(random, 4);
    if (one_in(random, 4))
        pool->alignment = (size_t)512 << below(random, 5);
    if (one_in(random, 5))
        pool->policy = one_in(random, 2) ? gp_policy_first_fit() : gp_policy_best_fit();
    pool->visible_order = one_in(random, 16);
    pool->capture = plan->seed % 4 == 1 ? GP_CAPTURE_ARENA : GP_CAPTURE_NATIVE;
    if (plan->is_tight && one_in(random, 2))
        pool->max_bytes = plan->machine.device_bytes / 2;
}

/* By the seed, and not by what is drawn: a program is the same with and without. */
static void choose_aids(const proof_limits *limits, proof_plan *plan)
{
    gp_pool_config *pool = &plan->pool;
    pool->pass_through = limits->passes_through || limits->with_aids;
    if (!limits->with_aids)
        return;
    pool->poison = (plan->seed & 1) != 0;
    if ((plan->seed & 2) != 0)
        pool->guard_bytes = (size_t)512 << (plan->seed >> 2 & 3);
    pool->watch_order = (plan->seed & 256) != 0;
    if ((plan->seed & 16) != 0)
        pool->quarantine_bytes = KIB(64) << (plan->seed >> 5 & 7);
}

/* ---- the mood ---- */

static unsigned weigh(uint64_t *random, unsigned base)
{
    static const unsigned quarters[] = {0, 1, 2, 4, 4, 4, 8, 16};
    return base * quarters[below(random, 8)];
}

/* Without these there is no program. */
static bool is_vital(unsigned kind)
{
    return kind == PROOF_ALLOC || kind == PROOF_FREE || kind == PROOF_WRITE ||
           kind == PROOF_CREATE_STREAM || kind == PROOF_END_CAPTURE || kind == PROOF_OPEN_GATE ||
           kind == PROOF_ADVANCE;
}

/* With the pool's own check, or the machine's one list of faults, no other call may be under way;
 * a synchronising call might wait for a gate of another thread's, which waits in turn. */
static void leave_out_for_crowd(mood *chosen)
{
    static const proof_kind kinds[] = {PROOF_CREATE_POOL, PROOF_DESTROY_POOL, PROOF_FAULT,
                                       PROOF_END_THREAD,  PROOF_LOOK,         PROOF_SYNCHRONIZE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        chosen->weights[kinds[i]] = 0;
}

static void leave_out(mood *chosen, const proof_limits *limits)
{
    if (limits->in_crowd)
        leave_out_for_crowd(chosen);
    else
        chosen->weights[PROOF_EXCHANGE] = 0;

    if (limits->without_faults)
        chosen->weights[PROOF_FAULT] = 0;
    if (limits->without_captures)
        chosen->weights[PROOF_BEGIN_CAPTURE] = 0;
}

static mood choose_mood(uint64_t *random, const proof_limits *limits, const proof_plan *plan)
{
    mood chosen = {
        .blocks = 4 + below(random, PROOF_BLOCKS - 3),
        .streams = 2 + below(random, PROOF_MADE_STREAMS - 1),
        .pools = one_in(random, 3) ? 2 : 1,
        .large_percent = 10 * below(random, 10),
        .turn_of = 4u << below(random, 4),
        .large_bytes = plan->pool.large_bytes,
        .is_tight = plan->is_tight,
    };
    for (unsigned kind = 0; kind < PROOF_KINDS; kind++) {
        unsigned weight = weigh(random, base_weights[kind]);
        chosen.weights[kind] = weight == 0 && is_vital(kind) ? 2 * base_weights[kind] : weight;
    }
    leave_out(&chosen, limits);
    for (unsigned kind = 0; kind < PROOF_KINDS; kind++)
        chosen.sum += chosen.weights[kind];
    return chosen;
}

/* ---- one step ---- */

static proof_kind choose_kind(uint64_t *random, const mood *of)
{
    unsigned at = below(random, of->sum);
    unsigned kind = 0;
    while (at >= of->weights[kind])
        at -= of->weights[kind++];
    return (proof_kind)kind;
}

/* Few sizes of many, so that what was freed is asked for again. */
static uint32_t choose_bytes(uint64_t *random, const mood *of)
{
    if (below(random, 100) < of->large_percent) {
        size_t most = of->is_tight ? MIB(16) : MIB(48);
        size_t bytes = of->large_bytes + 1 + KIB(64) * below(random, 8);
        if (one_in(random, 3))
            bytes <<= below(random, 7);
        return (uint32_t)(bytes < most ? bytes : most);
    }
    size_t bytes = (size_t)512 << below(random, 9);
    if (bytes > of->large_bytes)
        bytes = of->large_bytes;
    switch (below(random, 4)) {
    case 0:
        return (uint32_t)bytes + 1;
    case 1:
        return (uint32_t)(bytes - below(random, 512));
    default:
        return (uint32_t)bytes;
    }
}

static uint8_t choose_stream(uint64_t *random, const mood *of)
{
    unsigned at = below(random, 40);
    if (at == 0)
        return PROOF_LEGACY;
    if (at < 3)
        return (uint8_t)(PROOF_OWN + below(random, PROOF_THREADS));
    return (uint8_t)below(random, of->streams);
}

static uint32_t choose_amount(uint64_t *random, const mood *of, proof_kind kind)
{
    switch (kind) {
    case PROOF_ALLOC:
    case PROOF_RESERVE:
        return choose_bytes(random, of);
    case PROOF_ADVANCE:
        return 100u << below(random, 10);
    default:
        return (uint32_t)seeded_random(random);
    }
}

static proof_step choose_step(uint64_t *random, const mood *of, unsigned thread)
{
    proof_kind kind = choose_kind(random, of);
    return (proof_step){
        .kind = (uint8_t)kind,
        .thread = (uint8_t)thread,
        .block = (uint8_t)below(random, of->blocks),
        .more = (uint8_t)below(random, of->blocks),
        .stream = choose_stream(random, of),
        .to = choose_stream(random, of),
        .pool = (uint8_t)below(random, of->pools),
        .choice = (uint8_t)below(random, 256),
        .amount = choose_amount(random, of, kind),
    };
}

bool proof_generate(uint64_t seed, const proof_limits *limits, proof_plan *plan)
{
    uint64_t random = seed;
    *plan = (proof_plan){.seed = seed};
    choose_machine(&random, limits, plan);
    choose_pool(&random, plan);
    choose_aids(limits, plan);
    const mood chosen = choose_mood(&random, limits, plan);

    size_t count =
        limits->most_steps / 4 + seeded_random(&random) % (limits->most_steps * 3 / 4 + 1);
    plan->steps = malloc(count * sizeof(*plan->steps));
    if (plan->steps == NULL)
        return false;
    unsigned thread = 0;
    for (size_t i = 0; i < count; i++) {
        if (one_in(&random, chosen.turn_of))
            thread = below(&random, PROOF_THREADS);
        plan->steps[i] = choose_step(&random, &chosen, thread);
    }
    plan->count = count;
    return true;
}

void proof_plan_clear(proof_plan *plan)
{
    free(plan->steps);
    plan->steps = NULL;
}
