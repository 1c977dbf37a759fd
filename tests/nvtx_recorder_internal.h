/* The parts of the tool among themselves. */
#ifndef GP_TESTS_NVTX_RECORDER_INTERNAL_H
#define GP_TESTS_NVTX_RECORDER_INTERNAL_H

#include "nvtx_recorder.h"

#include <pthread.h>

/* The types of NVTX without its implementation: a tool is what is called. */
#define NVTX_NO_IMPL
#define NVTX_AS_SYSTEM_HEADER
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

/* Guards all that is recorded. */
extern pthread_mutex_t recorder_mutex;

/* Into RECORDED_TEXT_BYTES; NULL is empty. */
void recorder_copy_text(char *to, const char *from);

/* ---- what NVTX calls ---- */

void recorder_hear_stream(const void *stream, const char *text);
uint64_t recorder_hear_schema(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attributes);
uint64_t recorder_hear_enum(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attributes);
uint64_t recorder_hear_counter(nvtxDomainHandle_t handle, const nvtxCounterAttr_t *attributes);
void recorder_hear_int_sample(nvtxDomainHandle_t handle, uint64_t id, int64_t value);
void recorder_hear_float_sample(nvtxDomainHandle_t handle, uint64_t id, double value);
void recorder_hear_heap_end(nvtxDomainHandle_t handle, nvtxMemHeapHandle_t heap);
nvtxMemHeapHandle_t recorder_hear_heap(nvtxDomainHandle_t handle, const nvtxMemHeapDesc_t *heap);
void recorder_hear_regions_end(nvtxDomainHandle_t handle,
                               const nvtxMemRegionsUnregisterBatch_t *batch);
void recorder_hear_regions(nvtxDomainHandle_t handle, const nvtxMemRegionsRegisterBatch_t *batch);

#endif
