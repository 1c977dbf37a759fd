/* The structured payload of an allocation, a free or a use, and its schema. */
#ifndef GP_NVTX_BLOCK_H
#define GP_NVTX_BLOCK_H

#include "gp/trace.h"
#include "nvtx_headers.h"

/* So that the struct has no padding, whose bytes would be whatever the stack had. */
#define GP_NVTX_NAME_BYTES 26

/* Tools read it by the schema; changes here are changes there. */
typedef struct gp_nvtx_block {
    uint64_t bytes;       /* Asked; of a free, those of the block. */
    uint64_t block_bytes; /* As gp rounded them. */
    uint64_t address;
    uint64_t stream_id;
    uint32_t tier;                   /* A gp_tier, by name. */
    char policy[GP_NVTX_NAME_BYTES]; /* The name, cut short. */
    char tag[GP_NVTX_NAME_BYTES];    /* The stream's, from gp_stream_set_name(); or empty. */
} gp_nvtx_block;

/* The id of the schema; 0 if the tool takes no such payloads. */
uint64_t gp_nvtx_block_register(nvtxDomainHandle_t domain);

/* Fill all but the policy. */
void gp_nvtx_block_fill(gp_nvtx_block *payload, const gp_trace_block *block);

#endif
