/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of devices. The processor and the meta device are always there; a CUDA extension puts
   its entry in when it is loaded, which mt_device_check asks for at first use. */
#include "core/device.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/device_names.h"

const char *const mt_device_names[MT_DEVICE_NAME_COUNT] = {
    "cpu", "cuda", "meta", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",
    "ve",  "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "hpu",    "mtia",  "privateuseone",
};

static int cpu_alloc(void **out, size_t nbytes, mt_device device, bool zeroed)
{
    (void)device;
    return zeroed ? mt_data_alloc_zeroed(out, nbytes) : mt_data_alloc(out, nbytes);
}

static void cpu_free(void *data, size_t nbytes, mt_device device)
{
    (void)device;
    mt_data_free(data, nbytes);
}

static int cpu_copy_bytes(void *dst, mt_device dst_device, const void *src, mt_device src_device, size_t nbytes)
{
    (void)dst_device;
    (void)src_device;
    if (nbytes)
        memmove(dst, src, nbytes);
    return 0;
}

static int no_synchronize(mt_device device)
{
    (void)device;
    return 0;
}

static int8_t no_index(void)
{
    return -1;
}

static int meta_alloc(void **out, size_t nbytes, mt_device device, bool zeroed)
{
    (void)nbytes;
    (void)device;
    (void)zeroed;
    *out = NULL;
    return 0;
}

static void meta_free(void *data, size_t nbytes, mt_device device)
{
    (void)data;
    (void)nbytes;
    (void)device;
}

static int meta_copy_bytes(void *dst, mt_device dst_device, const void *src, mt_device src_device, size_t nbytes)
{
    (void)dst;
    (void)src;
    (void)nbytes;
    if (dst_device.type == MT_DEVICE_META)
        return 0;
    (void)src_device;
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Cannot copy out of meta tensor; no data!");
}

static const mt_device_ops cpu_ops = {cpu_alloc, cpu_free, cpu_copy_bytes, no_synchronize, no_index, NULL};
static const mt_device_ops meta_ops = {meta_alloc, meta_free, meta_copy_bytes, no_synchronize, no_index, NULL};

const mt_device_ops *mt_device_table[MT_DEVICE_TYPE_COUNT] = {
    [MT_DEVICE_CPU] = &cpu_ops,
    [MT_DEVICE_META] = &meta_ops,
};
int (*mt_device_loader)(mt_device_type type);

int mt_device_check(mt_device *inout)
{
    mt_device_type type = (mt_device_type)inout->type;

    if ((unsigned)type >= MT_DEVICE_NAME_COUNT)
        return mt_error_set(MT_ERR_INTERNAL, "unknown device type %d", (int)inout->type);
    if (type >= MT_DEVICE_TYPE_COUNT)
        return mt_error_set(MT_ERR_RUNTIME, "there is no backend for the device type %s", mt_device_names[type]);
    if (!mt_device_table[type] && mt_device_loader && mt_device_loader(type) < 0)
        return -1;
    if (!mt_device_table[type])
        return mt_error_set(MT_ERR_RUNTIME, "Torch not compiled with CUDA enabled"); /* no loader: a test of the core */
    if (type != MT_DEVICE_CUDA)
        inout->index = -1;
    else if (inout->index < 0)
        inout->index = mt_device_table[type]->current_index();
    else
        return mt_device_table[type]->check_index(*inout);
    return 0;
}

const char *mt_device_format(char text[24], mt_device d)
{
    const char *name = d.type >= 0 && d.type < MT_DEVICE_NAME_COUNT ? mt_device_names[d.type] : "none";

    if (d.index < 0)
        snprintf(text, 24, "%s", name);
    else
        snprintf(text, 24, "%s:%d", name, (int)d.index);
    return text;
}
