/* Keeps a process from handling SIGXFSZ, so that the kernel still ends it at a write that is too large. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

int sigaction(int signal, const struct sigaction *action, struct sigaction *before) {
    int (*next)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    return next(signal, signal == SIGXFSZ ? NULL : action, before);
}
