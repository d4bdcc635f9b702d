/* SPDX-License-Identifier: BSD-3-Clause */
/* What storage.c and cow.c share: headers, and bytes on their way into a storage. */
#ifndef MT_CORE_STORAGE_INTERNAL_H
#define MT_CORE_STORAGE_INTERNAL_H

#include "core/storage.h"

/* Bytes that several storages read. They are freed as the storage that made them would have. */
typedef struct mt_cow {
    mt_refcount refs;
    mt_device device;
    void *data; /* NULL for meta and for empty storages */
    size_t nbytes;
    mt_storage *home;    /* the storage whose header block holds the bytes, or NULL */
    mt_deleter *deleter; /* of borrowed bytes, with its argument */
    void *ctx;
    bool borrowed;
} mt_cow;

void mt_cow_unref(mt_cow *cow);

/* A header without bytes; and back to the pool. */
int mt_storage_new_header(mt_storage **out, size_t nbytes, mt_device device);
void mt_storage_put_header(mt_storage *s);
/* Room for nbytes, inside the header or from the device, with the first `kept` bytes of s. */
int mt_storage_new_data(void **out, bool *is_inline, mt_storage *s, size_t kept, size_t nbytes);
/* That becomes the memory of s, which has given back what it had. */
void mt_storage_take_data(mt_storage *s, void *data, bool is_inline);

#endif
