/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulated runtime: devices, an arena for their memory, streams and events. The arena is inaccessible except while a
   kernel or a copy runs, so a host function that follows a device pointer faults at once. Work of a stream runs when it is
   submitted; in late mode it waits until somebody waits for it, and streams do not help each other: what holds then does
   not depend on luck. MT_EMU_DEVICES and MT_EMU_MEMORY (MiB of each) set the machine. */
#include "cuda/emu/runtime_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cuda/emu/emu_internal.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(data, nbytes) __asan_poison_memory_region(data, nbytes)
#define UNPOISON(data, nbytes) __asan_unpoison_memory_region(data, nbytes)
#else
#define POISON(data, nbytes) ((void)(data), (void)(nbytes))
#define UNPOISON(data, nbytes) ((void)(data), (void)(nbytes))
#endif

enum { MAX_DEVICES = 4, MAX_BLOCKS = 1 << 14, MAX_STREAMS = 256, ALIGN = 512, DEFAULT_MIB = 1024, PROCESSORS = 4 };

typedef struct item {
    struct item *next;
    void (*run)(void *payload);
    _Alignas(16) char payload[];
} item;

struct CUstream_st {
    item *first, **last;
};

struct CUevent_st {
    struct CUstream_st *stream;
    unsigned recorded, completed;
    bool is_timed;
    double ms;
};

typedef struct memory_block {
    size_t at, nbytes;
} memory_block;

typedef struct arena {
    char *base;
    memory_block block[MAX_BLOCKS]; /* in use, by address */
    int n;
    size_t used;
} arena;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static arena arenas[MAX_DEVICES];
static size_t arena_bytes;
static int n_open;
static struct CUstream_st default_stream = {NULL, NULL}, *streams[MAX_STREAMS];
static int n_streams;
static bool is_late;
static int fail_after[MT_EMU_FAIL_KINDS] = {-1, -1, -1};
static __thread int current_device;
static __thread cudaError_t last_error;

/* --- switches and errors --- */

void mt_emu_set_late(bool on)
{
    if (!on)
        cudaDeviceSynchronize();
    is_late = on;
}

void mt_emu_set_fail(int kind, int n)
{
    fail_after[kind] = n;
}

bool mt_emu_fails(int kind)
{
    if (fail_after[kind] < 0)
        return false;
    return fail_after[kind]-- == 0;
}

void mt_emu_error(int code)
{
    if (last_error == cudaSuccess)
        last_error = (cudaError_t)code;
}

static cudaError_t report(cudaError_t error)
{
    if (error != cudaSuccess)
        mt_emu_error((int)error);
    return error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    default:
        return "invalid argument";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}

/* --- devices --- */

static long number_from(const char *name, long missing, long most)
{
    const char *text = getenv(name);
    long n = text ? atol(text) : missing;

    return n < 0 ? missing : n > most ? most : n;
}

static int device_count(void)
{
    static int count = -1;

    if (count < 0)
        count = (int)number_from("MT_EMU_DEVICES", 1, MAX_DEVICES);
    return count;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (device_count() == 0)
        return report(cudaErrorNoDevice);
    *count = device_count();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= device_count())
        return report(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}

