/* The caller is asked for memory before an allocation fails, and told why it fails. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* What the callback does and has seen. */
static atomic_int asked;
static size_t missing;
static void *spare;
static cudaStream_t spare_stream;
static bool answer;
static gp_status inner_status;

static bool count_only(void *user, gp_pool *from, size_t bytes)
{
    asked++;
    missing = bytes;
    cr_assert(eq(ptr, user, &answer));
    cr_assert(eq(ptr, from, pool));
    return answer;
}

/* Locks that were held would hang here. */
static bool free_spare(void *user, gp_pool *from, size_t bytes)
{
    bool more = spare != NULL;
    (void)count_only(user, from, bytes);
    if (more)
        pool_free(spare, spare_stream);
    spare = NULL;
    GP(gp_pool_trim_to(pool, 0));
    (void)pool_stats();
    GP(gp_pool_check(pool));
    return more;
}

static bool allocate(void *user, gp_pool *from, size_t bytes)
{
    void *block = NULL;
    (void)count_only(user, from, bytes);
    inner_status = gp_alloc_from_pool_async(&block, bytes, from, spare_stream);
    return false;
}

/* A pool of 64 MiB, half of it live in one block. */
static cudaStream_t open_with(gp_pressure_fn on_pressure)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(64);
    config.segment_bytes = MIB(32);
    config.on_pressure = on_pressure;
    config.pressure_user = &answer;
    pool_reopen(NULL, &config);
    asked = 0;
    answer = false;
    spare_stream = pool_attached_stream();
    spare = pool_alloc(MIB(32), spare_stream);
    return pool_attached_stream();
}

TestSuite(pressure, .init = pool_open, .fini = pool_close);

Test(pressure, is_passed_on_once_for_an_allocation_that_fails)
{
    cudaStream_t stream = open_with(count_only);
    void *block = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(48), pool, stream));

    cr_assert(eq(int, asked, 1));
    cr_assert(eq(sz, missing, MIB(48)));
    cr_assert(eq(u64, pool_stats().failures, 1));
}

Test(pressure, of_small_blocks_is_passed_on_too)
{
    cudaStream_t stream = open_with(count_only);
    void *block = NULL;
    gp_status status = GP_OK;
    while (status == GP_OK)
        status = gp_alloc_from_pool_async(&block, KIB(512), pool, stream);

    cr_assert(eq(int, status, GP_ERR_LIMIT), "%s", gp_last_error());
    cr_assert(eq(int, asked, 1));
}

Test(pressure, is_nobodys_business_while_gp_finds_memory_itself)
{
    cudaStream_t stream = open_with(count_only);
    pool_free(spare, spare_stream);

    pool_use(MIB(64), stream);

    cr_assert(eq(int, asked, 0));
}

/* C74 */
Test(pressure, is_relieved_by_a_callback_that_frees_and_trims)
{
    cudaStream_t stream = open_with(free_spare);

    pool_use(MIB(48), stream);

    cr_assert(eq(int, asked, 1));
    pool_settle();
}

Test(pressure, is_passed_on_a_few_times_only)
{
    cudaStream_t stream = open_with(count_only);
    void *block = NULL;
    answer = true; /* a lie */

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(48), pool, stream));

    cr_assert(eq(int, asked, 4));
}

/* C74 */
Test(pressure, inside_the_callback_is_a_plain_failure)
{
    cudaStream_t stream = open_with(allocate);
    void *block = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(48), pool, stream));

    cr_assert(eq(int, inner_status, GP_ERR_LIMIT));
    cr_assert(eq(int, asked, 1));
}

/* ---- from several threads ---- */

enum { CROWD = 4 };

static gp_status statuses[CROWD];
static cudaStream_t streams[CROWD];

static void *want_too_much(void *place)
{
    const size_t i = (size_t)((gp_status *)place - statuses);
    void *block = NULL;
    statuses[i] = gp_alloc_from_pool_async(&block, MIB(48), pool, streams[i]);
    return NULL;
}

/* Growth is one thread's at a time, but not while the caller is asked. */
Test(pressure, of_a_crowd_keeps_no_thread_waiting)
{
    pthread_t threads[CROWD];
    (void)open_with(count_only);
    for (int i = 0; i < CROWD; i++)
        streams[i] = pool_attached_stream();
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, want_too_much, &statuses[i]), 0));
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, statuses[i], GP_ERR_LIMIT));
    cr_assert(eq(int, asked, CROWD));
}

/* ---- the text ---- */

static void expect_field(const char *text, const char *name, size_t value)
{
    char field[64];
    (void)snprintf(field, sizeof(field), "%s %zu", name, value);
    cr_assert(strstr(text, field) != NULL, "no \"%s\" in: %s", field, text);
}

Test(pressure, that_is_too_high_is_told_in_figures)
{
    cudaStream_t stream = open_with(NULL);
    void *first = pool_alloc(MIB(4), stream);
    void *second = pool_alloc(MIB(8), stream);
    GP(gp_record_use(second, spare_stream));
    gp_sim_gate gate = pool_close_gate(spare_stream);
    GP(gp_record_use(second, spare_stream));
    pool_free(second, stream); /* pending */
    void *block = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(48), pool, stream));

    char text[1024];
    (void)snprintf(text, sizeof(text), "%s", gp_last_error());
    const gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_bytes, MIB(36)));
    cr_assert(strstr(text, "50331648 bytes asked") != NULL, "%s", text);
    expect_field(text, "live", MIB(36));
    expect_field(text, "cached", MIB(8));
    expect_field(text, "pending", MIB(8));
    expect_field(text, "reserved", MIB(44));
    expect_field(text, "largest free span", 0);
    expect_field(text, "device free", GIB(4) - MIB(44));
    cr_assert(strstr(text, "tried: own blocks") != NULL, "%s", text);
    cr_assert(strstr(text, "on_pressure") == NULL, "%s", text);
    pool_open_gate(gate);
    pool_free(first, stream);
    pool_settle();
}

Test(pressure, that_the_caller_could_not_relieve_is_told_so)
{
    cudaStream_t stream = open_with(count_only);
    void *block = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(48), pool, stream));

    cr_assert(strstr(gp_last_error(), "growth, the caller's on_pressure") != NULL);
}
