/* Fences: recorded positions, shared by reference, their events used again. */
#include "backend.h"
#include "fence.h"

#include "gp/sim.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static gp_backend *device;
static gp_fence_store store;
static gp_trace nobody;
static cudaStream_t stream;

static void open_store(void)
{
    cr_assert(eq(int, (int)gp_backend_sim()->open(0, &device), (int)GP_OK));
    gp_fence_store_init(&store, device, &nobody);
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
}

static void close_store(void)
{
    gp_fence_store_destroy(&store);
    device->ops->close(device);
    cr_assert(eq(sz, gp_sim_live_events(), 0));
}

TestSuite(fence, .init = open_store, .fini = close_store);

static gp_fence *record(void)
{
    gp_fence *fence = NULL;
    cr_assert(eq(int, (int)gp_fence_record(&store, stream, 7, 42, &fence), (int)GP_OK));
    return fence;
}

static gp_sim_gate close_gate(void)
{
    gp_sim_gate gate = NULL;
    cr_assert(eq(int, gp_sim_gate_create(&gate), 0));
    cr_assert(eq(int, gp_sim_gate_wait(stream, gate), 0));
    return gate;
}

Test(fence, is_complete_once_the_stream_is_past_it)
{
    gp_sim_gate gate = close_gate();
    gp_fence *fence = record();
    cr_assert(not(gp_fence_poll(&store, fence)));

    (void)gp_sim_gate_open(gate);
    (void)gp_sim_stream_synchronize(stream);

    cr_assert(gp_fence_poll(&store, fence));
    gp_fence_release(&store, fence);
}

Test(fence, is_asked_of_the_device_only_until_it_is_complete)
{
    gp_fence *fence = record();
    (void)gp_sim_stream_synchronize(stream);
    cr_assert(gp_fence_poll(&store, fence));
    uint64_t queries = gp_sim_call_count(GP_SIM_FN_EVENT_QUERY);

    cr_assert(gp_fence_poll(&store, fence));
    cr_assert(eq(int, (int)gp_fence_wait(&store, fence, stream), (int)GP_OK));

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_EVENT_QUERY), queries));
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_STREAM_WAIT), 0));
    gp_fence_release(&store, fence);
}

Test(fence, stays_until_the_last_reference_goes)
{
    gp_fence *fence = record();
    cr_assert(eq(ptr, (void *)gp_fence_retain(fence), (void *)fence));
    gp_fence_release(&store, fence);
    gp_fence *other = record();
    cr_assert(ne(ptr, (void *)other, (void *)fence));

    gp_fence_release(&store, fence);
    gp_fence *third = record();

    cr_assert(eq(ptr, (void *)third, (void *)fence), "the event was not used again");
    gp_fence_release(&store, other);
    gp_fence_release(&store, third);
}

/* What was complete in its last life must be asked about anew. */
Test(fence, that_is_used_again_is_not_complete)
{
    gp_fence *fence = record();
    (void)gp_sim_stream_synchronize(stream);
    cr_assert(gp_fence_poll(&store, fence));
    gp_fence_release(&store, fence);
    gp_sim_gate gate = close_gate();

    fence = record();

    cr_assert(not(gp_fence_poll(&store, fence)));
    cr_assert(eq(u64, fence->stream_id, 7));
    cr_assert(eq(u64, fence->covers, 42));
    (void)gp_sim_gate_open(gate);
    gp_fence_release(&store, fence);
}

Test(fence, that_cannot_be_recorded_leaves_nothing_behind)
{
    gp_fence *fence = NULL;

    gp_sim_fail(GP_SIM_FN_EVENT_CREATE, 1, 1, 2);
    cr_assert(ne(int, (int)gp_fence_record(&store, stream, 1, 0, &fence), (int)GP_OK));
    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 1, 1, 999);
    cr_assert(eq(int, (int)gp_fence_record(&store, stream, 1, 0, &fence), (int)GP_ERR_CUDA));

    cr_assert(eq(ptr, (void *)fence, NULL));
}

Test(fence, counts_as_incomplete_while_it_cannot_be_asked)
{
    gp_fence *fence = record();
    (void)gp_sim_stream_synchronize(stream);
    gp_sim_fail(GP_SIM_FN_EVENT_QUERY, 1, 1, 999);

    cr_assert(not(gp_fence_poll(&store, fence)));

    cr_assert(gp_fence_poll(&store, fence));
    gp_fence_release(&store, fence);
}
