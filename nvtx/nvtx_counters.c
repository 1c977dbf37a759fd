#include "nvtx_counters.h"

#include <stdio.h>

static const struct {
    const char *name;
    const char *description;
    bool is_share; /* In percent, else in bytes. */
} texts[GP_NVTX_COUNTER_COUNT] = {
    [GP_NVTX_COUNTER_LIVE] = {"live", "bytes held by callers and arenas", false},
    [GP_NVTX_COUNTER_CACHED] = {"cached", "bytes free inside gp", false},
    [GP_NVTX_COUNTER_RESERVED] = {"reserved", "bytes held from the native pool", false},
    [GP_NVTX_COUNTER_IDLE] = {"idle share", "cached bytes of those reserved", true},
    [GP_NVTX_COUNTER_L1_HITS] = {"L1 hit rate", "of the allocations since the last sample", true},
    [GP_NVTX_COUNTER_L2_HITS] = {"L2 hit rate", "of those since then that L1 did not serve", true},
};

static nvtxSemanticsCounter_t semantics_of(bool is_share)
{
    nvtxSemanticsCounter_t semantics = {
        .header = {.structSize = sizeof(semantics),
                   .semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1,
                   .version = NVTX_COUNTER_SEMANTIC_VERSION},
        .flags = NVTX_COUNTER_FLAG_VALUETYPE_ABSOLUTE | NVTX_COUNTER_FLAG_INTERPOLATION_UNTIL_NEXT |
                 NVTX_COUNTER_FLAG_LIMIT_MIN,
        .unit = is_share ? "%" : "bytes",
        .unitScaleNumerator = 1,
        .unitScaleDenominator = 1,
        .limitType = is_share ? NVTX_COUNTER_LIMIT_F64 : NVTX_COUNTER_LIMIT_I64,
    };
    if (is_share) {
        semantics.flags |= NVTX_COUNTER_FLAG_LIMIT_MAX;
        semantics.max.f64 = 100.0;
    }
    return semantics;
}

static uint64_t open_counter(nvtxDomainHandle_t domain, uint32_t pool, gp_nvtx_counter counter)
{
    char name[48];
    const nvtxSemanticsCounter_t semantics = semantics_of(texts[counter].is_share);
    (void)snprintf(name, sizeof(name), "gp pool %u: %s", pool, texts[counter].name);
    const nvtxCounterAttr_t attributes = {
        .structSize = sizeof(attributes),
        .schemaId = texts[counter].is_share ? NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE
                                            : NVTX_PAYLOAD_ENTRY_TYPE_INT64,
        .name = name,
        .description = texts[counter].description,
        .scopeId = NVTX_SCOPE_CURRENT_SW_PROCESS,
        .semantics = &semantics.header,
        .counterId = NVTX_COUNTER_ID_NONE,
    };
    return nvtxCounterRegister(domain, &attributes);
}

void gp_nvtx_counters_open(gp_nvtx_counters *counters, nvtxDomainHandle_t domain, uint32_t pool)
{
    *counters = (gp_nvtx_counters){.l1_percent = 0};
    (void)pthread_mutex_init(&counters->lock, NULL);
    for (int i = 0; i < GP_NVTX_COUNTER_COUNT; i++)
        counters->ids[i] = open_counter(domain, pool, (gp_nvtx_counter)i);
}

void gp_nvtx_counters_close(gp_nvtx_counters *counters)
{
    (void)pthread_mutex_destroy(&counters->lock);
}

/* ---- samples ------------------------------------------------------------------------ */

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

/* Two samples may come in the wrong order; then the later one has fewer requests. */
static void update_rates(gp_nvtx_counters *counters, const gp_trace_sample *now)
{
    const gp_trace_sample *last = &counters->last;
    if (now->requests <= last->requests)
        return;
    const uint64_t requests = now->requests - last->requests;
    const uint64_t l1 = now->l1_hits - last->l1_hits;
    counters->l1_percent = percent(l1, requests);
    if (requests > l1)
        counters->l2_percent = percent(now->l2_hits - last->l2_hits, requests - l1);
    counters->last = *now;
}

void gp_nvtx_counters_sample(gp_nvtx_counters *counters, nvtxDomainHandle_t domain,
                             const gp_trace_sample *sample)
{
    const uint64_t *ids = counters->ids;
    if (ids[GP_NVTX_COUNTER_LIVE] == 0)
        return;
    (void)pthread_mutex_lock(&counters->lock);
    update_rates(counters, sample);
    nvtxCounterSampleInt64(domain, ids[GP_NVTX_COUNTER_LIVE], (int64_t)sample->live_bytes);
    nvtxCounterSampleInt64(domain, ids[GP_NVTX_COUNTER_CACHED], (int64_t)sample->cached_bytes);
    nvtxCounterSampleInt64(domain, ids[GP_NVTX_COUNTER_RESERVED], (int64_t)sample->reserved_bytes);
    nvtxCounterSampleFloat64(domain, ids[GP_NVTX_COUNTER_IDLE],
                             percent(sample->cached_bytes, sample->reserved_bytes));
    nvtxCounterSampleFloat64(domain, ids[GP_NVTX_COUNTER_L1_HITS], counters->l1_percent);
    nvtxCounterSampleFloat64(domain, ids[GP_NVTX_COUNTER_L2_HITS], counters->l2_percent);
    (void)pthread_mutex_unlock(&counters->lock);
}
