/*
 * Does a policy keep its promises? Loads one from a shared library, as gp-bench does, and runs the
 * contract of every policy over it.
 *
 *   check_policy LIBRARY [OPERATIONS [SEED]]
 *
 * The exit status is 0 if it holds, 1 if not, 2 if the policy cannot be loaded.
 */
#include "policy_instances.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* NULL, and a message: there is none. */
static const gp_policy_ops *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    gp_policy_entry_function entry = NULL;
    *(void **)&entry = dlsym(library, GP_POLICY_ENTRY); /* As POSIX has it. */

    if (entry == NULL) {
        (void)fprintf(stderr, "%s has no %s()\n", path, GP_POLICY_ENTRY);
        return NULL;
    }
    return entry();
}

static bool is_kept(policy_verdict verdict)
{
    if (!verdict.holds) {
        printf("%s\n", verdict.text);
    }
    return verdict.holds;
}

static bool check(const gp_policy_ops *ops, uint64_t seed, size_t operations)
{
    policy_contract_run run = {.ops = ops, .seed = seed, .operations = operations};

    return is_kept(policy_instances_check_create(ops)) && is_kept(policy_contract_check(&run)) &&
           is_kept(policy_instances_check_determinism(&run));
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        (void)fprintf(stderr, "usage: %s LIBRARY [OPERATIONS [SEED]]\n", argv[0]);
        return 2;
    }
    size_t operations = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    const gp_policy_ops *ops = load(argv[1]);

    if (ops == NULL) {
        return 2;
    }
    if (!check(ops, seed, operations)) {
        return 1;
    }
    printf("policy %s keeps the contract: %zu operations, seed %llu\n", ops->name, operations,
           (unsigned long long)seed);
    return 0;
}
