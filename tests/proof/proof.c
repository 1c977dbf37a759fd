/*
 * Randomised proof of order: random programs on gp, judged after each step.
 *
 * Every program is correct by CUDA's rules, so whatever the hazard checker of the device, the
 * pool's own check or the shadow model find is gp's fault. A failure prints the seed and the
 * program, shrunk to the steps that matter.
 */
#include "shrink.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Programs that one process plays before the next takes over. */
enum { PROGRAMS_A_PROCESS = 50 };

static proof_options chosen = {.seed = 1, .operations = 1000000, .limits = {.most_steps = 4000}};
static uint64_t only_seed; /* of a program; 0: all of a run */

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* ---- a failure ---- */

static void print_plan(const proof_plan *plan)
{
    (void)printf(
        "  device %zu MiB, %s clock; share mode %d, large above %zu, L1 %zu bytes deep %u, "
        "alignment %zu%s%s%s%s%s\n",
        plan->machine.device_bytes >> 20,
        plan->machine.clock == GP_SIM_CLOCK_MANUAL ? "manual" : "virtual", (int)plan->pool.share,
        plan->pool.large_bytes, plan->pool.l1_bytes, (unsigned)plan->pool.l1_depth,
        plan->pool.alignment, plan->pool.visible_order ? ", visible order" : "",
        plan->pool.pass_through ? ", pass-through" : "", plan->pool.poison ? ", poison" : "",
        plan->pool.guard_bytes > 0 ? ", guards" : "",
        plan->pool.quarantine_bytes > 0 ? ", quarantine" : "");
    for (size_t i = 0; i < plan->count; i++) {
        char text[200];
        proof_step_describe(&plan->steps[i], text, sizeof(text));
        (void)printf("  %3zu  %s\n", i, text);
    }
}

static int report(uint64_t seed, const proof_result *found)
{
    proof_plan plan;
    proof_result result;
    (void)printf("program with seed %llu fails: %s\n", (unsigned long long)seed, found->failure);
    if (chosen.in_crowd)
        return 1;
    if (!proof_generate(seed, &chosen.limits, &plan) ||
        !proof_try(&chosen, &plan, PROOF_MOST_SECONDS, &result, NULL))
        return 2;
    if (result.failure[0] == '\0') {
        (void)printf("alone it does not fail: what was there before matters\n");
    } else {
        proof_shrink(&chosen, &plan, &result);
        (void)printf("shrunk to %zu steps: %s\n", plan.count, result.failure);
        print_plan(&plan);
    }
    proof_plan_clear(&plan);
    return 1;
}

/* ---- the run ---- */

static int run_one(void)
{
    proof_plan plan;
    proof_result result;
    if (!proof_generate(only_seed, &chosen.limits, &plan) ||
        !proof_try(&chosen, &plan, PROOF_MOST_SECONDS, &result, NULL))
        return 2;
    proof_plan_clear(&plan);
    if (result.failure[0] != '\0')
        return report(only_seed, &result);
    (void)printf("program with seed %llu: %llu operations, nothing found\n",
                 (unsigned long long)only_seed, (unsigned long long)result.operations);
    return 0;
}

/* Once a minute: a long run is not to look like one that hangs. */
static void print_progress(const struct timespec *start, uint64_t operations)
{
    static unsigned minutes;
    unsigned now = (unsigned)(seconds_since(start) / 60);
    if (now == minutes)
        return;
    minutes = now;
    (void)fprintf(stderr, "proof: %u min, %llu operations\n", now, (unsigned long long)operations);
}

static int run_all(void)
{
    struct timespec start;
    uint64_t operations = 0;
    uint64_t index = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    while (operations < chosen.operations &&
           (chosen.seconds == 0 || seconds_since(&start) < chosen.seconds)) {
        proof_result result;
        uint64_t failed = 0;
        if (!proof_try_many(&chosen, index, PROGRAMS_A_PROCESS, &result, &failed))
            return 2;
        operations += result.operations;
        if (result.failure[0] != '\0') {
            (void)printf("after %llu operations and %.1f s: ", (unsigned long long)operations,
                         seconds_since(&start));
            return report(proof_program_seed(chosen.seed, failed), &result);
        }
        index += PROGRAMS_A_PROCESS;
        print_progress(&start, operations);
    }
    double seconds = seconds_since(&start);
    (void)printf("seed %llu: %llu operations in %llu programs, %.1f s, %.0f a second: nothing "
                 "found\n",
                 (unsigned long long)chosen.seed, (unsigned long long)operations,
                 (unsigned long long)index, seconds, (double)operations / seconds);
    return 0;
}

/* ---- options ---- */

enum { NO_HAZARDS = 256, NO_FAULTS, NO_CAPTURES, EXPECT_FAILURE, CROWD, PASS_THROUGH, AIDS };

static const struct argp_option option_list[] = {
    {"operations", 'n', "N", 0, "Steps that do something, of all programs together (1000000)", 0},
    {"seed", 's', "N", 0, "Seed of the run (1)", 0},
    {"program", 'p', "SEED", 0, "Only the program of this seed, as a failure names it", 0},
    {"seconds", 't', "N", 0, "Stop after so many seconds", 0},
    {"steps", 'l', "N", 0, "Most steps of a program (4000)", 0},
    {"standin", 'c', NULL, 0, "On gp's CUDA backend, over the stand-in for libcuda.so.1", 0},
    {"crowd", CROWD, NULL, 0, "Threads run freely, each a program of its own", 0},
    {"pass-through", PASS_THROUGH, NULL, 0, "Each allocation is a native one", 0},
    {"aids", AIDS, NULL, 0, "The same, with debug aids that have nothing to find", 0},
    {"no-hazards", NO_HAZARDS, NULL, 0, "Leave the hazard checker off", 0},
    {"no-faults", NO_FAULTS, NULL, 0, "Let no native call fail", 0},
    {"no-captures", NO_CAPTURES, NULL, 0, "Capture nothing", 0},
    {"expect-failure", EXPECT_FAILURE, NULL, 0, "A fault is planted: succeed if it is found", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    (void)state;
    switch (key) {
    case 'n':
        chosen.operations = strtoull(text, NULL, 10);
        return 0;
    case 's':
        chosen.seed = strtoull(text, NULL, 10);
        return 0;
    case 'p':
        only_seed = strtoull(text, NULL, 10);
        return 0;
    case 't':
        chosen.seconds = (unsigned)strtoul(text, NULL, 10);
        return 0;
    case 'l':
        chosen.limits.most_steps = strtoul(text, NULL, 10);
        return 0;
    case 'c':
        chosen.on_standin = true;
        return 0;
    case NO_HAZARDS:
        chosen.limits.without_hazards = true;
        return 0;
    case NO_FAULTS:
        chosen.limits.without_faults = true;
        return 0;
    case NO_CAPTURES:
        chosen.limits.without_captures = true;
        return 0;
    case CROWD:
        chosen.in_crowd = true;
        chosen.limits.in_crowd = true;
        return 0;
    case PASS_THROUGH:
        chosen.limits.passes_through = true;
        return 0;
    case AIDS:
        chosen.limits.with_aids = true;
        return 0;
    case EXPECT_FAILURE:
        chosen.expects_failure = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp parser = {
        .options = option_list,
        .parser = parse,
        .doc = "Random programs on gp, each step judged.",
    };
    if (argp_parse(&parser, argc, argv, 0, NULL, NULL) != 0)
        return 2;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);

    int status = only_seed != 0 ? run_one() : run_all();
    if (!chosen.expects_failure || status == 2)
        return status;
    return status == 1 ? 0 : 1;
}
