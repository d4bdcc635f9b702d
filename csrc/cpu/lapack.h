/* SPDX-License-Identifier: BSD-3-Clause */
/* LAPACK, from the OpenBLAS library that lies beside the extension (or the system's: MINITORCH_BLAS=system). It is
   loaded at the first need and runs on the calling thread only. */
#ifndef MT_CPU_LAPACK_H
#define MT_CPU_LAPACK_H

#include "core/dtype.h"

/* Loads the library when that has not happened, and takes it for this thread; RuntimeError when there is none,
   MemoryError when its work space finds no room (the library itself would end the process). */
int mt_lapack_begin(const char *op);
void mt_lapack_end(void);

typedef void (*mt_lapack_fn)(void);
/* The routine of a dtype, "geqrf" as sgeqrf, dgeqrf, cgeqrf or zgeqrf. Between begin and end. */
int mt_lapack_find(mt_lapack_fn *out, const char *stem, mt_dtype dtype);

#endif
