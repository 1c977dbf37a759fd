/*
 * Contention: many threads, each with a stream of its own, on one pool.
 *
 * Each thread allocates and frees blocks of random sizes. One free in ten is done by
 * another thread on that thread's stream, after an event orders the two. Now and then
 * a stream is destroyed and another takes its place. Meanwhile one more thread reads
 * statistics and trims, and a trace sink comes, changes its level and goes, with the memory that
 * it writes to. At the end the counters must balance to the byte, the pool's
 * invariants hold, and the device have everything back.
 *
 * C73, C77: trims and native calls beside allocations, and no thread that waits for ever.
 *
 * A program of its own, since ThreadSanitizer and Criterion do not go together.
 */
#include "gp/gp.h"
#include "gp/sim.h"

#include <argp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MIB(n) ((size_t)1024 * 1024 * (n))

enum { MOST_THREADS = 256, HELD = 32, STREAM_LIFE = 20000 };

typedef struct options {
    unsigned threads;
    uint64_t pairs; /* of all threads together */
    unsigned seed;
    bool hazards;
} options;

/* A block on its way to the thread that will free it. */
typedef struct parcel {
    void *block;
    size_t bytes;
    gp_sim_event ready; /* recorded after the sender's last use */
} parcel;

typedef struct worker {
    pthread_t id;
    unsigned number;
    uint64_t random;
    uint64_t pairs;
    cudaStream_t stream;
    bool attached;
    void *blocks[HELD];
    size_t bytes[HELD];
    _Alignas(64) _Atomic(parcel *) letterbox;
} worker;

static options chosen = {.threads = 16, .pairs = 10000000, .seed = 1};
static gp_pool *pool;
static worker workers[MOST_THREADS];
static atomic_bool finished;
static atomic_int failures;

/* ---- failures ---- */

static bool expect(bool holds, const char *what, const char *why)
{
    if (!holds && atomic_fetch_add(&failures, 1) < 10)
        (void)fprintf(stderr, "thread_stress: failed: %s: %s\n", what, why);
    return holds;
}

#define GP(call) expect((call) == GP_OK, #call, gp_last_error())
#define SIM(call) expect((call) == 0, #call, "native failure")
#define HOLDS(condition) expect((condition), #condition, "does not hold")

/* ---- random sizes ---- */

static uint64_t next_random(worker *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

/* 64 B to 1 MiB, each doubling as likely as the others; a few are large. */
static size_t random_bytes(worker *self)
{
    uint64_t random = next_random(self);
    if (random % 1024 == 0)
        return MIB(1) + (random >> 20) % MIB(7);
    size_t bytes = (size_t)64 << (random >> 10) % 14;
    return bytes + (random >> 20) % bytes;
}

/* ---- streams ---- */

static bool open_stream(worker *self)
{
    self->attached = next_random(self) % 4 != 0;
    return SIM(gp_sim_stream_create(&self->stream, true)) &&
           (!self->attached || GP(gp_stream_attach(pool, self->stream)));
}

static void close_stream(worker *self)
{
    if (self->attached)
        (void)GP(gp_stream_detach(pool, self->stream));
    (void)SIM(gp_sim_stream_destroy(self->stream));
}

/* The blocks that are held stay; the new stream is ordered after the old one. */
static bool change_stream(worker *self)
{
    gp_sim_event event = NULL;
    if (!SIM(gp_sim_event_create(&event)) || !SIM(gp_sim_event_record(event, self->stream)))
        return false;
    close_stream(self);
    return open_stream(self) && SIM(gp_sim_stream_wait_event(self->stream, event)) &&
           SIM(gp_sim_event_destroy(event));
}

/* ---- blocks ---- */

static void touch(const worker *self, void *block, size_t bytes)
{
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = true};
    if (chosen.hazards)
        (void)SIM(gp_sim_launch(self->stream, &access, 1, 1000));
}

static void open_parcel(parcel *received, cudaStream_t stream)
{
    (void)SIM(gp_sim_stream_wait_event(stream, received->ready));
    (void)SIM(gp_sim_event_destroy(received->ready));
    (void)GP(gp_free_async(received->block, stream));
    free(received);
}

