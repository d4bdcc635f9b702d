/* SPDX-License-Identifier: BSD-3-Clause */
/* Device type and index, and the table of what a device type can do. */
#ifndef MT_CORE_DEVICE_H
#define MT_CORE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mt_device_type { MT_DEVICE_CPU, MT_DEVICE_CUDA, MT_DEVICE_META, MT_DEVICE_TYPE_COUNT } mt_device_type;

typedef struct mt_device {
    int8_t type;  /* mt_device_type; -1 when "not given" */
    int8_t index; /* -1 when none */
} mt_device;

#define MT_DEVICE_NONE ((mt_device){-1, -1})
#define MT_CPU ((mt_device){MT_DEVICE_CPU, -1})
#define MT_META ((mt_device){MT_DEVICE_META, -1})

static inline bool mt_device_equal(mt_device a, mt_device b)
{
    return a.type == b.type && a.index == b.index;
}

static inline bool mt_device_is_none(mt_device d)
{
    return d.type < 0;
}

/* Filled by a backend when it is loaded; NULL entries mean that the device is not available. */
typedef struct mt_device_ops {
    int (*alloc)(void **out, size_t nbytes, mt_device device, bool zeroed);
    void (*free)(void *data, size_t nbytes, mt_device device);
    /* Plain bytes; either side may be host memory (type CPU). Waits for the result. */
    int (*copy_bytes)(void *dst, mt_device dst_device, const void *src, mt_device src_device, size_t nbytes);
    int (*synchronize)(mt_device device);
    int8_t (*current_index)(void);
    int (*check_index)(mt_device device); /* NULL: any index */
} mt_device_ops;
extern const mt_device_ops *mt_device_table[MT_DEVICE_TYPE_COUNT];
/* Error naming the device when it is not available; loads the CUDA extension at first use. */
int mt_device_check(mt_device *inout);
extern int (*mt_device_loader)(mt_device_type type); /* installed by bindings */

/* Writes "cpu", "cuda:0", ... and returns text. */
const char *mt_device_format(char text[24], mt_device d);

#endif
