/* A stand-in nvcuda.dll for machines without a GPU.
 *
 * It answers the part of the CUDA driver API that Triton's cuda_utils and a GPU diagnosis need, keeps
 * "device" memory on the host heap, and never runs a kernel: a launch is written as one JSON line
 * instead, with size and value of each parameter that the cubin declares. What it reads from the environment: settings.h.
 */
#include <stdint.h>

#include "parameters.h"
#include "settings.h"

typedef int R;                      /* CUresult */
typedef unsigned long long U64;
enum { OK = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500 };

static void log_line(const char *text) {
    FILE *f;
    if (!settings.log[0] || !(f = fopen(settings.log, "ab"))) return;
    fprintf(f, "%s\n", text);
    fclose(f);
}

/* ---- how `tritonwin verify` knows that no number will be computed ---- */
API R tritonwin_stand_in(void) { return OK; }

/* ---- init, devices ---- */
API R cuInit(unsigned flags) { (void)flags; ENTER(cuInit); hang_if_asked(); return settings.devices > 0 ? OK : 100; }
API R cuDriverGetVersion(int *v) { ENTER(cuDriverGetVersion); *v = settings.cuda; return OK; }
API R cuDeviceGetCount(int *n) { ENTER(cuDeviceGetCount); *n = settings.devices; return OK; }
API R cuDeviceGet(int *dev, int i) {
    ENTER(cuDeviceGet);
    if (i < 0 || i >= settings.devices) return INVALID_DEVICE;
    *dev = i;
    return OK;
}
API R cuDeviceGetName(char *s, int n, int dev) { (void)dev; ENTER(cuDeviceGetName); snprintf(s, n, "%s", settings.name); return OK; }
API R cuDeviceTotalMem_v2(size_t *n, int dev) { (void)dev; configure(); *n = (size_t)settings.memory << 20; return OK; }
API R cuDeviceComputeCapability(int *ma, int *mi, int dev) { (void)dev; configure(); *ma = settings.cc_major; *mi = settings.cc_minor; return OK; }
API R cuDeviceGetPCIBusId(char *s, int n, int dev) { snprintf(s, n, "0000:%02x:00.0", dev + 1); return OK; }
API R cuDeviceGetUuid(void *u, int dev) { memset(u, dev + 1, 16); return OK; }
API R cuDeviceGetUuid_v2(void *u, int dev) { return cuDeviceGetUuid(u, dev); }

API R cuDeviceGetAttribute(int *v, int attribute, int dev) {
    int big = settings.cc_major == 8 && settings.cc_minor == 0 ? 163 : settings.cc_major == 9 || settings.cc_major == 10 ? 227 : settings.cc_major == 7 ? 64 : 99;
    (void)dev;
    ENTER(cuDeviceGetAttribute);
    switch (attribute) {
    case 1:  *v = 1024; break;                    /* threads per block */
    case 8:  *v = 48 << 10; break;                /* shared memory per block */
    case 10: *v = 32; break;                      /* warp size */
    case 12: case 82: *v = 65536; break;          /* registers per block / per SM */
    case 13: *v = 1500000; break;                 /* SM clock, kHz */
    case 16: *v = 64; break;                      /* number of SMs */
    case 36: *v = 8000000; break;                 /* memory clock, kHz */
    case 37: *v = 256; break;                     /* bus width */
    case 39: *v = 1536; break;                    /* threads per SM */
    case 75: *v = settings.cc_major; break;
    case 76: *v = settings.cc_minor; break;
    case 81: *v = (big + 1) << 10; break;         /* shared memory per SM */
    case 97: *v = big << 10; break;               /* shared memory per block, opt-in */
    case 35: *v = 0; break;                       /* integrated */
    case 41: case 83: case 89: *v = 1; break;     /* unified addressing, managed memory */
    case 95: *v = 1; break;                       /* cooperative launch */
    default: *v = 0;
    }
    return OK;
}

