#ifdef _WIN32 /* {marker} */
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <string.h>
#include <windows.h>
#define RTLD_LAZY 1
#define RTLD_LOCAL 0
#define RTLD_NOLOAD 4
static const char *tritonwin_dl_error = NULL;
static inline void *dlopen(const char *name, int mode) {
  if (strcmp(name, "libcuda.so.1") == 0)
    name = "nvcuda.dll";
  if (strcmp(name, "libamdhip64.so") == 0)
    name = GetModuleHandleA("amdhip64_7.dll") ? "amdhip64_7.dll" : "amdhip64_6.dll";
  if (mode & RTLD_NOLOAD)
    return (void *)GetModuleHandleA(name);
  /* from the system's folder, or together with what lies beside it */
  return (void *)LoadLibraryExA(name, NULL, strpbrk(name, "/:") ? 0x8 : 0x800);
}
static inline void *dlsym(void *library, const char *name) {
  void *symbol = (void *)GetProcAddress((HMODULE)library, name);
  tritonwin_dl_error = symbol ? NULL : "no such function in this library";
  return symbol;
}
static inline const char *dlerror(void) {
  const char *error = tritonwin_dl_error;
  tritonwin_dl_error = NULL;
  return error;
}
static inline int dlclose(void *library) {
  return FreeLibrary((HMODULE)library) ? 0 : -1;
}
#else
#include <dlfcn.h>
#endif