static void empty_letterbox(worker *self)
{
    if (atomic_load_explicit(&self->letterbox, memory_order_relaxed) == NULL)
        return;
    parcel *received = atomic_exchange(&self->letterbox, NULL);
    if (received == NULL)
        return;
    (void)SIM(gp_sim_stream_wait_event(self->stream, received->ready));
    touch(self, received->block, received->bytes);
    open_parcel(received, self->stream);
}

/* What was in the other's box comes back and is freed here. */
static void send(worker *self, void *block, size_t bytes)
{
    worker *other = &workers[next_random(self) % chosen.threads];
    parcel *sent = malloc(sizeof(*sent));
    if (!HOLDS(sent != NULL))
        return;
    *sent = (parcel){.block = block, .bytes = bytes};
    (void)SIM(gp_sim_event_create(&sent->ready));
    (void)SIM(gp_sim_event_record(sent->ready, self->stream));
    parcel *returned = atomic_exchange(&other->letterbox, sent);
    if (returned != NULL)
        open_parcel(returned, self->stream);
}

static void release(worker *self, unsigned place)
{
    void *block = self->blocks[place];
    self->blocks[place] = NULL;
    touch(self, block, self->bytes[place]);
    if (next_random(self) % 10 == 0)
        send(self, block, self->bytes[place]);
    else
        (void)GP(gp_free_async(block, self->stream));
}

static bool acquire(worker *self, unsigned place)
{
    size_t bytes = random_bytes(self);
    if (!GP(gp_alloc_from_pool_async(&self->blocks[place], bytes, pool, self->stream)))
        return false;
    self->bytes[place] = bytes;
    touch(self, self->blocks[place], bytes);
    return true;
}

static void *work(void *started)
{
    worker *self = started;
    if (!open_stream(self))
        return NULL;
    for (uint64_t done = 0; done < self->pairs; done++) {
        unsigned place = next_random(self) % HELD;
        if (self->blocks[place] != NULL)
            release(self, place);
        if (!acquire(self, place))
            break;
        empty_letterbox(self);
        if (next_random(self) % STREAM_LIFE == 0 && !change_stream(self))
            break;
    }
    for (unsigned place = 0; place < HELD; place++) {
        if (self->blocks[place] != NULL)
            release(self, place);
    }
    close_stream(self);
    return NULL;
}

/* ---- a sink ---- */

static gp_status open_sink(void **state, const gp_trace_pool *from, void *user)
{
    (void)from;
    (void)user;
    *state = calloc(1, sizeof(uint64_t));
    return *state == NULL ? GP_ERR_OUT_OF_HOST_MEMORY : GP_OK;
}

static void count_event(void *state, const gp_trace_event *event)
{
    (void)event;
    atomic_fetch_add_explicit((_Atomic(uint64_t) *)state, 1, memory_order_relaxed);
}

static void count_block(void *state, const gp_trace_block *block)
{
    (void)block;
    atomic_fetch_add_explicit((_Atomic(uint64_t) *)state, 1, memory_order_relaxed);
}

static const gp_trace_sink counting_sink = {
    .struct_bytes = sizeof(counting_sink),
    .name = "counting",
    .open = open_sink,
    .close = free,
    .begin = count_event,
    .end = count_event,
    .mark = count_event,
    .alloc = count_block,
    .free = count_block,
};

static void change_sink(unsigned round)
{
    switch (round % 4) {
    case 0:
        (void)GP(gp_trace_attach(pool, &counting_sink, NULL, GP_TRACE_SLOW));
        break;
    case 1:
        (void)GP(gp_trace_set_level(pool, &counting_sink, NULL, GP_TRACE_ALL));
        break;
    case 2:
        (void)GP(gp_trace_detach(pool, &counting_sink, NULL));
        break;
    default:
        break;
    }
}

/* ---- the one who looks on ---- */

