/* The one place that includes NVTX. Its headers warn with -Wpedantic, unless as system headers. */
#ifndef GP_NVTX_HEADERS_H
#define GP_NVTX_HEADERS_H

#ifndef NVTX_AS_SYSTEM_HEADER
#define NVTX_AS_SYSTEM_HEADER
#endif

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

#if GP_HAVE_CUDA_H
#include <nvtx3/nvToolsExtCudaRt.h>
#endif

#endif
