/*
 * What all pools of a process share in NVTX: the domain, the registered names of ranges, their
 * categories and colours, and for each an attribute struct that is only copied, since filling one
 * for each event costs ten times as much.
 */
#ifndef GP_NVTX_WORDS_H
#define GP_NVTX_WORDS_H

#include "gp/trace.h"
#include "nvtx_headers.h"

/* docs/nsight.md has the table of these, with the colours. */
typedef enum gp_nvtx_category {
    GP_NVTX_L1 = 1,
    GP_NVTX_L2 = 2,
    GP_NVTX_SHARED = 3,
    GP_NVTX_WAIT = 4,
    GP_NVTX_NATIVE = 5,
    GP_NVTX_CAPTURE = 6,
    GP_NVTX_MEMORY = 7,
    GP_NVTX_POOL = 8,
    GP_NVTX_COUNT
} gp_nvtx_category;

typedef struct gp_nvtx_words {
    nvtxDomainHandle_t domain; /* NULL: no tool that knows ranges is attached, nor ever will be. */
    nvtxEventAttributes_t kinds[GP_TRACE_KIND_COUNT];
    nvtxEventAttributes_t allocs[GP_TIER_COUNT];
    nvtxEventAttributes_t frees[GP_TIER_COUNT];
    nvtxEventAttributes_t use;
    uint64_t block_schema; /* Of gp_nvtx_block; 0: the tool knows no such payloads. */
} gp_nvtx_words;

/* Registered by the first call, which must come after CUDA's initialisation. */
const gp_nvtx_words *gp_nvtx_get_words(void);

#endif
