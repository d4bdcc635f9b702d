/* SPDX-License-Identifier: BSD-3-Clause */
/* Storages in memory that other processes can map: over a descriptor of an anonymous file (the
   usual way, _share_fd_cpu_) or over a name (_share_filename_cpu_). Sharing moves the bytes once;
   the storage is not resizable from then on. Named memory begins with a header that counts its
   users in all processes; the last one removes the name. */
#include "bindings/new_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { HEADER_BYTES = 64 };

/* --- descriptors and names --- */

static void make_name(char name[64])
{
    static uint32_t serial;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    PyOS_snprintf(name, 64, "/torch_%ld_%lu_%u", (long)getpid(), (unsigned long)now.tv_nsec, ++serial);
}

#if defined(__linux__)
static int anonymous_file(void)
{
    return memfd_create("torch", MFD_CLOEXEC);
}
#else
static int anonymous_file(void)
{
    char name[64];
    int fd;

    make_name(name);
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0)
        shm_unlink(name);
    return fd;
}
#endif

static int system_error(const char *what)
{
    PyErr_Format(PyExc_RuntimeError, "%s: %s (%d)", what, strerror(errno), errno);
    return -1;
}

/* The file behind a descriptor must have the bytes that a peer promised. */
static int check_length(int fd, size_t length)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return system_error("unable to stat the file <filename not specified>");
    if ((size_t)st.st_size < length) {
        PyErr_Format(PyExc_RuntimeError,
                     "unable to resize file <filename not specified> to the right size: it has "
                     "%lld bytes instead of %zu",
                     (long long)st.st_size, length);
        return -1;
    }
    return 0;
}

/* --- the count in front of named memory --- */

static _Atomic uint32_t *users_of(const mt_py_map *map)
{
    return (_Atomic uint32_t *)(void *)map->base;
}

void mt_py_map_forget(mt_py_map *map)
{
    if (atomic_fetch_sub(users_of(map), 1) == 1)
        shm_unlink(map->name);
}

static char *data_of(const mt_py_map *map)
{
    return map->kind == MT_MAP_NAME ? map->base + HEADER_BYTES : map->base;
}

/* --- making shared memory --- */

/* Fresh zeros of a kind: FD or NAME. */
static mt_py_map *new_shared(size_t nbytes, int kind)
{
    bool named = kind == MT_MAP_NAME;
    size_t length = named ? nbytes + HEADER_BYTES : nbytes;
    char name[64] = "filename not specified";
    mt_py_map *map = NULL;
    int fd;

    if (named)
        make_name(name);
    fd = named ? shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : anonymous_file();
    if (fd < 0) {
        system_error("unable to open shared memory object");
        return NULL;
    }
    if (ftruncate(fd, (off_t)length) < 0)
        system_error("unable to resize shared memory object to the right size");
    else
        map = mt_py_map_new(fd, length, kind, name, !named);
    if (map && named)
        atomic_store(users_of(map), 1);
    if (!map && named)
        shm_unlink(name);
    if (!map || named)
        close(fd);
    return map;
}

/* A new storage over a map; consumes it. */
static PyObject *wrap_map(mt_py_map *map, size_t nbytes)
{
    mt_storage *s = NULL;

    if (!map)
        return NULL;
    if (mt_storage_from_memory(&s, nbytes ? data_of(map) : NULL, nbytes, MT_CPU, mt_py_map_drop, map) < 0) {
        mt_py_map_drop(map);
        return mt_py_raise();
    }
    return mt_py_storage_wrap(s);
}

/* The storage takes over the memory of a map, which holds a copy of its bytes; what it had goes. */
static int adopt(mt_storage *s, mt_py_map *map)
{
    mt_storage *old = NULL;

    if (s->pins) {
        PyErr_SetString(PyExc_RuntimeError, "Trying to share storage that is in use elsewhere");
        return -1;
    }
    if (mt_storage_from_memory(&old, NULL, 0, s->device, NULL, NULL) < 0)
        return mt_py_fail();
    if (s->nbytes > 0)
        memcpy(data_of(map), mt_storage_const_data(s), s->nbytes);
    if (!(s->flags & MT_STORAGE_INLINE)) { /* inline bytes go with the header */
        old->data = s->data;
        old->nbytes = s->nbytes;
        old->flags = (uint16_t)(s->flags & ~MT_STORAGE_LENT);
        old->deleter = s->deleter;
        old->ctx = s->ctx;
    }
    s->data = s->nbytes ? data_of(map) : NULL;
    s->flags &= (uint16_t)~(MT_STORAGE_INLINE | MT_STORAGE_RESIZABLE | MT_STORAGE_HELD | MT_STORAGE_COW);
    s->deleter = mt_py_map_drop;
    s->ctx = map;
    if (s->flags & MT_STORAGE_FIXED) /* arrays stay with the old memory */
        map->kept = old;
    else
        mt_storage_unref(old);
    return 0;
}

/* The map of a storage, made when it has none of this kind. Borrowed. */
static mt_py_map *share(mt_storage *s, int kind, const char *method)
{
    mt_py_map *map = mt_py_map_of(s);

    if (s->device.type != MT_DEVICE_CPU) {
        PyErr_Format(PyExc_RuntimeError, "%s: only available on CPU", method);
        return NULL;
    }
    if (map && map->kind == kind)
        return map;
    map = new_shared(s->nbytes, kind);
    if (map && adopt(s, map) < 0) {
        mt_py_map_drop(map);
        return NULL;
    }
    return map;
}

/* --- descriptors --- */

static PyObject *share_fd(PyObject *o, PyObject *unused)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    mt_py_map *map = share(s, MT_MAP_FD, "_share_fd_");

    (void)unused;
    return map ? Py_BuildValue("in", map->fd, (Py_ssize_t)s->nbytes) : NULL;
}

