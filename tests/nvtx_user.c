#include "nvtx_user.h"

#include <stddef.h>

#define NVTX_AS_SYSTEM_HEADER
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;

void user_push(const char *text)
{
    nvtxEventAttributes_t attributes = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = text,
    };
    if (domain == NULL)
        domain = nvtxDomainCreateA("user");
    (void)nvtxDomainRangePushEx(domain, &attributes);
}

void user_pop(void)
{
    (void)nvtxDomainRangePop(domain);
}
