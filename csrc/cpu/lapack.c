/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading of LAPACK. OpenBLAS ends the process when it finds no room for its work space, and has a limited number of
   them; so one thread at a time is inside, and room is looked for before the first call that needs some. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* dladdr */
#endif
#include "cpu/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/macros.h"

enum { WORK_SPACE = 256 << 20, PATH_ROOM = 4096 };

static pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;
static void *library;
static const char *prefix = "";

/* A child starts with nobody inside. */
static void after_fork(void)
{
    pthread_mutex_init(&inside, NULL);
}

static int room_for_work_space(void)
{
    void *p = mmap(NULL, WORK_SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return mt_error_set(MT_ERR_MEMORY, "no memory for the work space of LAPACK");
    munmap(p, WORK_SPACE);
    return 0;
}

static void *open_library(void)
{
#if defined(MT_BLAS_SYSTEM)
    return dlopen(MT_BLAS_SYSTEM, RTLD_NOW | RTLD_LOCAL);
#else
    static const char name[] = "_libs/libscipy_openblas.so";
    char path[PATH_ROOM];
    const char *slash;
    Dl_info self;

    if (!dladdr((void *)(uintptr_t)&mt_lapack_begin, &self) || !self.dli_fname)
        return NULL;
    slash = strrchr(self.dli_fname, '/');
    if (!slash || (size_t)(slash + 1 - self.dli_fname) + sizeof(name) > sizeof(path))
        return NULL;
    memcpy(path, self.dli_fname, (size_t)(slash + 1 - self.dli_fname));
    memcpy(path + (slash + 1 - self.dli_fname), name, sizeof(name));
    prefix = "scipy_";
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

static void *symbol(const char *letter, const char *stem, const char *suffix)
{
    char name[64];

    snprintf(name, sizeof(name), "%s%s%s%s", prefix, letter, stem, suffix);
    return dlsym(library, name);
}

/* One small product makes the library reserve its work space, which it keeps. */
static int start(const char *op)
{
    typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *, const double *,
                         const double *, const int *, const double *, const int *, const double *, double *,
                         const int *, size_t, size_t);
    static bool registered;
    double a[4] = {1, 2, 3, 4}, c[4] = {0}, one = 1, zero = 0;
    void (*set_threads)(int);
    gemm_fn *gemm;
    int n = 2;

    if (room_for_work_space() < 0)
        return -1;
    library = open_library();
    if (!library)
        return mt_error_set(MT_ERR_RUNTIME, "%s: LAPACK library not found", op);
    if (!registered) {
        pthread_atfork(NULL, NULL, after_fork);
        registered = true;
    }
    *(void **)&set_threads = symbol("", "openblas_set_num_threads", "");
    if (set_threads)
        set_threads(1);
    *(void **)&gemm = symbol("d", "gemm", "_");
    if (gemm)
        gemm("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    if (c[0] != 7 || c[1] != 10 || c[2] != 15 || c[3] != 22) {
        dlclose(library);
        library = NULL;
        return mt_error_set(MT_ERR_RUNTIME, "%s: the LAPACK library computes wrongly", op);
    }
    return 0;
}

int mt_lapack_begin(const char *op)
{
    pthread_mutex_lock(&inside);
    if (MT_UNLIKELY(!library) && start(op) < 0) {
        pthread_mutex_unlock(&inside);
        return -1;
    }
    return 0;
}

void mt_lapack_end(void)
{
    pthread_mutex_unlock(&inside);
}

int mt_lapack_find(mt_lapack_fn *out, const char *stem, mt_dtype dtype)
{
    const char *letter = dtype == MT_DTYPE_f32 ? "s" : dtype == MT_DTYPE_f64 ? "d" : dtype == MT_DTYPE_c64 ? "c" : "z";

    *(void **)out = symbol(letter, stem, "_");
    return *out ? 0 : mt_error_set(MT_ERR_RUNTIME, "the LAPACK library has no %s%s", letter, stem);
}
