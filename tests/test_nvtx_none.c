/* No tool is attached: a pool is as if there were no NVTX. */
#include "pool_fixture.h"

#include <stdlib.h>

static void open_without_tool(void)
{
    unsetenv("NVTX_INJECTION64_PATH");
    pool_open();
}

/* As a tool that was uninstalled leaves it. */
static void open_with_lost_tool(void)
{
    setenv("NVTX_INJECTION64_PATH", "/nowhere/libtool.so", 1);
    pool_open();
}

static void open_with_no_tool_at_all(void)
{
    setenv("NVTX_INJECTION64_PATH", NO_TOOL_FILE, 1);
    pool_open();
}

TestSuite(no_tool, .init = open_without_tool, .fini = pool_close);
TestSuite(lost_tool, .init = open_with_lost_tool, .fini = pool_close);
TestSuite(not_a_tool, .init = open_with_no_tool_at_all, .fini = pool_close);

static void expect_as_without_nvtx(void)
{
    cudaStream_t stream = pool_attached_stream();
    const gp_trace_sink *sink = gp_trace_nvtx();

    GP(gp_pool_set_trace_level(pool, GP_TRACE_ALL));
    GP(gp_stream_set_name(pool, stream, "decoder"));
    pool_use(KIB(1), stream);
    pool_use(KIB(1), stream);
    pool_use(MIB(8), stream);
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_set_trace_level(pool, GP_TRACE_OFF));

    cr_assert(eq(u64, pool_stats().l1_hits, 1));
    if (sink != NULL)
        FAILS(GP_ERR_UNSUPPORTED, gp_trace_attach(pool, sink, NULL, GP_TRACE_ALL));
    gp_pool_config config = pool_config();
    config.annotate_memory = true;
    pool_reopen(NULL, &config);
    pool_use(KIB(1), pool_attached_stream());
}

Test(no_tool, pool_does_its_work_and_has_no_sink)
{
    expect_as_without_nvtx();
}

Test(lost_tool, pool_does_its_work_and_has_no_sink)
{
    expect_as_without_nvtx();
}

Test(not_a_tool, pool_does_its_work_and_has_no_sink)
{
    expect_as_without_nvtx();
}
