#include "findings.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "lock.h"
#include "pool.h"

void gp_findings_init(gp_findings *findings)
{
    (void)pthread_mutex_init(&findings->lock, NULL);
}

void gp_findings_destroy(gp_findings *findings)
{
    (void)pthread_mutex_destroy(&findings->lock);
}

/* ---- in words ------------------------------------------------------------------- */

static int describe_place(const gp_finding *finding, char *text, size_t capacity)
{
    const uintptr_t base = (uintptr_t)finding->block;
    const uintptr_t address = (uintptr_t)finding->address;
    if (finding->kind == GP_FINDING_UNORDERED_FREE)
        return snprintf(text, capacity, "unordered free: not ordered after the allocation of");
    if (finding->kind == GP_FINDING_LATE_WRITE)
        return snprintf(text, capacity, "late write: written after the free to byte %zu of",
                        address - base);
    if (address < base)
        return snprintf(text, capacity, "overrun: written %zu bytes before the start of",
                        base - address);
    return snprintf(text, capacity, "overrun: written %zu bytes past the end of",
                    address - base - finding->bytes);
}

static void describe(const gp_finding *finding, char *text)
{
    char place[96];
    char end[48] = "still live";
    (void)describe_place(finding, place, sizeof(place));
    if (finding->freed_on != 0)
        (void)snprintf(end, sizeof(end), "freed on stream %llu",
                       (unsigned long long)finding->freed_on);
    (void)snprintf(text, GP_FINDING_TEXT, "%s the block at %p of %zu bytes, of stream %llu, %s",
                   place, finding->block, finding->bytes, (unsigned long long)finding->stream_id,
                   end);
}

/* ---- the interface ---------------------------------------------------------------- */

void gp_findings_count_look(gp_pool *pool, gp_status status)
{
    if (status != GP_OK)
        (void)gp_counter_add_shared(&pool->findings.unchecked, 1);
}

static gp_counter *counter_of(gp_findings *findings, gp_finding_kind kind)
{
    switch (kind) {
    case GP_FINDING_OVERRUN:
        return &findings->overruns;
    case GP_FINDING_LATE_WRITE:
        return &findings->late_writes;
    default:
        return &findings->unordered_frees;
    }
}

void gp_findings_add(gp_pool *pool, gp_finding *finding)
{
    gp_findings *findings = &pool->findings;
    char text[GP_FINDING_TEXT];
    describe(finding, text);
    finding->pool = pool;
    finding->text = text;
    (void)gp_counter_add_shared(counter_of(findings, finding->kind), 1);

    gp_mutex_lock(&findings->lock, GP_RANK_LEAF);
    if (findings->first[0] == '\0' && finding->kind != GP_FINDING_UNORDERED_FREE)
        memcpy(findings->first, text, sizeof(text));
    gp_mutex_unlock(&findings->lock, GP_RANK_LEAF);
    if (pool->config.on_finding != NULL)
        pool->config.on_finding(pool->config.finding_user, finding);
}

gp_status gp_findings_take(gp_pool *pool)
{
    gp_findings *findings = &pool->findings;
    char text[GP_FINDING_TEXT];
    gp_mutex_lock(&findings->lock, GP_RANK_LEAF);
    memcpy(text, findings->first, sizeof(text));
    findings->first[0] = '\0';
    gp_mutex_unlock(&findings->lock, GP_RANK_LEAF);
    return text[0] == '\0' ? GP_OK : gp_error_set(GP_ERR_CORRUPTED, "%s", text);
}
