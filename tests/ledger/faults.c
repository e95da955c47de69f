/* A disk that fails: the chosen write, sync or read under one folder gives an error.
 *
 * Loaded with LD_PRELOAD; the process itself sets what fails by writing these symbols. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING, WRITES, SYNCS, READS, FOLDERS };

int fault_kind = NOTHING;
long fault_at;          /* which call of that kind fails, from 1; 0 counts and fails none */
int fault_error;        /* with which errno */
int fault_sticky;       /* whether all later ones fail too */
int fault_torn;         /* whether half of a failing write is written */
long fault_calls;       /* how many calls there were */
long fault_hits;        /* how many of them failed */
char fault_place[4096]; /* the folder; other files never fail */

/* What a call of that kind to this file counts as: a folder's syncs are a kind of their own,
 * and whatever is not in the folder never fails. */
static int counted(int kind, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t place = strlen(fault_place);
    if (length < (ssize_t)place || strncmp(path, fault_place, place) != 0) return NOTHING;
    if (length == (ssize_t)place) return kind == SYNCS ? FOLDERS : NOTHING;
    return path[place] == '/' ? kind : NOTHING;
}

static int fails(int kind, int fd) {
    if (fault_kind == NOTHING || counted(kind, fd) != fault_kind) return 0;
    fault_calls++;
    int now = fault_at && (fault_calls == fault_at || (fault_sticky && fault_calls > fault_at));
    fault_hits += now;
    return now;
}

static int failed(void) {
    errno = fault_error;
    return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define SYNC(name)                                     \
    int name(int fd) {                                 \
        return fails(SYNCS, fd) ? failed() : REAL(name)(fd); \
    }
#define CUT(name, off)                                 \
    int name(int fd, off length) {                     \
        return fails(WRITES, fd) ? failed() : REAL(name)(fd, length); \
    }
#define PWRITE(name, off)                              \
    ssize_t name(int fd, const void *from, size_t count, off at) { \
        if (!fails(WRITES, fd)) return REAL(name)(fd, from, count, at); \
        if (fault_torn) REAL(name)(fd, from, count / 2, at); \
        return failed();                               \
    }
#define PREAD(name, off)                               \
    ssize_t name(int fd, void *to, size_t count, off at) { \
        return fails(READS, fd) ? failed() : REAL(name)(fd, to, count, at); \
    }

SYNC(fsync)
SYNC(fdatasync)
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t write(int fd, const void *from, size_t count) {
    if (!fails(WRITES, fd)) return REAL(write)(fd, from, count);
    if (fault_torn) REAL(write)(fd, from, count / 2);
    return failed();
}
