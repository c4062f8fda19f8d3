/* A stand-in libamdhip64 (amdhip64_6.dll) for machines without an AMD GPU.
 *
 * It answers the part of the HIP runtime that Triton's hip_utils and launchers need, and never runs
 * a kernel: a launch is written as one JSON line, with the bytes of each parameter. An image says how
 * big they are: "PARAMETERS" and the sizes as text; of any other image none is known.
 *   FAKEHIP_LOG      file that JSON lines are appended to (default: none)
 *   FAKEHIP_ARCH     gcnArchName of the device (default gfx1100)
 *   FAKEHIP_DEVICES  all devices: "gfx1036,AMD Radeon(TM) Graphics,2,1;..." with memory in GiB, and 1
 *                    for an integrated one; "0" for none
 *   FAKEHIP_VERSION  what hipDriverGetVersion says (default 60342133: 6.3)
 *   FAKEHIP_HANG     1: hipGetDeviceCount does not return
 * An argument that the runtime would not take gives an error, and an event "wrong" in the log.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"

#ifdef _WIN32
#include <windows.h>
#define API __declspec(dllexport)
#define PAUSE() Sleep(100)
#else
#include <unistd.h>
#define API __attribute__((visibility("default")))
#define PAUSE() usleep(100000)
#endif
#define LISTED "PARAMETERS"
typedef int E; /* hipError_t */
typedef unsigned long long U64;
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500 };
enum { HOST_MEMORY = 0x6c, PINNED_MEMORY = 0x6d, PINNED_SHIFT = 0x1000 };

struct module { struct parameters parameters; };
struct function { struct module *module; char name[256]; };

static E wrong(const char *what) {
    const char *log = getenv("FAKEHIP_LOG");
    FILE *file = log ? fopen(log, "ab") : 0;
    if (file) { fprintf(file, "{\"event\": \"wrong\", \"argument\": \"%s\"}\n", what); fclose(file); }
    return INVALID_VALUE;
}

struct device { char arch[64], name[128]; int gib, integrated; };

/* The device of that number; how many there are, where it is none. */
static int device_at(int number, struct device *found) {
    const char *text = getenv("FAKEHIP_DEVICES"), *arch = getenv("FAKEHIP_ARCH");
    int count = 0;
    if (!text) {
        if (number == 0) {
            memset(found, 0, sizeof *found);
            snprintf(found->arch, sizeof found->arch, "%s", arch ? arch : "gfx1100");
            snprintf(found->name, sizeof found->name, "AMD Radeon RX 7900 XTX");
            found->gib = 24;
        }
        return 1;
    }
    if (!strcmp(text, "0")) return 0;
    for (; text; count++, text = strchr(text, ';'), text += !!text)
        if (count == number && memset(found, 0, sizeof *found))
            sscanf(text, "%63[^,],%127[^,],%d,%d", found->arch, found->name, &found->gib, &found->integrated);
    return count;
}

API E tritonwin_stand_in(void) { return OK; }
API E hipInit(unsigned flags) { return flags ? wrong("hipInit: flags") : OK; }
API E hipDriverGetVersion(int *version) {
    const char *set = getenv("FAKEHIP_VERSION");
    if (!version) return wrong("hipDriverGetVersion: version");
    *version = set ? atoi(set) : 60342133;
    return OK;
}
API E hipGetLastError(void) { return OK; }
API const char *hipGetErrorString(E code) { return code == INVALID_VALUE ? "invalid argument" : "an error"; }
API E hipGetDeviceCount(int *count) {
    const char *hang = getenv("FAKEHIP_HANG");
    struct device ignored;
    if (!count) return wrong("hipGetDeviceCount: count");
    while (hang && *hang == '1') PAUSE();
    *count = device_at(-1, &ignored);
    return *count ? OK : NO_DEVICE;
}
API E hipSetDevice(int device) { struct device d; return device >= 0 && device < device_at(-1, &d) ? OK : wrong("hipSetDevice: device"); }
API E hipDeviceSynchronize(void) { return OK; }
API E hipMalloc(void **out, size_t size) {
    if (!out || !size) return wrong("hipMalloc: out, size");
    return (*out = calloc(1, size)) ? OK : OUT_OF_MEMORY;
}
API E hipFree(void *p) { free(p); return OK; }
API E hipMemcpy(void *to, const void *from, size_t size, int kind) {
    if (!to || !from || kind < 1 || kind > 3) return wrong("hipMemcpy: to, from, kind");
    memcpy(to, from, size);
    return OK;
}

API E hipGetDevicePropertiesR0600(uint8_t *p, int device) {
    struct { int at; unsigned value; } fields[] = {
        { 296, 65536 }, { 304, 65536 }, { 308, 32 }, { 348, 2500000 }, { 388, 48 },
        { 608, 1250000 }, { 612, 384 }, { 624, 2048 }, { 688, 1 },
    };
    struct device d;
    U64 memory;
    unsigned i;
    if (!p) return wrong("hipGetDeviceProperties: properties");
    if (device < 0 || device >= device_at(device, &d)) return INVALID_VALUE;
    memset(p, 0, 1472);
    for (i = 0; i < sizeof fields / sizeof *fields; i++) memcpy(p + fields[i].at, &fields[i].value, 4);
    memory = (U64)d.gib << 30;
    memcpy(p + 288, &memory, 8);
    memcpy(p + 396, &d.integrated, 4);
    snprintf((char *)p, 256, "%s", d.name);
    snprintf((char *)p + 1160, 256, "%s", d.arch);
    return OK;
}
API E hipGetDeviceProperties(void *p, int device) { return hipGetDevicePropertiesR0600(p, device); }

