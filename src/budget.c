#include "budget.h"

#include "address_table.h"
#include "error.h"

gp_status gp_budget_refuse(const gp_stream_cache *cache, size_t bytes)
{
    return gp_error_set(GP_ERR_LIMIT, "%zu bytes more would pass the stream's budget of %llu",
                        bytes, (unsigned long long)gp_counter_get(&cache->budget_bytes));
}

void gp_budget_charge(gp_stream_cache *cache, gp_page *page)
{
    page->holder = cache;
    (void)gp_counter_add_shared(&cache->charged_bytes, gp_page_large_bytes(page));
    gp_page_set_large(page, GP_STATE_LIVE | GP_RECORD_CHARGED);
}

void gp_budget_credit(uintptr_t base)
{
    const gp_page *page = gp_address_table_held(base);
    gp_counter_sub_shared(&page->holder->charged_bytes, gp_page_large_bytes(page));
}