static void *look_on(void *unused)
{
    (void)unused;
    const struct timespec pause = {.tv_nsec = 1000000};
    for (unsigned round = 0; !atomic_load(&finished); round++) {
        gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
        (void)GP(gp_pool_get_stats(pool, &stats));
        (void)HOLDS(stats.cached_bytes <= stats.reserved_bytes_high);
        change_sink(round);
        if (round % 8 == 0)
            (void)GP(gp_pool_trim_to(pool, round % 16 == 0 ? 0 : MIB(256)));
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- the run ---- */

static bool start(void)
{
    gp_sim_config machine;
    gp_pool_config config;
    gp_sim_config_init(&machine);
    gp_pool_config_init(&config);
    machine.check_hazards = chosen.hazards;
    config.backend = GP_BACKEND_SIM;
    if (!GP(gp_sim_reset(&machine)) || !GP(gp_pool_create(&pool, &config)))
        return false;

    for (unsigned i = 0; i < chosen.threads; i++) {
        workers[i].number = i;
        workers[i].pairs = chosen.pairs / chosen.threads;
        workers[i].random = 0x9e3779b97f4a7c15u * (chosen.seed + i + 1);
        if (!HOLDS(pthread_create(&workers[i].id, NULL, work, &workers[i]) == 0))
            return false;
    }
    return true;
}

static void join(void)
{
    for (unsigned i = 0; i < chosen.threads; i++)
        (void)pthread_join(workers[i].id, NULL);
}

static void free_what_was_not_fetched(void)
{
    for (unsigned i = 0; i < chosen.threads; i++) {
        parcel *left = atomic_exchange(&workers[i].letterbox, NULL);
        if (left != NULL)
            open_parcel(left, NULL);
    }
}

static void expect_balance(void)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    (void)GP(gp_pool_get_stats(pool, &stats));
    (void)GP(gp_pool_check(pool));
    (void)HOLDS(stats.live_bytes == 0);
    (void)HOLDS(stats.live_blocks == 0);
    (void)HOLDS(stats.cached_bytes == stats.reserved_bytes);
    (void)HOLDS(stats.failures == 0);
    (void)HOLDS(stats.requests == stats.frees);
    (void)HOLDS(stats.requests == chosen.pairs / chosen.threads * chosen.threads);
    (void)HOLDS(stats.l1_hits + stats.l2_hits + stats.shared_hits <= stats.requests);
    (void)printf("%llu pairs, %llu L1 hits, %llu sent home, peak reserved %llu MiB\n",
                 (unsigned long long)stats.requests, (unsigned long long)stats.l1_hits,
                 (unsigned long long)stats.remote_frees,
                 (unsigned long long)(stats.reserved_bytes_high >> 20));
}

static void expect_all_given_back(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 1;
    (void)GP(gp_pool_destroy(pool));
    (void)SIM(gp_sim_device_synchronize());
    (void)SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    (void)HOLDS(free_bytes == total_bytes);
    (void)HOLDS(gp_sim_live_events() == 0);
    (void)HOLDS(gp_sim_live_pools() == 0);
    (void)HOLDS(gp_sim_live_streams() == 0);
    (void)HOLDS(gp_sim_dead_handle_count() == 0);
    (void)HOLDS(gp_sim_hazard_count() == 0);
}

static void run(void)
{
    pthread_t observer;
    if (!start() || !HOLDS(pthread_create(&observer, NULL, look_on, NULL) == 0))
        return;
    join();
    atomic_store(&finished, true);
    (void)pthread_join(observer, NULL);
    free_what_was_not_fetched();
    expect_balance();
    expect_all_given_back();
}

/* ---- options ---- */

static const struct argp_option option_list[] = {
    {"threads", 't', "N", 0, "Threads, 1 to 256 (16)", 0},
    {"pairs", 'p', "N", 0, "Allocations and frees, of all threads together (10000000)", 0},
    {"seed", 's', "N", 0, "Seed of the random sizes (1)", 0},
    {"hazards", 'z', NULL, 0, "Touch every block, with the hazard checker on (slow)", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 't':
        chosen.threads = (unsigned)strtoul(text, NULL, 10);
        if (chosen.threads < 1 || chosen.threads > MOST_THREADS)
            argp_error(state, "--threads must be 1 to %d", MOST_THREADS);
        return 0;
    case 'p':
        chosen.pairs = strtoull(text, NULL, 10);
        return 0;
    case 's':
        chosen.seed = (unsigned)strtoul(text, NULL, 10);
        return 0;
    case 'z':
        chosen.hazards = true;
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
        .doc = "Many threads on one pool of the simulated device; counters must balance.",
    };
    if (argp_parse(&parser, argc, argv, 0, NULL, NULL) != 0)
        return 2;

    run();
    if (atomic_load(&failures) > 0) {
        (void)fprintf(stderr, "thread_stress: %d failures\n", atomic_load(&failures));
        return 1;
    }
    return 0;
}
