/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of DLPack's structures, version 1.3, and what capsules and the exchange table share. */
#ifndef MT_BINDINGS_DLPACK_INTERNAL_H
#define MT_BINDINGS_DLPACK_INTERNAL_H

#include "bindings/new_internal.h"

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2 };
enum { DL_MAJOR = 1, DL_MINOR = 3 };

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements, NULL: row major */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *ctx;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *ctx;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* BufferError where a tensor cannot be exported: gradients, lazy conjugation, no memory. */
int mt_dl_check(mt_tensor *t, bool grad_ok);
/* Everything but sizes and strides. */
int mt_dl_describe(dl_tensor *out, mt_tensor *t);
mt_dtype mt_dl_dtype(const dl_tensor *t); /* MT_DTYPE_NONE where there is none */
int mt_dl_device(mt_device *out, const dl_tensor *t);
/* Owned by whoever calls the deleter; NULL with a Python exception. */
dl_versioned *mt_dl_export(mt_tensor *t, bool copied);
/* Takes the structure over when it succeeds. */
int mt_dl_import(mt_tensor **out, dl_versioned *m);
int mt_py_dlpack_table_init(PyObject *type);

#endif
