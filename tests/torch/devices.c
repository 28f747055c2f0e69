/* A Python module that takes and returns devices as pybind11's modules do: a function for all calls, the argument read
 * from Python's object, the result made by PyTorch. Needs no header of Python. */
#include <stdint.h>
#include <string.h>

struct object { /* PyObject */
    intptr_t references;
    void *type;
};
struct device { /* c10::Device */
    int8_t type, index;
};
struct method { /* PyMethodDef */
    const char *name;
    void *(*call)(void *, void *, void *);
    int flags;
    const char *doc;
};
struct module { /* PyModuleDef */
    struct object head;
    void *base[3];
    const char *name, *doc;
    intptr_t size;
    void *rest[5];
};

extern char THPDeviceType[];
void *PyCMethod_New(struct method *, void *self, void *module, void *class);
void *PyModule_Create2(struct module *, int);
int PyModule_AddObject(void *, const char *, void *);
void *PyTuple_GetItem(void *, intptr_t);
intptr_t PyTuple_Size(void *);
void *PyDict_GetItemString(void *, const char *);
void *PyLong_FromLong(long);
long PyLong_AsLong(void *);
void *new_device(const struct device *) __asm__("_Z13THPDevice_NewRKN3c106DeviceE");
void c10_cuda_is_needed(void) __asm__("_ZN3c104cuda18device_synchronizeEv");

/* seen(device) or seen(device=...): its type and index as this side sees it, or -1. */
static void *seen(void *self, void *arguments, void *keywords)
{
    (void)self;
    struct object *o = PyTuple_Size(arguments) ? PyTuple_GetItem(arguments, PyTuple_Size(arguments) - 1)
                                               : PyDict_GetItemString(keywords, "device");
    struct device d;
    if (!o || o->type != (void *)THPDeviceType)
        return PyLong_FromLong(-1);
    memcpy(&d, o + 1, sizeof d);
    return PyLong_FromLong(d.type * 100 + d.index);
}

/* made(type, index) */
static void *made(void *self, void *arguments, void *keywords)
{
    (void)self;
    (void)keywords;
    struct device d = {(int8_t)PyLong_AsLong(PyTuple_GetItem(arguments, 0)),
                       (int8_t)PyLong_AsLong(PyTuple_GetItem(arguments, 1))};
    return new_device(&d);
}

/* One function for all, which finds the right one by its `self`, as pybind11's does. */
static void *dispatch(void *self, void *arguments, void *keywords)
{
    return PyLong_AsLong(self) ? made(self, arguments, keywords) : seen(self, arguments, keywords);
}

__attribute__((visibility("default"))) void *PyInit_devices(void)
{
    static struct module definition = {{1, 0}, {0}, "devices", 0, -1, {0}};
    static struct method methods[] = {{"seen", dispatch, 3, 0}, {"made", dispatch, 3, 0}};
    void *module = PyModule_Create2(&definition, 1013);
    for (long i = 0; i < 2; i++)
        (void)PyModule_AddObject(module, methods[i].name, PyCMethod_New(&methods[i], PyLong_FromLong(i), 0, 0));
    (void)c10_cuda_is_needed;
    return module;
}