/* ---- contexts: one primary context a device, one current a thread (on Windows: a process) ---- */
static THREAD uintptr_t current;
API R cuDevicePrimaryCtxRetain(void **c, int dev) { ENTER(cuDevicePrimaryCtxRetain); *c = (void *)(uintptr_t)(0x1000 + dev); return OK; }
API R cuDevicePrimaryCtxRelease_v2(int dev) { (void)dev; return OK; }
API R cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active) { (void)dev; *flags = 0; *active = current != 0; return OK; }
API R cuCtxCreate_v2(void **c, unsigned flags, int dev) { (void)flags; *c = (void *)(uintptr_t)(0x1000 + dev); current = 0x1000 + dev; return OK; }
API R cuCtxDestroy_v2(void *c) { (void)c; current = 0; return OK; }
API R cuCtxGetCurrent(void **c) { ENTER(cuCtxGetCurrent); *c = (void *)current; return OK; }
API R cuCtxSetCurrent(void *c) { ENTER(cuCtxSetCurrent); current = (uintptr_t)c; return OK; }
API R cuCtxPushCurrent_v2(void *c) { current = (uintptr_t)c; return OK; }
API R cuCtxPopCurrent_v2(void **c) { if (c) *c = (void *)current; return OK; }
API R cuCtxGetDevice(int *dev) { if (!current) return 201; *dev = (int)(current - 0x1000); return OK; }
API R cuCtxSynchronize(void) { ENTER(cuCtxSynchronize); return OK; }
static size_t limits[32];
API R cuCtxGetLimit(size_t *v, int which) { *v = limits[which & 31]; return OK; }
API R cuCtxSetLimit(int which, size_t v) { limits[which & 31] = v; return OK; }

/* ---- modules ---- */
/* an image for tests of launchers: "PARAMETERS" and the size of each, as text */
#define LISTED "PARAMETERS"
struct module { unsigned arch; int is_elf; uint8_t *image; char *listed; };
struct function { struct module *module; char name[256]; int dynamic_shared; };

API R cuModuleLoadData(void **out, const void *image) {
    const unsigned char *p = image;
    struct module *m;
    char line[256];
    ENTER(cuModuleLoadData);
    m = calloc(1, sizeof *m);
    if (!memcmp(p, LISTED, sizeof LISTED - 1)) m->listed = strdup((const char *)p + sizeof LISTED - 1);
    if (p[0] == 0x7f && p[1] == 'E') {
        unsigned flags;
        memcpy(&flags, p + 48, 4);                      /* e_flags of ELF64 */
        m->is_elf = 1;
        m->image = copy_of_elf(p);                      /* the caller may free its own */
        /* ABI 8 (CUDA 13) keeps the sm number in bits 8..15, older ABIs in bits 0..7 */
        m->arch = p[8] >= 8 ? (flags >> 8) & 0xff : flags & 0xff;
    }
    snprintf(line, sizeof line, "{\"event\": \"load\", \"elf\": %s, \"sm\": %u, \"device_sm\": %d}",
             m->is_elf ? "true" : "false", m->arch, settings.cc_major * 10 + settings.cc_minor);
    log_line(line);
    *out = m;
    return OK;
}
API R cuModuleLoadDataEx(void **out, const void *image, unsigned n, int *o, void **v) { (void)n; (void)o; (void)v; return cuModuleLoadData(out, image); }
API R cuModuleUnload(void *m) { free(m); return OK; }
API R cuModuleGetFunction(void **out, void *m, const char *name) {
    struct function *f;
    ENTER(cuModuleGetFunction);
    f = calloc(1, sizeof *f);
    f->module = m;
    snprintf(f->name, sizeof f->name, "%s", name);
    *out = f;
    return OK;
}
API R cuModuleGetGlobal_v2(U64 *p, size_t *n, void *m, const char *name) { (void)p; (void)n; (void)m; (void)name; return NOT_FOUND; }
API R cuFuncGetAttribute(int *v, int attribute, void *f) {
    ENTER(cuFuncGetAttribute);
    switch (attribute) {
    case 0: *v = 1024; break;                                       /* max threads */
    case 4: *v = 32; break;                                         /* registers */
    case 8: *v = ((struct function *)f)->dynamic_shared; break;
    default: *v = 0;
    }
    return OK;
}
API R cuFuncSetAttribute(void *f, int attribute, int v) {
    ENTER(cuFuncSetAttribute);
    if (attribute == 8) ((struct function *)f)->dynamic_shared = v;
    return OK;
}
API R cuFuncSetCacheConfig(void *f, int c) { (void)f; (void)c; return OK; }
API R cuOccupancyMaxActiveClusters(int *n, void *f, const void *config) { (void)f; (void)config; *n = 1; return OK; }
API R cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int block, size_t smem) { (void)f; (void)block; (void)smem; *n = 1; return OK; }

