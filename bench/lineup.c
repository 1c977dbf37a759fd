#include "lineup.h"

#include "plugin.h"
#include "program_path.h"

#include "gp/policy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is known ---- */

/* The two that suit small and large requests, joined where gp itself changes over. */
static const gp_policy_ops *policy_by_size(void)
{
    static gp_policy_ops policy;
    gp_pool_config config;
    gp_pool_config_init(&config);
    if (policy.name == NULL)
        policy = gp_policy_by_size(gp_policy_first_fit(), config.large_bytes, gp_policy_best_fit());
    return &policy;
}

static const gp_policy_ops *(*const policies[])(void) = {
    gp_policy_first_fit,
    gp_policy_best_fit,
    policy_by_size,
    gp_policy_cache_first,
};

static const bench_contender_ops *(*const peers[])(void) = {
    bench_peer_native,
    bench_peer_cuda_malloc,
};

/* Measured only if they are named. */
static const bench_contender_ops *(*const variants[])(void) = {
    bench_contender_recorded,
};

/* Peers in C++ and CUDA: in the folder peers/ beside the program, where they were built. */
static const struct {
    const char *name;
    const char *file;
    const char *needs;
} loaded_peers[] = {
    {"cub", "peers/libgp_peer_cub.so", "nvcc and the toolkit's CCCL"},
    {"torch", "peers/libgp_peer_torch.so", "PyTorch"},
    {"rmm-pool", "peers/libgp_peer_rmm.so", "librmm"},
    {"rmm-arena", "peers/libgp_peer_rmm.so", "librmm"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the line-up ---- */

static bool is_in(const bench_lineup *lineup, const bench_contender_ops *ops)
{
    for (size_t i = 0; i < lineup->count; i++) {
        if (lineup->contenders[i] == ops)
            return true;
    }
    return false;
}

static bench_lineup_result add(bench_lineup *lineup, const bench_contender_ops *ops)
{
    if (is_in(lineup, ops))
        return BENCH_LINEUP_ADDED;
    if (lineup->count == BENCH_MAX_POLICIES)
        return BENCH_LINEUP_FULL;
    lineup->contenders[lineup->count++] = ops;
    return BENCH_LINEUP_ADDED;
}

static bench_lineup_result add_absent(bench_lineup *lineup, const char *name, const char *reason)
{
    if (lineup->absent_count == BENCH_MAX_POLICIES)
        return BENCH_LINEUP_FULL;
    bench_absent *absent = &lineup->absent[lineup->absent_count++];
    (void)snprintf(absent->name, sizeof(absent->name), "%s", name);
    (void)snprintf(absent->reason, sizeof(absent->reason), "%s", reason);
    return BENCH_LINEUP_ABSENT;
}

static bench_lineup_result add_path(bench_lineup *lineup, const char *path)
{
    const bench_contender_ops *found[BENCH_MAX_POLICIES];
    char reason[BENCH_REASON_CHARS];
    size_t count = bench_plugin_load(path, found, BENCH_MAX_POLICIES, reason, sizeof(reason));
    bench_lineup_result result = BENCH_LINEUP_ADDED;
    if (count == 0)
        return add_absent(lineup, path, reason);
    for (size_t i = 0; i < count && result == BENCH_LINEUP_ADDED; i++)
        result = add(lineup, found[i]);
    return result;
}

/* ---- peers that are loaded ---- */

static bench_lineup_result add_loaded_peer(bench_lineup *lineup, size_t index)
{
    const bench_contender_ops *found[BENCH_MAX_POLICIES];
    const char *name = loaded_peers[index].name;
    char path[PATH_MAX];
    char reason[BENCH_REASON_CHARS];
    if (!bench_path_beside_program(path, sizeof(path), loaded_peers[index].file) ||
        access(path, R_OK) != 0) {
        (void)snprintf(reason, sizeof(reason), "not built, which needs %s",
                       loaded_peers[index].needs);
        return add_absent(lineup, name, reason);
    }
    size_t count = bench_plugin_load(path, found, BENCH_MAX_POLICIES, reason, sizeof(reason));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(found[i]->name, name) == 0)
            return add(lineup, found[i]);
    }
    return add_absent(lineup, name, count > 0 ? "missing in its library" : reason);
}

/* ---- by name ---- */

bench_lineup_result bench_lineup_add(bench_lineup *lineup, const char *name)
{
    if (strchr(name, '/') != NULL)
        return add_path(lineup, name);
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        const bench_contender_ops *ops = bench_contender_gp(policies[i]());
        if (ops != NULL && strcmp(ops->name, name) == 0)
            return add(lineup, ops);
    }
    for (size_t i = 0; i < COUNT_OF(peers); i++) {
        if (strcmp(peers[i]()->name, name) == 0)
            return add(lineup, peers[i]());
    }
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        if (strcmp(variants[i]()->name, name) == 0)
            return add(lineup, variants[i]());
    }
    for (size_t i = 0; i < COUNT_OF(loaded_peers); i++) {
        if (strcmp(loaded_peers[i].name, name) == 0)
            return add_loaded_peer(lineup, i);
    }
    return BENCH_LINEUP_UNKNOWN;
}

void bench_lineup_add_all(bench_lineup *lineup)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++)
        (void)add(lineup, bench_contender_gp(policies[i]()));
    for (size_t i = 0; i < COUNT_OF(peers); i++)
        (void)add(lineup, peers[i]());
    for (size_t i = 0; i < COUNT_OF(loaded_peers); i++)
        (void)add_loaded_peer(lineup, i);
}

void bench_lineup_leave_gpu_out(bench_lineup *lineup)
{
    size_t kept = 0;
    for (size_t i = 0; i < lineup->count; i++) {
        const bench_contender_ops *ops = lineup->contenders[i];
        if (ops->needs_gpu)
            (void)add_absent(lineup, ops->name, "needs a GPU");
        else
            lineup->contenders[kept++] = ops;
    }
    lineup->count = kept;
}

static void append_name(char *names, size_t capacity, const char *name)
{
    size_t length = strlen(names);
    (void)snprintf(names + length, capacity - length, "%s%s", length > 0 ? ", " : "", name);
}

const char *bench_lineup_names(void)
{
    static char names[512];
    names[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(policies); i++)
        append_name(names, sizeof(names), bench_contender_gp(policies[i]())->name);
    for (size_t i = 0; i < COUNT_OF(peers); i++)
        append_name(names, sizeof(names), peers[i]()->name);
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        append_name(names, sizeof(names), variants[i]()->name);
    for (size_t i = 0; i < COUNT_OF(loaded_peers); i++)
        append_name(names, sizeof(names), loaded_peers[i].name);
    return names;
}
