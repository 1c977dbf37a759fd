#include "hazard_fixture.h"

hazard_fixture fixture;

void open_fixture(void)
{
    hazard_fixture *f = &fixture;
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&f->a, true), 0));
    cr_assert(eq(int, gp_sim_stream_create(&f->b, true), 0));
    cr_assert(eq(int, gp_sim_stream_get_id(f->a, &f->a_id), 0));
    cr_assert(eq(int, gp_sim_stream_get_id(f->b, &f->b_id), 0));
    cr_assert(eq(int, gp_sim_pool_create(&f->pool), 0));
    cr_assert(eq(int, gp_sim_pool_set_threshold(f->pool, UINT64_MAX), 0));
    cr_assert(eq(int, gp_sim_malloc_async(&f->segment, MIB(1), f->pool, f->a), 0));
    cr_assert(eq(int, gp_sim_stream_synchronize(f->a), 0));
}

static void touch(cudaStream_t stream, void *base, size_t bytes, bool writes)
{
    gp_sim_access access = {.base = base, .bytes = bytes, .writes = writes};
    cr_assert(eq(int, gp_sim_launch(stream, &access, 1, 10000), 0));
}

void write_on(cudaStream_t stream, void *base, size_t bytes)
{
    touch(stream, base, bytes, true);
}

void read_on(cudaStream_t stream, void *base, size_t bytes)
{
    touch(stream, base, bytes, false);
}

void order(cudaStream_t from, cudaStream_t to)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    cr_assert(eq(int, gp_sim_event_record(event, from), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(to, event), 0));
    cr_assert(eq(int, gp_sim_event_destroy(event), 0));
}

void *at(size_t offset)
{
    return (char *)fixture.segment + offset;
}

gp_sim_hazard only_hazard(void)
{
    gp_sim_hazard hazard = {0};
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    cr_assert(eq(sz, gp_sim_get_hazards(&hazard, 1), 1));
    return hazard;
}
