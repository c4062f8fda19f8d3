#include "cuda.h"
#include <dlfcn.h>
#include <stdatomic.h>
static PyObject *f(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_LAZY);
  return dlsym(lib, "cuInit");
}
