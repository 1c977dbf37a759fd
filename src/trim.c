/* gp_pool_trim_to(): memory goes back to the device because the caller says so. */
#include "gp/pool.h"
#include "error.h"
#include "pool.h"
#include "registry.h"
#include "release.h"
#include "revocation.h"
#include "share.h"

gp_status gp_pool_trim_to(gp_pool *pool, size_t min_bytes_to_keep)
{
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;

    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_TRIM, min_bytes_to_keep);
    gp_revocation_flush_all(pool);
    gp_share_reclaim_all(pool);
    gp_quarantine_let_out(pool, 0);
    gp_direct_table_forget_freed(&pool->direct);
    (void)gp_release_down_to(pool, min_bytes_to_keep);
    status = gp_release_trim(pool, min_bytes_to_keep);
    gp_trace_end(&scope);
    return status;
}
