#include "trial.h"

#include "crowd.h"
#include "host_clock.h"
#include "jitter.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a program. */
enum { MOST_STEPS = 1 << 16 };

typedef struct shared {
    proof_result result;
    uint64_t operations; /* of the programs before */
    uint64_t index;
    bool acted[MOST_STEPS];
} shared;

static shared *share(void)
{
    static shared *memory;
    if (memory == NULL) {
        memory =
            mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            memory = NULL;
    }
    return memory;
}

/* One thread acts at a time: on another processor it would only start later. */
static void stay_on_one_processor(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    (void)sched_setaffinity(0, sizeof(here), &here);
}

static const proof_device *open_device(const proof_options *options)
{
    const proof_device *device =
        options->on_standin ? proof_device_standin() : proof_device_simulated();
    if (device == NULL) {
        (void)fprintf(stderr, "proof: libcuda.so.1 is not the stand-in\n");
        _exit(2);
    }
    proof_host_clock_count();
    if (options->in_crowd)
        proof_jitter_start();
    else
        stay_on_one_processor();
    return device;
}

/* What a process that died can no longer say. */
static void add_death(int status, proof_result *result)
{
    if (result->failure[0] != '\0')
        return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(result->failure, sizeof(result->failure), "the program hangs");
    else if (WIFSIGNALED(status))
        (void)snprintf(result->failure, sizeof(result->failure), "the process died of signal %d",
                       WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        (void)snprintf(result->failure, sizeof(result->failure), "the process ended with %d",
                       WEXITSTATUS(status));
}

static bool wait_for(pid_t child, proof_result *result)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    *result = share()->result;
    add_death(status, result);
    return true;
}

static void play(const proof_options *options, const proof_device *device, const proof_plan *plan,
                 proof_result *result, bool *acted)
{
    if (options->in_crowd)
        proof_play_crowd(device, plan, &options->limits, result);
    else
        proof_play(device, plan, result, acted);
}

bool proof_try(const proof_options *options, const proof_plan *plan, unsigned seconds,
               proof_result *result, bool *acted)
{
    shared *memory = share();
    if (memory == NULL)
        return false;
    memset(memory, 0, sizeof(*memory));
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(seconds);
        play(options, open_device(options), plan, &memory->result, memory->acted);
        _exit(0);
    }
    if (!wait_for(child, result))
        return false;
    if (acted != NULL)
        memcpy(acted, memory->acted, plan->count * sizeof(*acted));
    return true;
}

static void play_many(const proof_options *options, uint64_t first, uint64_t count, shared *memory)
{
    const proof_device *device = open_device(options);
    for (memory->index = first; memory->index < first + count; memory->index++) {
        proof_plan plan;
        (void)alarm(PROOF_MOST_SECONDS);
        if (!proof_generate(proof_program_seed(options->seed, memory->index), &options->limits,
                            &plan))
            _exit(2);
        play(options, device, &plan, &memory->result, NULL);
        memory->operations += memory->result.operations;
        if (memory->result.failure[0] != '\0')
            _exit(0);
        proof_plan_clear(&plan);
    }
    _exit(0);
}

bool proof_try_many(const proof_options *options, uint64_t first, uint64_t count,
                    proof_result *result, uint64_t *failed)
{
    shared *memory = share();
    if (memory == NULL)
        return false;
    memset(memory, 0, sizeof(*memory));
    memory->index = first;
    pid_t child = fork();
    if (child == 0)
        play_many(options, first, count, memory);
    if (!wait_for(child, result))
        return false;
    *failed = memory->index;
    result->operations = memory->operations;
    return true;
}
