#include "player.h"

#include "actions.h"
#include "judge.h"
#include "stage.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { DIRECTOR = PROOF_THREADS }; /* opens and closes, and starts threads anew */

typedef struct player {
    proof_world world;
    bool *acted;
    size_t next;                     /* step */
    const proof_step *extra;         /* to be done before that; NULL: none */
    sem_t called[PROOF_THREADS + 1]; /* posted for the one whose turn it is */
    bool is_over;
    pthread_t threads[PROOF_THREADS];
    bool has_ended[PROOF_THREADS];
} player;

typedef struct part {
    player *play;
    uint8_t thread;
} part;

/* ---- whose turn it is ---- */

static unsigned owner_of(unsigned stream)
{
    return stream - PROOF_OWN;
}

/* A stream of a thread's own is that thread's to name, and a capture its to end. */
static unsigned thread_of(const proof_world *world, const proof_step *step)
{
    const proof_block *block = &world->blocks[step->block];
    if (step->kind == PROOF_END_CAPTURE && world->graphs[step->stream].is_capturing)
        return world->graphs[step->stream].thread;
    if (step->kind == PROOF_END_THREAD)
        return step->thread;
    if (step->kind == PROOF_FREE && block->write.position != 0 && block->write.stream >= PROOF_OWN)
        return owner_of(block->write.stream);
    if (step->stream >= PROOF_OWN)
        return owner_of(step->stream);
    if (block->write.position != 0 && block->write.stream >= PROOF_OWN)
        return owner_of(block->write.stream);
    return step->thread;
}

static void judge(player *play)
{
    proof_world *world = &play->world;
    proof_judge_order(world);
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
        if (world->operations % PROOF_COUNT_EVERY == 0)
            proof_judge_counts(world, pool);
        if (world->operations % PROOF_CHECK_EVERY == 0)
            proof_judge_pool(world, pool);
    }
}

static void act(player *play, uint8_t thread)
{
    proof_world *world = &play->world;
    const proof_step *step = play->extra;
    play->extra = NULL;
    if (step == NULL)
        step = &world->plan->steps[play->next++];
    world->thread = thread;
    proof_act(world, step);
    if (!world->has_acted)
        return;
    if (play->acted != NULL && play->next > 0)
        play->acted[play->next - 1] = true;
    judge(play);
}

static unsigned next_turn(player *play)
{
    const proof_world *world = &play->world;
    while (play->next < world->plan->count && proof_is_idle(world, &world->plan->steps[play->next]))
        play->next++;
    if (proof_has_failed(world) || play->next >= world->plan->count || world->ends_thread)
        return DIRECTOR;
    return thread_of(world, &world->plan->steps[play->next]);
}

static void hand_over(player *play, unsigned to)
{
    (void)sem_post(&play->called[to]);
}

static void wait_for_turn(player *play, unsigned thread)
{
    while (sem_wait(&play->called[thread]) != 0) {
    }
}

/* ---- threads ---- */

/* False if the thread ends with its turn. */
static bool play_turn(player *play, uint8_t thread)
{
    unsigned turn = thread;
    while (turn == thread) {
        act(play, thread);
        turn = next_turn(play);
    }
    bool ends = play->world.ends_thread;
    play->has_ended[thread] = ends;
    hand_over(play, turn);
    return !ends;
}

static void *run_thread(void *started)
{
    const part *mine = started;
    player *play = mine->play;
    const proof_device *device = play->world.device;
    if (device->set_context != NULL)
        device->set_context((play->world.plan->seed >> mine->thread) % 2 == 0);
    bool goes_on = true;
    while (goes_on) {
        wait_for_turn(play, mine->thread);
        goes_on = !play->is_over && play_turn(play, mine->thread);
    }
    return NULL;
}

static void start_thread(player *play, part *parts, uint8_t thread)
{
    parts[thread] = (part){.play = play, .thread = thread};
    play->has_ended[thread] = false;
    if (pthread_create(&play->threads[thread], NULL, run_thread, &parts[thread]) != 0)
        proof_fail(&play->world, "a thread could not be started");
}

/* A thread that ended during its turn is replaced by a new one. */
static void replace_ended(player *play, part *parts)
{
    play->world.ends_thread = false;
    for (unsigned i = 0; i < PROOF_THREADS; i++) {
        if (!play->has_ended[i])
            continue;
        (void)pthread_join(play->threads[i], NULL);
        start_thread(play, parts, (uint8_t)i);
    }
}

static void direct(player *play, part *parts)
{
    for (unsigned turn = next_turn(play); turn != DIRECTOR; turn = next_turn(play)) {
        hand_over(play, turn);
        wait_for_turn(play, DIRECTOR);
        replace_ended(play, parts);
    }
}

/* ---- the whole ---- */

/* A capture is ended by the thread that began it. */
static void end_captures(player *play)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS && !proof_has_failed(&play->world); i++) {
        const proof_step step = {.kind = PROOF_END_CAPTURE, .stream = (uint8_t)i, .choice = 1};
        if (!play->world.graphs[i].is_capturing)
            continue;
        play->extra = &step;
        hand_over(play, play->world.graphs[i].thread);
        wait_for_turn(play, DIRECTOR);
    }
}

static void join_threads(player *play)
{
    play->is_over = true;
    for (unsigned i = 0; i < PROOF_THREADS; i++)
        hand_over(play, i);
    for (unsigned i = 0; i < PROOF_THREADS; i++)
        (void)pthread_join(play->threads[i], NULL);
}

static void run(player *play, part *parts)
{
    for (unsigned i = 0; i < PROOF_THREADS; i++)
        start_thread(play, parts, (uint8_t)i);
    direct(play, parts);
    end_captures(play);
}

/* After a failure nothing is put away: who asked forgets the whole process. */

void proof_play(const proof_device *device, const proof_plan *plan, proof_result *result,
                bool *acted)
{
    static player play; /* one at a time, and too large for a stack */
    part parts[PROOF_THREADS];
    memset(&play, 0, sizeof(play));
    memset(result, 0, sizeof(*result));
    play.world.failure = result->failure;
    play.acted = acted;
    for (unsigned i = 0; i <= PROOF_THREADS; i++)
        (void)sem_init(&play.called[i], 0, 0);
    if (device->set_context != NULL)
        device->set_context(true);
    proof_stage_open(&play.world, device, plan);
    if (!proof_has_failed(&play.world))
        run(&play, parts);
    if (!proof_has_failed(&play.world)) {
        const bool threads_last = plan->seed % 4 == 0;
        if (!threads_last)
            join_threads(&play);
        proof_stage_clear(&play.world);
        if (threads_last)
            join_threads(&play);
        proof_stage_close(&play.world);
    }
    result->operations = play.world.operations;
    result->steps = play.next;
}
