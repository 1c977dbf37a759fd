/* Callers' mistakes: each has its own status, leaves the pool usable, loses nothing. */
#include "pool_fixture.h"

#include <string.h>

TestSuite(bad_input, .init = pool_open, .fini = pool_close);

#define PRESET ((void *)(uintptr_t)0xdead)

static void expect_text(const char *part)
{
    cr_assert(ne(ptr, strstr(gp_last_error(), part), NULL), "\"%s\" lacks \"%s\"", gp_last_error(),
              part);
}

/* ---- arguments ---- */

Test(bad_input, allocation_without_a_place_for_the_address)
{
    cudaStream_t stream = pool_stream();
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_alloc_from_pool_async(NULL, 512, pool, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_alloc_from_pool_async(NULL, 0, pool, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_alloc_aligned_from_pool_async(NULL, 512, 512, pool, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_alloc_async(NULL, 512, stream));

    pool_expect_unchanged(&before);
}

/* The hit path must not be the one that forgets to look. */
Test(bad_input, allocation_without_a_place_for_the_address_from_a_full_cache)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(512, stream);
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_alloc_from_pool_async(NULL, 512, pool, stream));

    pool_expect_unchanged(&before);
}

Test(bad_input, outputs_that_are_null)
{
    void *block = pool_alloc(512, pool_stream());

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_create(NULL, NULL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_default_pool(NULL, 0));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_usable_size(block, NULL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_native_handle(pool, NULL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_get_device(pool, NULL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_get_stats(pool, NULL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_walk(pool, NULL, NULL));
    gp_pool_config_init(NULL);
}

Test(bad_input, structs_of_another_size)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats) - 1};
    gp_device_info info = {.struct_bytes = sizeof(info) + 8};

    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_get_stats(pool, &stats));
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_get_device(pool, &info));
    stats.struct_bytes = 0;
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_get_stats(pool, &stats));
}

/* C30: rounding wrapped to 0 and gave a block to a request of 2^64 bytes. */
Test(bad_input, sizes_that_overflow_when_they_are_rounded)
{
    static const size_t sizes[] = {
        SIZE_MAX,       SIZE_MAX - 1,    SIZE_MAX - 255,      SIZE_MAX - 510,
        SIZE_MAX - 511, (size_t)1 << 63, (SIZE_MAX >> 1) + 2, (size_t)-4};
    cudaStream_t stream = pool_attached_stream();
    pool_use(512, stream);
    gp_pool_stats before = pool_stats();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *block = PRESET;
        FAILS(GP_ERR_SIZE_OVERFLOW, gp_alloc_from_pool_async(&block, sizes[i], pool, stream));
        FAILS(GP_ERR_SIZE_OVERFLOW,
              gp_alloc_aligned_from_pool_async(&block, sizes[i], MIB(2), pool, stream));
        const gp_reserve_entry plan = {.bytes = sizes[i], .count = 1};
        FAILS(GP_ERR_SIZE_OVERFLOW, gp_pool_reserve(pool, stream, &plan, 1));
        cr_assert(eq(ptr, block, PRESET));
    }

    pool_expect_unchanged(&before);
    void *first = pool_alloc(512, stream);
    void *second = pool_alloc(512, stream);
    cr_assert(ne(ptr, first, second));
}

Test(bad_input, alignments_that_are_no_power_of_two_or_too_large)
{
    static const size_t alignments[] = {0, 3, 768, MIB(2) + 1, MIB(4), SIZE_MAX};
    cudaStream_t stream = pool_stream();
    gp_pool_stats before = pool_stats();

    for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
        void *block = PRESET;
        FAILS(GP_ERR_INVALID_ARGUMENT,
              gp_alloc_aligned_from_pool_async(&block, 512, alignments[i], pool, stream));
        cr_assert(eq(ptr, block, PRESET));
    }

    pool_expect_unchanged(&before);
}

Test(bad_input, plans_that_cannot_be_met)
{
    cudaStream_t stream = pool_stream();
    const gp_reserve_entry nothing = {.bytes = 0, .count = 4};
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_reserve(pool, stream, NULL, 1));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_reserve(pool, stream, &nothing, 1));
    GP(gp_pool_reserve(pool, stream, NULL, 0));

    pool_expect_unchanged(&before);
}

/* ---- pools ---- */

