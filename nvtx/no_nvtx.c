/* In place of the sinks, in builds without NVTX. */
#include "gp/trace.h"

const gp_trace_sink *gp_trace_nvtx(void)
{
    return NULL;
}

const gp_trace_sink *gp_trace_nvtx_memory(void)
{
    return NULL;
}
