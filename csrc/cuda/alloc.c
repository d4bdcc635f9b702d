/* SPDX-License-Identifier: BSD-3-Clause */
/* The caching allocator. Segments come from cudaMalloc: 2 MiB for requests up to 1 MiB, 20 MiB for those below 10 MiB, else
   the request rounded to 2 MiB. A segment is cut into blocks of multiples of 512 bytes, which know their neighbours; a free
   block serves the stream it was used on only, so no kernel that still runs can write into it. Blocks used on other streams
   wait for events. All calls are made with the interpreter lock held. */
#include "cuda/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 512,
    SMALL_LIMIT = 1 << 20,
    SMALL_SEGMENT = 2 << 20,
    MIDDLE_LIMIT = 10 << 20,
    MIDDLE_SEGMENT = 20 << 20,
    BUCKETS = 4096,
    MAX_USERS = 8,
};

typedef struct block {
    struct block *before, *after; /* neighbours in the segment */
    struct block *next_free, *next_hash;
    char *data;
    size_t nbytes;
    cudaStream_t stream;
    int device;
    bool is_used, is_small;
    int n_users;
    cudaStream_t user[MAX_USERS]; /* other streams that use it */
    cudaEvent_t event[MAX_USERS]; /* what a freed block waits for */
} block;

static block *free_list[MT_CUDA_MAX_DEVICES][2], *waiting_list, *used[BUCKETS];
static mt_cuda_stats stats[MT_CUDA_MAX_DEVICES];

#if defined(MT_CUDA_EMU)
#define MARK(stream, data, nbytes, used) mt_emu_mark(stream, data, nbytes, used)
#else
#define MARK(stream, data, nbytes, used) ((void)(used))
#endif

static block **bucket_of(const void *data)
{
    return &used[((uintptr_t)data / ALIGN * 0x9e3779b97f4a7c15u) >> 52];
}

/* --- free blocks --- */

static void put_free(block *b)
{
    block **list = &free_list[b->device][b->is_small];

    b->next_free = *list;
    *list = b;
}

static void take_free(block *b)
{
    block **at = &free_list[b->device][b->is_small];

    while (*at != b)
        at = &(*at)->next_free;
    *at = b->next_free;
}

/* The smallest that fits; a large block is not spent on a request that would leave most of it. */
static block *find_free(int device, cudaStream_t stream, size_t nbytes, bool is_small)
{
    block *best = NULL;

    for (block *b = free_list[device][is_small]; b; b = b->next_free)
        if (b->stream == stream && b->nbytes >= nbytes && (!best || b->nbytes < best->nbytes))
            best = b;
    return best;
}

/* b takes over its neighbour, which is free. */
static void join(block *b, block *other)
{
    if (other == b->before) {
        b->data = other->data;
        b->before = other->before;
        if (b->before)
            b->before->after = b;
    } else {
        b->after = other->after;
        if (b->after)
            b->after->before = b;
    }
    b->nbytes += other->nbytes;
    take_free(other);
    free(other);
}

static void make_free(block *b)
{
    MARK(b->stream, b->data, b->nbytes, false);
    b->is_used = false;
    if (b->before && !b->before->is_used)
        join(b, b->before);
    if (b->after && !b->after->is_used)
        join(b, b->after);
    put_free(b);
}

/* Cuts what the request does not need off a block that is in no list. */
static int split(block *b, size_t nbytes)
{
    size_t left = b->nbytes - nbytes;
    block *rest;

    if (left < (b->is_small ? (size_t)ALIGN : (size_t)SMALL_LIMIT))
        return 0;
    rest = calloc(1, sizeof *rest);
    if (!rest)
        return mt_error_set(MT_ERR_MEMORY, "not enough host memory to manage device memory");
    rest->data = b->data + nbytes;
    rest->nbytes = left;
    rest->stream = b->stream;
    rest->device = b->device;
    rest->is_small = b->is_small;
    rest->before = b;
    rest->after = b->after;
    if (rest->after)
        rest->after->before = rest;
    b->after = rest;
    b->nbytes = nbytes;
    put_free(rest);
    return 0;
}

/* --- blocks that other streams used --- */

static bool is_done(block *b)
{
    while (b->n_users > 0 && cudaEventQuery(b->event[b->n_users - 1]) == cudaSuccess)
        cudaEventDestroy(b->event[--b->n_users]);
    return b->n_users == 0;
}

static void collect_waiting(void)
{
    block **at = &waiting_list;

    while (*at) {
        block *b = *at;

        if (is_done(b)) {
            *at = b->next_free;
            make_free(b);
        } else {
            at = &b->next_free;
        }
    }
    cudaGetLastError(); /* "not ready" is no error */
}

/* Events behind the work of the other streams; without events, waits. */
static void start_waiting(block *b)
{
    for (int i = 0; i < b->n_users; i++) {
        bool made = cudaEventCreateWithFlags(&b->event[i], cudaEventDisableTiming) == cudaSuccess;

        if (!made || cudaEventRecord(b->event[i], b->user[i]) != cudaSuccess) {
            cudaDeviceSynchronize();
            for (int k = 0; k < i + made; k++)
                cudaEventDestroy(b->event[k]);
            b->n_users = 0;
            make_free(b);
            return;
        }
    }
    b->next_free = waiting_list;
    waiting_list = b;
}

/* --- segments --- */