static void expect_every_call_refuses(gp_pool *not_a_pool, cudaStream_t stream)
{
    void *block = PRESET;
    cudaMemPool_t native = NULL;
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    gp_device_info info = {.struct_bytes = sizeof(info)};
    const gp_reserve_entry plan = {.bytes = 512, .count = 1};

    FAILS(GP_ERR_INVALID_POOL, gp_alloc_from_pool_async(&block, 512, not_a_pool, stream));
    FAILS(GP_ERR_INVALID_POOL,
          gp_alloc_aligned_from_pool_async(&block, 512, 512, not_a_pool, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_reserve(not_a_pool, stream, &plan, 1));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_trim_to(not_a_pool, 0));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_get_stats(not_a_pool, &stats));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_reset_peak(not_a_pool));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_check(not_a_pool));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_native_handle(not_a_pool, &native));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_get_device(not_a_pool, &info));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_destroy(not_a_pool));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_destroy_forced(not_a_pool));
    cr_assert(eq(ptr, block, PRESET));
}

static bool visit_nothing(const gp_walk_entry *entry, void *user)
{
    (void)entry;
    (void)user;
    return true;
}

Test(bad_input, a_pool_that_is_null)
{
    expect_every_call_refuses(NULL, pool_stream());
    FAILS(GP_ERR_INVALID_POOL, gp_pool_walk(NULL, visit_nothing, NULL));
}

Test(bad_input, a_pool_that_was_destroyed)
{
    cudaStream_t stream = pool_stream();
    gp_pool_config config = pool_config();
    gp_pool *gone = NULL;
    GP(gp_pool_create(&gone, &config));
    void *block = NULL;
    GP(gp_alloc_from_pool_async(&block, 512, gone, stream));
    pool_free(block, stream);
    GP(gp_pool_destroy(gone));

    expect_every_call_refuses(gone, stream);
    FAILS(GP_ERR_INVALID_POOL, gp_stream_attach(gone, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_stream_detach(gone, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_walk(gone, visit_nothing, NULL));
}

Test(bad_input, a_pool_that_was_destroyed_while_the_stream_is_attached_to_another)
{
    cudaStream_t stream = pool_attached_stream();
    gp_pool_config config = pool_config();
    gp_pool *gone = NULL;
    GP(gp_pool_create(&gone, &config));
    GP(gp_stream_attach(gone, stream));
    GP(gp_pool_destroy(gone));

    expect_every_call_refuses(gone, stream);
    pool_use(512, stream);
}

/* ---- streams ---- */

Test(bad_input, a_stream_of_another_device)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    cudaStream_t here = pool_stream();
    SIM(gp_sim_set_device(1));
    cudaStream_t elsewhere = pool_stream();
    SIM(gp_sim_set_device(0));
    void *block = pool_alloc(512, here);
    gp_pool_stats before = pool_stats();

    void *none = PRESET;
    FAILS(GP_ERR_WRONG_DEVICE, gp_alloc_from_pool_async(&none, 512, pool, elsewhere));
    FAILS(GP_ERR_WRONG_DEVICE, gp_free_async(block, elsewhere));
    FAILS(GP_ERR_WRONG_DEVICE, gp_record_use(block, elsewhere));
    FAILS(GP_ERR_WRONG_DEVICE, gp_stream_attach(pool, elsewhere));

    cr_assert(eq(ptr, none, PRESET));
    pool_expect_unchanged(&before);
    pool_free(block, here);
}

/* A special handle means a stream of the device that is current. */
Test(bad_input, the_null_stream_while_another_device_is_current)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    void *block = pool_alloc(512, NULL);
    SIM(gp_sim_set_device(1));

    void *none = PRESET;
    FAILS(GP_ERR_WRONG_DEVICE, gp_alloc_from_pool_async(&none, 512, pool, NULL));
    FAILS(GP_ERR_WRONG_DEVICE, gp_free_async(block, NULL));

    SIM(gp_sim_set_device(0));
    pool_free(block, NULL);
}

