#include "nvtx_block.h"

#include <string.h>

static const nvtxPayloadEnum_t tier_names[] = {
    {.name = "none", .value = GP_TIER_NONE},     {.name = "l1", .value = GP_TIER_L1},
    {.name = "l2", .value = GP_TIER_L2},         {.name = "shared", .value = GP_TIER_SHARED},
    {.name = "waited", .value = GP_TIER_WAITED}, {.name = "native", .value = GP_TIER_NATIVE},
    {.name = "node", .value = GP_TIER_NODE},     {.name = "arena", .value = GP_TIER_ARENA},
    {.name = "parked", .value = GP_TIER_PARKED},
};

_Static_assert(sizeof(tier_names) / sizeof(tier_names[0]) == GP_TIER_COUNT,
               "each tier has its name");

_Static_assert(sizeof(gp_nvtx_block) ==
                   4 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(char[2][GP_NVTX_NAME_BYTES]),
               "no padding");

static uint64_t register_tiers(nvtxDomainHandle_t domain)
{
    const nvtxPayloadEnumAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
        .name = "tier",
        .entries = tier_names,
        .numEntries = GP_TIER_COUNT,
        .sizeOfEnum = sizeof(uint32_t),
    };
    return nvtxPayloadEnumRegister(domain, &attributes);
}

uint64_t gp_nvtx_block_register(nvtxDomainHandle_t domain)
{
    const uint64_t tiers = register_tiers(domain);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
         .name = "bytes",
         .offset = offsetof(gp_nvtx_block, bytes)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
         .name = "block_bytes",
         .offset = offsetof(gp_nvtx_block, block_bytes)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS,
         .name = "address",
         .offset = offsetof(gp_nvtx_block, address)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
         .name = "stream_id",
         .offset = offsetof(gp_nvtx_block, stream_id)},
        {.type = tiers != 0 ? tiers : NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
         .name = "tier",
         .offset = offsetof(gp_nvtx_block, tier)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         .name = "policy",
         .arrayOrUnionDetail = GP_NVTX_NAME_BYTES,
         .offset = offsetof(gp_nvtx_block, policy)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         .name = "tag",
         .arrayOrUnionDetail = GP_NVTX_NAME_BYTES,
         .offset = offsetof(gp_nvtx_block, tag)},
    };
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = "gp block",
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = sizeof(entries) / sizeof(entries[0]),
        .payloadStaticSize = sizeof(gp_nvtx_block),
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

void gp_nvtx_block_fill(gp_nvtx_block *payload, const gp_trace_block *block)
{
    payload->bytes = block->asked_bytes != 0 ? block->asked_bytes : block->block_bytes;
    payload->block_bytes = block->block_bytes;
    payload->address = (uint64_t)(uintptr_t)block->address;
    payload->stream_id = block->stream_id;
    payload->tier = (uint32_t)block->tier;
    memset(payload->tag, 0, sizeof(payload->tag));
    if (block->stream_name != NULL)
        memcpy(payload->tag, block->stream_name,
               strnlen(block->stream_name, sizeof(payload->tag) - 1));
}
