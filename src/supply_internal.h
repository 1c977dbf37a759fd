/* What the files of the supply share. */
#ifndef GP_SRC_SUPPLY_INTERNAL_H
#define GP_SRC_SUPPLY_INTERNAL_H

#include "pool.h"
#include "supply.h"

static inline gp_commons_request gp_supply_request(const gp_supply *supply, const gp_fit *fit)
{
    return (gp_commons_request){
        .taker = supply->cache, .bytes = fit->bytes, .alignment = fit->alignment};
}

/* Take a segment of so many bytes from the native pool, and the span out of it. The caller is the
 * one thread that grows. What the span leaves is for any stream. */
gp_status gp_supply_native(const gp_supply *supply, size_t bytes, const gp_fit *fit, gp_span *span);

#endif