/* C13: the free named the stream the block came from, which was gone by then. */
Test(bad_input, a_destroyed_stream)
{
    cudaStream_t dead = pool_stream();
    cudaStream_t live = pool_stream();
    void *block = pool_alloc(MIB(1), dead);
    SIM(gp_sim_stream_synchronize(dead));
    pool_drop_stream(dead);
    gp_pool_stats before = pool_stats();

    void *none = PRESET;
    FAILS(GP_ERR_INVALID_STREAM, gp_alloc_from_pool_async(&none, 512, pool, dead));
    FAILS(GP_ERR_INVALID_STREAM, gp_free_async(block, dead));
    FAILS(GP_ERR_INVALID_STREAM, gp_record_use(block, dead));
    FAILS(GP_ERR_INVALID_STREAM, gp_stream_attach(pool, dead));
    pool_forgive_dead_handles();

    cr_assert(eq(ptr, none, PRESET));
    pool_expect_unchanged(&before);
    pool_free(block, live);
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
}

/* ---- pointers ---- */

/* C71: pointers that the pool never gave out. */
Test(bad_input, frees_of_foreign_pointers)
{
    cudaStream_t stream = pool_attached_stream();
    int on_the_host = 0;
    void *native = NULL;
    cudaMemPool_t other = NULL;
    SIM(gp_sim_pool_create(&other));
    SIM(gp_sim_malloc_async(&native, MIB(1), other, stream));
    pool_use(512, stream);
    void *const foreign[] = {(void *)(uintptr_t)100, &on_the_host, native,
                             (void *)(UINTPTR_MAX & ~(uintptr_t)511),
                             (void *)(GP_SIM_BASE_ADDRESS + GIB(3))};
    gp_pool_stats before = pool_stats();

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        size_t bytes = 77;
        FAILS(GP_ERR_NOT_OWNED, gp_free_async(foreign[i], stream));
        FAILS(GP_ERR_NOT_OWNED, gp_record_use(foreign[i], stream));
        FAILS(GP_ERR_NOT_OWNED, gp_usable_size(foreign[i], &bytes));
        cr_assert(eq(sz, bytes, 77));
    }

    pool_expect_unchanged(&before);
    SIM(gp_sim_free_async(native, stream));
    SIM(gp_sim_pool_destroy(other));
}

/* C05: a view that starts inside a block is not the block. */
Test(bad_input, frees_of_interior_pointers)
{
    static const size_t sizes[] = {512, KIB(4), KIB(100), MIB(1), MIB(9)};
    cudaStream_t stream = pool_attached_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *block = pool_alloc(sizes[i], stream);
        size_t bytes = 77;
        gp_pool_stats before = pool_stats();

        FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 1, stream));
        FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + sizes[i] / 2, stream));
        FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + sizes[i] - 1, stream));
        FAILS(GP_ERR_INTERIOR_POINTER, gp_usable_size(block + 1, &bytes));

        expect_text("bytes inside the block at");
        cr_assert(eq(sz, bytes, 77));
        pool_expect_unchanged(&before);
        pool_free(block, stream);
    }
}

/* C70: the second free put a block on the free list twice. */
Test(bad_input, double_frees_wherever_the_block_lies)
{
    static const size_t sizes[] = {1, 512, KIB(64), MIB(1), MIB(3)};
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *block = pool_alloc(sizes[i], stream);
        size_t bytes = 0;
        pool_free(block, stream);
        gp_pool_stats before = pool_stats();

        FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
        FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, other));
        FAILS(GP_ERR_DOUBLE_FREE, gp_record_use(block, stream));
        FAILS(GP_ERR_DOUBLE_FREE, gp_usable_size(block, &bytes));
        pool_expect_unchanged(&before);

        void *first = pool_alloc(sizes[i], stream);
        void *second = pool_alloc(sizes[i], stream);
        cr_assert(ne(ptr, first, second));
    }
}

static void free_again(void *block)
{
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, NULL));
}

Test(bad_input, double_free_by_another_thread)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(512, stream);
    pool_free(block, stream);
    gp_pool_stats before = pool_stats();

    pool_in_thread(free_again, block);

    pool_expect_unchanged(&before);
}

Test(bad_input, free_of_a_block_whose_memory_went_back)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = pool_alloc(MIB(8), stream);
    pool_free(block, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block, stream));

    cr_assert(eq(u64, before.reserved_bytes, 0));
    pool_expect_unchanged(&before);
}

Test(bad_input, a_refused_free_leaves_the_block_to_its_owner)
{
    cudaStream_t stream = pool_attached_stream();
    char *block = pool_alloc(KIB(8), stream);

    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 512, stream));
    void *next = pool_alloc(KIB(8), stream);

    cr_assert(ne(ptr, next, block));
    pool_write(block, KIB(8), stream);
    pool_free(block, stream);
}
