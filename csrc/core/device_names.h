/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of device types. Types from MT_DEVICE_TYPE_COUNT on are foreign: they have a name, no entry in any table of devices,
   and never a tensor. */
#ifndef MT_CORE_DEVICE_NAMES_H
#define MT_CORE_DEVICE_NAMES_H

#define MT_DEVICE_NAME_COUNT 20
extern const char *const mt_device_names[MT_DEVICE_NAME_COUNT];

#endif
