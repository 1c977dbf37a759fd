#include "plugin.h"

#include "peers/peer.h"

#include "gp/policy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const bench_contender_ops *(*peer_entry)(size_t index);

/* POSIX makes dlsym's result a function's address; C has no cast for it. */
static bool find_symbol(void *library, const char *name, void *entry)
{
    void *found = dlsym(library, name);
    memcpy(entry, (void *)&found, sizeof(found));
    return found != NULL;
}

static size_t take_policy(gp_policy_entry_function entry, const bench_contender_ops **contenders,
                          char *reason, size_t reason_chars)
{
    const gp_policy_ops *policy = entry();
    if (policy == NULL || policy->name == NULL) {
        (void)snprintf(reason, reason_chars, "its policy has no name");
        return 0;
    }
    contenders[0] = bench_contender_gp(policy);
    if (contenders[0] == NULL)
        (void)snprintf(reason, reason_chars, "too many policies");
    return contenders[0] != NULL ? 1 : 0;
}

static size_t take_peers(peer_entry entry, const bench_contender_ops **contenders, size_t capacity,
                         char *reason, size_t reason_chars)
{
    size_t count = 0;
    for (; count < capacity; count++) {
        const bench_contender_ops *ops = entry(count);
        if (ops == NULL)
            break;
        if (ops->struct_bytes != sizeof(bench_contender_ops)) {
            (void)snprintf(reason, reason_chars, "built for another version of gp-bench");
            return 0;
        }
        contenders[count] = ops;
    }
    if (count == 0)
        (void)snprintf(reason, reason_chars, "it names no contender");
    return count;
}

size_t bench_plugin_load(const char *path, const bench_contender_ops **contenders, size_t capacity,
                         char *reason, size_t reason_chars)
{
    gp_policy_entry_function policy = NULL;
    peer_entry peer = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(reason, reason_chars, "%s", dlerror());
        return 0;
    }
    if (find_symbol(library, GP_POLICY_ENTRY, (void *)&policy))
        return take_policy(policy, contenders, reason, reason_chars);
    if (find_symbol(library, BENCH_PEER_ENTRY, (void *)&peer))
        return take_peers(peer, contenders, capacity, reason, reason_chars);
    (void)snprintf(reason, reason_chars, "%s: exports neither %s nor %s", path, GP_POLICY_ENTRY,
                   BENCH_PEER_ENTRY);
    (void)dlclose(library);
    return 0;
}