/* ---- launches ---- */
static void write_bytes(FILE *f, const uint8_t *at, unsigned size) {
    unsigned i;
    for (i = 0; i < size; i++) fprintf(f, "%02x", at[i]);
}
static void write_parameters(FILE *f, struct function *k, void **params) {
    struct parameters all = { 0, { 0 } };
    int i;
    if (k->module && k->module->image) all = parameters_of(k->module->image, k->name);
    if (k->module && k->module->listed) all = parameters_in(k->module->listed);
    for (i = 0; params && i < all.count; i++) {
        unsigned size = all.size[i];
        fprintf(f, "%s[%u, \"0x", i ? ", " : "", size);
        if (size <= 8) fprintf(f, "%llx", (unsigned long long)word(params[i], size));
        else write_bytes(f, params[i], size);
        fprintf(f, "\"]");
    }
}
struct attribute { unsigned id, pad; uint8_t value[64]; };
struct launch_config { unsigned dims[6]; unsigned shared; void *stream; struct attribute *attributes; unsigned n_attributes; };
static volatile int writing;
static void write_launch(FILE *file, struct function *f, const struct launch_config *c, void **params) {
    const unsigned *dims = c->dims;
    unsigned i;
    fprintf(file,
            "{\"event\": \"launch\", \"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
            "\"shared\": %u, \"stream\": %llu, \"sm\": %u, \"params\": [",
            f->name, dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], c->shared,
            (unsigned long long)(uintptr_t)c->stream, f->module ? f->module->arch : 0);
    write_parameters(file, f, params);
    fprintf(file, "], \"attributes\": [");
    for (i = 0; i < c->n_attributes; i++) {
        fprintf(file, "%s[%u, \"", i ? ", " : "", c->attributes[i].id);
        /* a cluster's size has three numbers, all others one */
        write_bytes(file, c->attributes[i].value, c->attributes[i].id == 4 ? 12 : 4);
        fprintf(file, "\"]");
    }
    fprintf(file, "]}\n");
    fclose(file);
}
static R record(struct function *f, const struct launch_config *c, void **params) {
    const unsigned *dims = c->dims;
    FILE *file;
    if (!current) return INVALID_CONTEXT;
    if (!dims[0] || !dims[1] || !dims[2]) return INVALID_VALUE;
    if (!settings.log[0]) return OK;
    while (__sync_lock_test_and_set(&writing, 1)) { /* another thread writes its line */ }
    file = fopen(settings.log, "ab");
    if (file) write_launch(file, f, c, params);
    __sync_lock_release(&writing);
    return OK;
}
API R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, void *stream, void **params, void **extra) {
    struct launch_config c = { { gx, gy, gz, bx, by, bz }, shared, stream, 0, 0 };
    (void)extra;
    ENTER(cuLaunchKernel);
    return record(f, &c, params);
}
API R cuLaunchKernelEx(const struct launch_config *c, void *f, void **params, void **extra) {
    (void)extra;
    ENTER(cuLaunchKernelEx);
    return record(f, c, params);
}

/* ---- memory on the host heap ---- */
API R cuMemAlloc_v2(U64 *p, size_t n) { void *m; ENTER(cuMemAlloc_v2); m = calloc(1, n ? n : 1); *p = (U64)(uintptr_t)m; return m ? OK : 2; }
API R cuMemFree_v2(U64 p) { free((void *)(uintptr_t)p); return OK; }
API R cuMemAllocHost_v2(void **p, size_t n) { *p = malloc(n); return *p ? OK : 2; }
API R cuMemFreeHost(void *p) { free(p); return OK; }
API R cuMemGetInfo_v2(size_t *f, size_t *t) { configure(); *t = (size_t)settings.memory << 20; *f = *t - *t / 16; return OK; }
API R cuMemcpyHtoD_v2(U64 d, const void *s, size_t n) { memcpy((void *)(uintptr_t)d, s, n); return OK; }
API R cuMemcpyDtoH_v2(void *d, U64 s, size_t n) { memcpy(d, (void *)(uintptr_t)s, n); return OK; }
API R cuMemcpyDtoD_v2(U64 d, U64 s, size_t n) { memcpy((void *)(uintptr_t)d, (void *)(uintptr_t)s, n); return OK; }
API R cuMemcpyHtoDAsync_v2(U64 d, const void *s, size_t n, void *st) { (void)st; return cuMemcpyHtoD_v2(d, s, n); }
API R cuMemcpyDtoHAsync_v2(void *d, U64 s, size_t n, void *st) { (void)st; return cuMemcpyDtoH_v2(d, s, n); }
API R cuMemsetD8_v2(U64 d, unsigned char v, size_t n) { memset((void *)(uintptr_t)d, v, n); return OK; }
/* addresses that stand for a CPU tensor's memory, and for pinned memory with another address on the device */
enum { HOST_MEMORY = 0x6c, PINNED_MEMORY = 0x6d, PINNED_SHIFT = 0x1000 };
API R cuPointerGetAttribute(void *out, int attribute, U64 p) {
    ENTER(cuPointerGetAttribute);
    if (p >> 40 == HOST_MEMORY) return INVALID_VALUE;
    if (attribute == 3) {                                           /* device pointer */
        *(U64 *)out = p >> 40 == PINNED_MEMORY ? p + PINNED_SHIFT : p;
        return OK;
    }
    return INVALID_VALUE;
}
API R cuPointerGetAttributes(unsigned n, int *attrs, void **out, U64 p) {
    unsigned i;
    for (i = 0; i < n; i++)
        if (attrs[i] == 3) *(U64 *)out[i] = p;
    return OK;
}

