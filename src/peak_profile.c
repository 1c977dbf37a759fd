#include "peak_profile.h"

#include <stdlib.h>

#include "error.h"
#include "id_map.h"
#include "recording.h"
#include "request.h"

/* A block of the run. An id may return once its block is free. */
typedef struct run_block {
    size_t bytes; /* 0: not live. */
    uint32_t stream;
    bool is_large;
} run_block;

/* A profile that is being made. */
typedef struct run_reader {
    gp_peak_profile *profile;
    const gp_pool_config *config;
    gp_id_map stream_indexes;
    gp_id_map block_indexes;
    run_block *blocks;
    size_t stream_capacity, block_capacity;
} run_reader;

static gp_status no_memory(void)
{
    return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a recorded run");
}

/* Room for one more element, by doubling; the new ones are zero. NULL: no host memory. */
static void *make_room(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity)
        return array;
    const size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *larger = reallocarray(array, wanted, element_bytes);
    if (larger != NULL)
        *capacity = wanted;
    return larger;
}

/* ---- streams and blocks by their names in the file ------------------------------- */

static gp_status find_stream(run_reader *reader, uint64_t name, uint32_t *index)
{
    gp_peak_profile *profile = reader->profile;
    bool is_new;
    uint64_t *value = gp_id_map_at(&reader->stream_indexes, name, &is_new);
    if (value == NULL)
        return no_memory();
    if (is_new) {
        gp_stream_peaks *streams = make_room(profile->streams, profile->stream_count,
                                             &reader->stream_capacity, sizeof(*streams));
        if (streams == NULL)
            return no_memory();
        profile->streams = streams;
        *value = profile->stream_count++;
        streams[*value] = (gp_stream_peaks){0};
    }
    *index = (uint32_t)*value;
    return GP_OK;
}

static gp_status find_block(run_reader *reader, uint64_t id, run_block **block, bool *is_new)
{
    const size_t count = reader->block_indexes.count;
    uint64_t *value = gp_id_map_at(&reader->block_indexes, id, is_new);
    if (value == NULL)
        return no_memory();
    if (*is_new) {
        run_block *blocks =
            make_room(reader->blocks, count, &reader->block_capacity, sizeof(*blocks));
        if (blocks == NULL)
            return no_memory();
        reader->blocks = blocks;
        *value = count;
        blocks[count] = (run_block){0};
    }
    *block = &reader->blocks[*value];
    return GP_OK;
}

/* ---- events ------------------------------------------------------------------------ */

static gp_peak *peak_of(const run_reader *reader, const run_block *block)
{
    gp_stream_peaks *stream = &reader->profile->streams[block->stream];
    return block->is_large ? &stream->large : &stream->small;
}

static run_block make_block(const run_reader *reader, size_t bytes, uint32_t stream)
{
    const gp_pool_config *config = reader->config;
    const gp_request request = gp_request_make(bytes, config->alignment, config->large_bytes);
    return (run_block){.bytes = gp_round_up(request.bytes, config->alignment),
                       .stream = stream,
                       .is_large = gp_request_is_large(&request)};
}

static void end_block(const run_reader *reader, run_block *block)
{
    peak_of(reader, block)->live -= block->bytes;
    block->bytes = 0;
}

static void begin_block(const run_reader *reader, run_block *block, size_t bytes, uint32_t stream)
{
    /* Its free was not recorded. */
    if (block->bytes != 0)
        end_block(reader, block);
    *block = make_block(reader, bytes, stream);
    gp_peak *peak = peak_of(reader, block);
    peak->live += block->bytes;
    if (peak->live > peak->most)
        peak->most = peak->live;
}

/* It was live from before the first event on, on top of whatever else was. */
static void add_from_before(const run_reader *reader, size_t bytes, uint32_t stream)
{
    const run_block block = make_block(reader, bytes, stream);
    peak_of(reader, &block)->most += block.bytes;
}

static gp_status add_event(run_reader *reader, const gp_recorded_event *event)
{
    uint32_t stream = 0;
    run_block *block = NULL;
    bool is_new = false;
    gp_status status = find_stream(reader, event->stream, &stream);
    if (status == GP_OK)
        status = find_block(reader, event->id, &block, &is_new);
    if (status != GP_OK)
        return status;
    if (!event->frees && event->bytes > 0)
        begin_block(reader, block, event->bytes, stream);
    else if (event->frees && block->bytes != 0)
        end_block(reader, block);
    else if (event->frees && is_new && event->bytes > 0)
        add_from_before(reader, event->bytes, stream);
    return GP_OK;
}

/* ---- the file ------------------------------------------------------------------------ */

static gp_status read_events(run_reader *reader, const char *path)
{
    gp_recording recording;
    gp_recorded_event event;
    bool more = true;
    gp_status status = gp_recording_open(&recording, path);
    if (status != GP_OK)
        return status;
    while (status == GP_OK && more) {
        status = gp_recording_next(&recording, &event, &more);
        if (status == GP_OK && more)
            status = add_event(reader, &event);
    }
    gp_recording_close(&recording);
    return status;
}

gp_status gp_peak_profile_read(gp_peak_profile *profile, const char *path,
                               const gp_pool_config *config)
{
    *profile = (gp_peak_profile){0};
    run_reader reader = {.profile = profile, .config = config};
    gp_status status = read_events(&reader, path);
    gp_id_map_destroy(&reader.stream_indexes);
    gp_id_map_destroy(&reader.block_indexes);
    free(reader.blocks);
    if (status != GP_OK)
        gp_peak_profile_destroy(profile);
    return status;
}

void gp_peak_profile_destroy(gp_peak_profile *profile)
{
    free(profile->streams);
    *profile = (gp_peak_profile){0};
}