API E hipModuleLoadDataEx(void **out, const void *image, unsigned n, int *options, void **values) {
    struct module *m;
    unsigned i;
    if (!out || !image || (n && (!options || !values))) return wrong("hipModuleLoadDataEx");
    for (i = 0; i < n; i++) if (options[i] < 0 || options[i] > 30) return wrong("hipModuleLoadDataEx: option");
    m = calloc(1, sizeof *m);
    if (!memcmp(image, LISTED, sizeof LISTED - 1)) m->parameters = parameters_in((const char *)image + sizeof LISTED - 1);
    *out = m;
    return OK;
}
API E hipModuleUnload(void *m) { free(m); return OK; }
API E hipModuleGetFunction(void **out, void *m, const char *name) {
    struct function *f;
    if (!out || !m || !name || !*name) return wrong("hipModuleGetFunction");
    f = calloc(1, sizeof *f);
    f->module = m;
    snprintf(f->name, sizeof f->name, "%s", name);
    *out = f;
    return OK;
}
API E hipFuncGetAttribute(int *v, int attribute, void *f) {
    if (!v || !f) return wrong("hipFuncGetAttribute");
    *v = attribute == 0 ? 1024 : attribute == 3 ? 8 : attribute == 4 ? 40 : 0;
    return OK;
}
API E hipPointerGetAttribute(U64 *out, int attribute, U64 p) {
    if (p >> 40 == HOST_MEMORY || attribute != 3) return INVALID_VALUE;
    *out = p >> 40 == PINNED_MEMORY ? p + PINNED_SHIFT : p;
    return OK;
}

static E record(const char *by, struct function *f, const unsigned *dims, unsigned shared, void *stream,
                void **params, const char *attributes) {
    const char *log = getenv("FAKEHIP_LOG");
    FILE *file;
    int i;
    unsigned k;
    if (!f || !params) return wrong(by);
    if (!dims[0] || !dims[1] || !dims[2]) return INVALID_VALUE;
    if (!dims[3] || dims[3] * dims[4] * dims[5] > 1024 || shared > 65536) return wrong("block, shared memory");
    if (!log || !(file = fopen(log, "ab"))) return OK;
    fprintf(file, "{\"event\": \"launch\", \"by\": \"%s\", \"kernel\": \"%s\", \"grid\": [%u, %u, %u], "
            "\"block\": [%u, %u, %u], \"shared\": %u, \"stream\": %llu, \"params\": [",
            by, f->name, dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], shared,
            (U64)(uintptr_t)stream);
    for (i = 0; i < f->module->parameters.count; i++) {
        fprintf(file, "%s\"", i ? ", " : "");
        for (k = 0; k < f->module->parameters.size[i]; k++) fprintf(file, "%02x", ((uint8_t *)params[i])[k]);
        fprintf(file, "\"");
    }
    fprintf(file, "], \"attributes\": \"%s\"}\n", attributes);
    fclose(file);
    return OK;
}
#define DIMS unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz
API E hipModuleLaunchKernel(void *f, DIMS, unsigned shared, void *stream, void **params, void **extra) {
    unsigned dims[6] = { gx, gy, gz, bx, by, bz };
    (void)extra;
    return record("plain", f, dims, shared, stream, params, "");
}
API E hipModuleLaunchCooperativeKernel(void *f, DIMS, unsigned shared, void *stream, void **params, void **extra) {
    unsigned dims[6] = { gx, gy, gz, bx, by, bz };
    (void)extra;
    return record("cooperative", f, dims, shared, stream, params, "");
}
struct attribute { unsigned id, pad; int value[16]; };
struct launch_config { unsigned dims[6]; unsigned shared; void *stream; struct attribute *attributes; unsigned n; };
API E hipDrvLaunchKernelEx(const struct launch_config *c, void *f, void **params, void **extra) {
    char text[256];
    unsigned i, used = 0;
    (void)extra;
    for (i = 0, text[0] = 0; i < c->n && used < 200; i++)
        used += snprintf(text + used, sizeof text - used, "%u:%d,%d,%d ", c->attributes[i].id, c->attributes[i].value[0],
                         c->attributes[i].id == 4 ? c->attributes[i].value[1] : 0,
                         c->attributes[i].id == 4 ? c->attributes[i].value[2] : 0);
    return record("ex", f, c->dims, c->shared, c->stream, params, text);
}

#ifndef _WIN32
#include <dlfcn.h>
API E hipGetProcAddress(const char *name, void **out, int version, U64 flags, void *status) {
    (void)version; (void)flags; (void)status;
    *out = dlsym(RTLD_DEFAULT, name);
    if (!*out) {
        static void *self;
        if (!self) self = dlopen(getenv("FAKEHIP_SELF"), RTLD_LAZY);
        *out = self ? dlsym(self, name) : 0;
    }
    return *out ? OK : NOT_FOUND;
}
#else
API E hipGetProcAddress(const char *name, void **out, int version, U64 flags, void *status) {
    HMODULE self = 0;
    DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    (void)version; (void)flags; (void)status;
    *out = GetModuleHandleExA(how, (const char *)hipInit, &self) ? (void *)GetProcAddress(self, name) : 0;
    return *out ? OK : NOT_FOUND;
}
#endif
