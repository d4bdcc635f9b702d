/* SPDX-License-Identifier: BSD-3-Clause */
/* Autocast: while it is on, an op whose catalog entry says so has its float arguments cast before it runs, as a recorded
   conversion. */
#ifndef MT_AUTOGRAD_AUTOCAST_H
#define MT_AUTOGRAD_AUTOCAST_H

#include "core/device_names.h"
#include "core/dispatch.h"

/* Of one thread: by type of device the lower dtype, whether casts of parameters are kept, the depth
   of nesting. */
typedef struct mt_autocast_state {
    bool known, cache;
    uint8_t dtype[MT_DEVICE_NAME_COUNT];
    int depth;
} mt_autocast_state;

mt_autocast_state *mt_autocast(void);
static inline bool mt_autocast_is_on(int device_type)
{
    return mt_thread.autocast >> device_type & 1;
}
/* Turns it on or off for a type of device; the dispatcher asks only while it is on for one. */
void mt_autocast_set(int device_type, bool on);
/* Forgets the casts that were kept, those of all threads. */
void mt_autocast_clear(void);

#endif