static size_t bytes_of_arena(void)
{
    if (!arena_bytes)
        arena_bytes = (size_t)number_from("MT_EMU_MEMORY", DEFAULT_MIB, 1 << 20) << 20;
    return arena_bytes;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (device < 0 || device >= device_count())
        return report(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "CUDA emulator");
    prop->totalGlobalMem = bytes_of_arena();
    prop->major = 9;
    prop->multiProcessorCount = PROCESSORS;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    (void)device;
    *value = attr == cudaDevAttrMultiProcessorCount ? PROCESSORS : attr == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

/* --- memory --- */

static int open_arena(arena *a)
{
    if (a->base)
        return 0;
    a->base = mmap(NULL, bytes_of_arena(), n_open ? PROT_READ | PROT_WRITE : PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->base == MAP_FAILED) {
        a->base = NULL;
        return -1;
    }
    POISON(a->base, bytes_of_arena());
    return 0;
}

static void protect_all(int protection)
{
    for (int i = 0; i < MAX_DEVICES; i++)
        if (arenas[i].base && mprotect(arenas[i].base, bytes_of_arena(), protection) != 0)
            mt_emu_die("cannot change the protection of device memory", 0);
}

void mt_emu_open(void)
{
    pthread_mutex_lock(&lock);
    if (n_open++ == 0)
        protect_all(PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
}

void mt_emu_close(void)
{
    pthread_mutex_lock(&lock);
    if (--n_open == 0)
        protect_all(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

/* The first gap that is large enough. */
static cudaError_t take(void **pointer, arena *a, size_t nbytes)
{
    size_t at = 0, room = (nbytes + ALIGN - 1) / ALIGN * ALIGN;
    int i = 0;

    if (a->n == MAX_BLOCKS || room < nbytes || open_arena(a) < 0)
        return cudaErrorMemoryAllocation;
    for (; i < a->n && a->block[i].at - at < room; i++)
        at = a->block[i].at + a->block[i].nbytes;
    if (at > bytes_of_arena() || bytes_of_arena() - at < room)
        return cudaErrorMemoryAllocation;
    memmove(&a->block[i + 1], &a->block[i], (size_t)(a->n - i) * sizeof a->block[0]);
    a->block[i].at = at;
    a->block[i].nbytes = room;
    a->n++;
    a->used += room;
    UNPOISON(a->base + at, nbytes);
    *pointer = a->base + at;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t nbytes)
{
    cudaError_t error;

    if (mt_emu_fails(MT_EMU_FAIL_ALLOC))
        return report(cudaErrorMemoryAllocation);
    pthread_mutex_lock(&lock);
    error = take(pointer, &arenas[current_device], nbytes ? nbytes : 1);
    pthread_mutex_unlock(&lock);
    return report(error);
}

cudaError_t cudaFree(void *pointer)
{
    cudaError_t error = pointer ? cudaErrorInvalidValue : cudaSuccess;

    cudaDeviceSynchronize();
    pthread_mutex_lock(&lock);
    for (int d = 0; d < MAX_DEVICES; d++) {
        arena *a = &arenas[d];

        for (int i = 0; i < a->n; i++)
            if (a->base + a->block[i].at == (char *)pointer) {
                POISON(pointer, a->block[i].nbytes);
                a->used -= a->block[i].nbytes;
                memmove(&a->block[i], &a->block[i + 1], (size_t)(a->n - i - 1) * sizeof a->block[0]);
                a->n--;
                error = cudaSuccess;
                break;
            }
    }
    pthread_mutex_unlock(&lock);
    return report(error);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = bytes_of_arena();
    *free_bytes = *total - arenas[current_device].used;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **pointer, size_t nbytes, unsigned int flags)
{
    (void)flags;
    *pointer = malloc(nbytes ? nbytes : 1);
    return *pointer ? cudaSuccess : report(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

/* --- streams --- */

static struct CUstream_st *stream_of(void *stream)
{
    return stream ? stream : &default_stream;
}

/* Runs what is queued; with `until`, only as far as that event is complete. */
static void drain(struct CUstream_st *s, const struct CUevent_st *until, unsigned ticket)
{
    while (s->first && !(until && until->completed >= ticket)) {
        item *i = s->first;

        s->first = i->next;
        if (!s->first)
            s->last = NULL;
        i->run(i->payload);
        free(i);
    }
}

void mt_emu_submit(void *stream, void (*run)(void *payload), const void *payload, size_t nbytes)
{
    struct CUstream_st *s = stream_of(stream);
    item *i = malloc(sizeof(item) + nbytes);

    if (!i)
        mt_emu_die("no memory to queue work", 0);
    i->next = NULL;
    i->run = run;
    memcpy(i->payload, payload, nbytes);
    if (s->last)
        *s->last = i;
    else
        s->first = i;
    s->last = &i->next;
    if (!is_late)
        drain(s, NULL, 0);
}

typedef struct mark_work {
    void *data;
    size_t nbytes;
    bool used;
} mark_work;

static void run_mark(void *payload)
{
    const mark_work *w = payload;

    if (w->used)
        UNPOISON(w->data, w->nbytes);
    else
        POISON(w->data, w->nbytes);
}

void mt_emu_mark(void *stream, void *data, size_t nbytes, bool used)
{
    mark_work w = {data, nbytes, used};

    mt_emu_submit(stream, run_mark, &w, sizeof w);
}

typedef struct copy_work {
    void *dst;
    const void *src;
    size_t nbytes;
    int value; /* memset when src is NULL */
} copy_work;

static void run_copy(void *payload)
{
    const copy_work *w = payload;

    mt_emu_open();
    if (w->src)
        memmove(w->dst, w->src, w->nbytes);
    else
        memset(w->dst, w->value, w->nbytes);
    mt_emu_close();
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    copy_work w = {dst, src, nbytes, 0};

    (void)kind;
    if (mt_emu_fails(MT_EMU_FAIL_COPY))
        return report(cudaErrorInvalidValue);
    if (nbytes)
        mt_emu_submit(stream, run_copy, &w, sizeof w);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t nbytes, cudaStream_t stream)
{
    copy_work w = {dst, NULL, nbytes, value};

    if (mt_emu_fails(MT_EMU_FAIL_COPY))
        return report(cudaErrorInvalidValue);
    if (nbytes)
        mt_emu_submit(stream, run_copy, &w, sizeof w);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)flags, (void)priority;
    *stream = n_streams < MAX_STREAMS ? calloc(1, sizeof(struct CUstream_st)) : NULL;
    if (!*stream)
        return report(cudaErrorMemoryAllocation);
    streams[n_streams++] = *stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    drain(stream_of(stream), NULL, 0);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return stream_of(stream)->first ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    drain(&default_stream, NULL, 0);
    for (int i = 0; i < n_streams; i++)
        drain(streams[i], NULL, 0);
    return cudaSuccess;
}

/* --- events --- */

typedef struct event_work {
    struct CUevent_st *event;
    unsigned ticket;
} event_work;

static void run_record(void *payload)
{
    const event_work *w = payload;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    w->event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    w->event->completed = w->ticket;
}

static void run_wait(void *payload)
{
    const event_work *w = payload;

    drain(w->event->stream, w->event, w->ticket);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    *event = calloc(1, sizeof(struct CUevent_st));
    if (!*event)
        return report(cudaErrorMemoryAllocation);
    (*event)->is_timed = !(flags & cudaEventDisableTiming);
    (*event)->stream = &default_stream;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    drain(event->stream, NULL, 0);
    for (int i = 0; i < n_streams; i++) /* others may wait for it */
        drain(streams[i], NULL, 0);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event_work w = {event, ++event->recorded};

    event->stream = stream_of(stream);
    mt_emu_submit(stream, run_record, &w, sizeof w);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return event->completed < event->recorded ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    drain(event->stream, event, event->recorded);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    event_work w = {event, event->recorded};

    (void)flags;
    mt_emu_submit(stream, run_wait, &w, sizeof w);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!start->is_timed || !end->is_timed)
        return report(cudaErrorInvalidResourceHandle);
    if (cudaEventQuery(start) != cudaSuccess || cudaEventQuery(end) != cudaSuccess)
        return cudaErrorNotReady;
    *ms = (float)(end->ms - start->ms);
    return cudaSuccess;
}