static PyObject *get_shared_fd(PyObject *o, PyObject *unused)
{
    mt_py_map *map = mt_py_map_of(((mt_py_storage *)o)->s);

    (void)unused;
    if (!map || map->kind != MT_MAP_FD) {
        PyErr_SetString(PyExc_RuntimeError, "couldn't retrieve a shared file descriptor");
        return NULL;
    }
    return PyLong_FromLong(map->fd);
}

static PyObject *new_shared_fd(PyObject *unused, PyObject *args)
{
    mt_py_map *map = NULL;
    Py_ssize_t n;
    int given, fd;

    (void)unused;
    if (!PyArg_ParseTuple(args, "in:_new_shared_fd_cpu", &given, &n)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, "_new_shared in file descriptor mode received an invalid combination of "
                                         "arguments, but expected a file descriptor (int) and storage size (int)");
        return NULL;
    }
    fd = n < 0 ? -1 : fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        PyErr_SetString(PyExc_RuntimeError, "could not duplicate a shared memory file descriptor");
        return NULL;
    }
    if (check_length(fd, (size_t)n) == 0)
        map = mt_py_map_new(fd, (size_t)n, MT_MAP_FD, "filename not specified", true);
    if (!map)
        close(fd);
    return wrap_map(map, (size_t)n);
}

static Py_ssize_t to_nbytes(PyObject *size)
{
    Py_ssize_t n = PyLong_AsSsize_t(size);

    if (n >= 0 || PyErr_Occurred())
        return n;
    PyErr_SetString(PyExc_RuntimeError, "the size of a storage must not be negative");
    return -1;
}

static PyObject *new_using_fd(PyObject *unused, PyObject *size)
{
    Py_ssize_t n = to_nbytes(size);

    (void)unused;
    return n < 0 ? NULL : wrap_map(new_shared((size_t)n, MT_MAP_FD), (size_t)n);
}

/* --- names --- */

static PyObject *share_filename(PyObject *o, PyObject *unused)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    mt_py_map *map = share(s, MT_MAP_NAME, "_share_filename_");

    (void)unused;
    return map ? Py_BuildValue("yyn", "", map->name, (Py_ssize_t)s->nbytes) : NULL;
}

static PyObject *new_shared_filename(PyObject *unused, PyObject *args)
{
    const char *manager, *name;
    mt_py_map *map = NULL;
    Py_ssize_t n;
    int fd;

    (void)unused;
    if (!PyArg_ParseTuple(args, "yyn:_new_shared_filename_cpu", &manager, &name, &n))
        return NULL;
    fd = n < 0 || n > PY_SSIZE_T_MAX - HEADER_BYTES ? -1 : shm_open(name, O_RDWR, 0600);
    if (fd < 0) {
        system_error("unable to open shared memory object in read-write mode");
        return NULL;
    }
    if (check_length(fd, (size_t)n + HEADER_BYTES) == 0)
        map = mt_py_map_new(fd, (size_t)n + HEADER_BYTES, MT_MAP_NAME, name, false);
    close(fd);
    if (map)
        atomic_fetch_add(users_of(map), 1);
    return wrap_map(map, (size_t)n);
}

static PyObject *new_using_filename(PyObject *unused, PyObject *size)
{
    Py_ssize_t n = to_nbytes(size);

    (void)unused;
    return n < 0 ? NULL : wrap_map(new_shared((size_t)n, MT_MAP_NAME), (size_t)n);
}

/* A process that sends a name keeps the memory until the receiver has it. */
static PyObject *shared_incref(PyObject *o, PyObject *unused)
{
    mt_py_map *map = mt_py_map_of(((mt_py_storage *)o)->s);

    (void)unused;
    if (map && map->kind == MT_MAP_NAME)
        atomic_fetch_add(users_of(map), 1);
    Py_RETURN_NONE;
}

static PyObject *shared_decref(PyObject *o, PyObject *unused)
{
    mt_py_map *map = mt_py_map_of(((mt_py_storage *)o)->s);

    (void)unused;
    if (map && map->kind == MT_MAP_NAME)
        atomic_fetch_sub(users_of(map), 1);
    return Py_NewRef(o);
}

static PyObject *is_shared(PyObject *o, PyObject *unused)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    mt_py_map *map = mt_py_map_of(s);

    (void)unused;
    return PyBool_FromLong(s->device.type == MT_DEVICE_CUDA || map != NULL);
}

PyMethodDef mt_py_storage_share_methods[] = {
    {"is_shared", is_shared, METH_NOARGS, "is_shared() -> bool: can other processes see the memory?"},
    {"_share_fd_cpu_", share_fd, METH_NOARGS, "_share_fd_cpu_() -> (descriptor, nbytes)"},
    {"_get_shared_fd", get_shared_fd, METH_NOARGS, NULL},
    {"_new_shared_fd_cpu", new_shared_fd, METH_VARARGS | METH_STATIC, "_new_shared_fd_cpu(descriptor, nbytes)"},
    {"_new_using_fd_cpu", new_using_fd, METH_O | METH_STATIC, "_new_using_fd_cpu(nbytes)"},
    {"_share_filename_cpu_", share_filename, METH_NOARGS, "_share_filename_cpu_() -> (b'', name, nbytes)"},
    {"_new_shared_filename_cpu", new_shared_filename, METH_VARARGS | METH_STATIC,
     "_new_shared_filename_cpu(manager, name, nbytes)"},
    {"_new_using_filename_cpu", new_using_filename, METH_O | METH_STATIC, "_new_using_filename_cpu(nbytes)"},
    {"_shared_incref", shared_incref, METH_NOARGS, NULL},
    {"_shared_decref", shared_decref, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
