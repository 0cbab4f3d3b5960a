/* Linked into the libengine of the Python wheel, and nowhere else: with it the library needs no
   version of a symbol that is newer than glibc 2.28, whatever glibc it is linked on. glibc gives
   these functions new versions for reasons that the engine does not depend on: exp, log, .. no
   longer set errno by way of a wrapper, threads moved from libpthread into libc, stat became a
   function of its own. The older versions are in every glibc, for programs of that time.

   scripts/wheel.sh links with --wrap, which sends calls of NAME to __wrap_NAME here. */
#include <pthread.h>
#include <sys/stat.h>

/* The first version of glibc for the processor, and what __xstat() calls its only struct stat. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define FIRST "GLIBC_2.2.5"
#define STAT_LAYOUT 1
#elif defined(__aarch64__) && defined(__GLIBC__)
#define FIRST "GLIBC_2.17"
#define STAT_LAYOUT 0
#else
#error "the versions below are those of glibc on x86-64 and on 64-bit Arm"
#endif

#define OLDER(name) __asm__(".symver older_" #name ", " #name "@" FIRST)
OLDER(exp);
OLDER(exp2);
OLDER(log);
OLDER(log2);
OLDER(pow);
OLDER(pthread_create);
OLDER(pthread_join);
OLDER(pthread_mutex_trylock);
OLDER(pthread_once);
OLDER(__pthread_key_create);

double older_exp(double x);
double older_exp2(double x);
double older_log(double x);
double older_log2(double x);
double older_pow(double x, double y);
int older_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                         void* argument);
int older_pthread_join(pthread_t thread, void** result);
int older_pthread_mutex_trylock(pthread_mutex_t* mutex);
int older_pthread_once(pthread_once_t* once, void (*routine)(void));
int older___pthread_key_create(pthread_key_t* key, void (*destructor)(void*));

double __wrap_exp(double x) { return older_exp(x); }
double __wrap_exp2(double x) { return older_exp2(x); }
double __wrap_log(double x) { return older_log(x); }
double __wrap_log2(double x) { return older_log2(x); }
double __wrap_pow(double x, double y) { return older_pow(x, y); }

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
  return older_pthread_create(thread, attributes, start, argument);
}
int __wrap_pthread_join(pthread_t thread, void** result) {
  return older_pthread_join(thread, result);
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  return older_pthread_mutex_trylock(mutex);
}
int __wrap_pthread_once(pthread_once_t* once, void (*routine)(void)) {
  return older_pthread_once(once, routine);
}
int __wrap___pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return older___pthread_key_create(key, destructor);
}

/* What headers made of stat() before glibc 2.33. */
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);
int __wrap_stat(const char* path, struct stat* status) {
  return __xstat(STAT_LAYOUT, path, status);
}
int __wrap_lstat(const char* path, struct stat* status) {
  return __lxstat(STAT_LAYOUT, path, status);
}
int __wrap_fstat(int file, struct stat* status) { return __fxstat(STAT_LAYOUT, file, status); }

/* glibc 2.32 tells libstdc++ by it that counters need no atomic operations. Here they always do. */
char __libc_single_threaded = 0;