/* ---- streams, events ---- */
API R cuStreamCreate(void **s, unsigned f) { (void)f; *s = (void *)(uintptr_t)0x2000; return OK; }
API R cuStreamDestroy_v2(void *s) { (void)s; return OK; }
API R cuStreamIsCapturing(void *s, int *status) { (void)s; *status = 0; return OK; }
API R cuStreamSynchronize(void *s) { (void)s; return OK; }
API R cuEventCreate(void **e, unsigned f) { (void)f; *e = (void *)(uintptr_t)0x3000; return OK; }
API R cuEventDestroy_v2(void *e) { (void)e; return OK; }
API R cuEventRecord(void *e, void *s) { (void)e; (void)s; return OK; }
API R cuEventSynchronize(void *e) { (void)e; return OK; }
API R cuEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; *ms = 1.0f; return OK; }

/* ---- tensor maps: 128 opaque bytes ---- */
struct map { U64 address, dim[5], stride[4]; uint8_t kind[8]; unsigned box[5]; };
static R encode(void *map, int type, unsigned rank, void *address, const U64 *dim, const U64 *stride,
                const unsigned *box, unsigned boxes, int swizzle, int l2, int oob) {
    struct map m = { 0 };
    if (rank < 1 || rank > 5) return INVALID_VALUE;
    m.address = (U64)(uintptr_t)address;
    memcpy(m.dim, dim, rank * sizeof *dim);
    memcpy(m.stride, stride, (rank - 1) * sizeof *stride);
    memcpy(m.box, box, boxes * sizeof *box);
    m.kind[0] = type, m.kind[1] = rank, m.kind[2] = swizzle, m.kind[3] = l2, m.kind[4] = oob;
    memset(map, 0, 128);
    memcpy(map, &m, sizeof m < 128 ? sizeof m : 128);
    return OK;
}
API R cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const U64 *dim, const U64 *stride,
                             const unsigned *box, const unsigned *step, int i, int s, int l2, int oob) {
    (void)step; (void)i;
    ENTER(cuTensorMapEncodeTiled);
    return encode(map, type, rank, address, dim, stride, box, rank, s, l2, oob);
}
API R cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const U64 *dim, const U64 *stride,
                              const int *lo, const int *hi, unsigned ch, unsigned px, const unsigned *step,
                              int i, int s, int l2, int oob) {
    unsigned box[4] = { ch, px, (unsigned)lo[0], (unsigned)hi[0] };
    (void)step; (void)i;
    ENTER(cuTensorMapEncodeIm2col);
    return encode(map, type, rank, address, dim, stride, box, 4, s, l2, oob);
}

/* ---- errors ---- */
static const struct { int code; const char *name, *text; } errors[] = {
    { 0, "CUDA_SUCCESS", "no error" },
    { 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    { 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
    { 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
    { 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    { 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    { 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch" },
    { 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    { 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
};
static int find_error(int code) {
    int i;
    for (i = 0; i < (int)(sizeof errors / sizeof *errors); i++) if (errors[i].code == code) return i;
    return -1;
}
API R cuGetErrorString(int code, const char **s) { int i = find_error(code); *s = i < 0 ? 0 : errors[i].text; return i < 0 ? INVALID_VALUE : OK; }
API R cuGetErrorName(int code, const char **s) { int i = find_error(code); *s = i < 0 ? 0 : errors[i].name; return i < 0 ? INVALID_VALUE : OK; }