static size_t segment_bytes(size_t nbytes)
{
    if (nbytes <= SMALL_LIMIT)
        return SMALL_SEGMENT;
    if (nbytes < MIDDLE_LIMIT)
        return MIDDLE_SEGMENT;
    return (nbytes + SMALL_SEGMENT - 1) / SMALL_SEGMENT * SMALL_SEGMENT;
}

static int out_of_memory(size_t nbytes, int device)
{
    const double mib = 1.0 / (1 << 20);
    size_t free_bytes = 0, total = 0;

    stats[device].n_ooms++;
    cudaMemGetInfo(&free_bytes, &total);
    cudaGetLastError();
    return mt_error_set(
        MT_ERR_CUDA_MEMORY,
        "CUDA out of memory. Tried to allocate %.2f MiB. GPU %d has a total capacity of %.2f MiB of which "
        "%.2f MiB is free. Tensors hold %.2f MiB, and %.2f MiB is reserved but not in use.",
        (double)nbytes * mib, device, (double)total * mib, (double)free_bytes * mib,
        (double)stats[device].allocated * mib, (double)(stats[device].reserved - stats[device].allocated) * mib);
}

static int new_segment(block **out, size_t nbytes, int device, cudaStream_t stream)
{
    size_t room = segment_bytes(nbytes);
    block *b = calloc(1, sizeof *b);
    void *data;

    if (!b)
        return mt_error_set(MT_ERR_MEMORY, "not enough host memory to manage device memory");
    if (cudaMalloc(&data, room) != cudaSuccess) {
        cudaGetLastError();
        stats[device].n_retries++;
        if (mt_cuda_empty_cache() < 0 || cudaMalloc(&data, room) != cudaSuccess) {
            free(b);
            return out_of_memory(nbytes, device);
        }
    }
    b->data = data;
    b->nbytes = room;
    b->stream = stream;
    b->device = device;
    b->is_small = nbytes <= SMALL_LIMIT;
    MARK(stream, data, room, false);
    stats[device].n_segments++;
    stats[device].reserved += room;
    if (stats[device].reserved > stats[device].reserved_peak)
        stats[device].reserved_peak = stats[device].reserved;
    *out = b;
    return 0;
}

int mt_cuda_empty_cache(void)
{
    int rc = 0;

    for (int device = 0; device < mt_cuda_device_count(); device++)
        if (stats[device].reserved && mt_cuda_synchronize((mt_device){MT_DEVICE_CUDA, (int8_t)device}) < 0)
            rc = -1;
    collect_waiting();
    for (int i = 0; i < MT_CUDA_MAX_DEVICES * 2; i++)
        for (block **at = &free_list[i / 2][i % 2]; *at;) {
            block *b = *at;

            if (b->before || b->after) {
                at = &b->next_free;
                continue;
            }
            *at = b->next_free;
            stats[b->device].reserved -= b->nbytes;
            stats[b->device].n_segments--;
            rc |= mt_cuda_ok(cudaFree(b->data));
            free(b);
        }
    return rc;
}

/* --- calls --- */

int mt_cuda_alloc(void **out, size_t nbytes, mt_device device)
{
    size_t room = (nbytes + ALIGN - 1) / ALIGN * ALIGN;
    cudaStream_t stream = mt_cuda_current_stream(device.index);
    mt_cuda_stats *s = &stats[device.index];
    mt_cuda_guard guard;
    block *b = NULL, **bucket;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_cuda_enter(&guard, device));
    if (room < nbytes || nbytes > SIZE_MAX / 2) {
        out_of_memory(nbytes, device.index);
        goto fail;
    }
    if (waiting_list)
        collect_waiting();
    b = find_free(device.index, stream, room, room <= SMALL_LIMIT);
    if (b)
        take_free(b);
    else
        MT_TRY(new_segment(&b, room, device.index, stream));
    if (split(b, room) < 0) {
        put_free(b);
        goto fail;
    }
    b->is_used = true;
    bucket = bucket_of(b->data);
    b->next_hash = *bucket;
    *bucket = b;
    MARK(stream, b->data, nbytes, true);
    s->n_allocs++;
    s->allocated += b->nbytes;
    if (s->allocated > s->allocated_peak)
        s->allocated_peak = s->allocated;
    *out = b->data;
    rc = 0;
fail:
    mt_cuda_leave(&guard);
    return rc;
}

static block **find_used(const void *data)
{
    block **at = bucket_of(data);

    while (*at && (*at)->data != (const char *)data)
        at = &(*at)->next_hash;
    return at;
}

void mt_cuda_free(void *data)
{
    block **at = find_used(data), *b = *at;

    if (!b)
        return;
    *at = b->next_hash;
    stats[b->device].n_frees++;
    stats[b->device].allocated -= b->nbytes;
    if (b->n_users)
        start_waiting(b);
    else
        make_free(b);
}

int mt_cuda_record_stream(void *data, cudaStream_t stream)
{
    block *b = *find_used(data);

    if (!b || b->stream == stream)
        return 0;
    for (int i = 0; i < b->n_users; i++)
        if (b->user[i] == stream)
            return 0;
    if (b->n_users == MAX_USERS)
        return mt_error_set(MT_ERR_RUNTIME, "record_stream(): the memory is in use on %d other streams already",
                            MAX_USERS);
    b->user[b->n_users++] = stream;
    return 0;
}

const mt_cuda_stats *mt_cuda_stats_of(int device)
{
    return &stats[device];
}

void mt_cuda_reset_peak(int device)
{
    stats[device].allocated_peak = stats[device].allocated;
    stats[device].reserved_peak = stats[device].reserved;
}
