/* LD_PRELOAD shim: counts the calls that change files below one folder, and kills or fails the chosen one.
 *
 * Configured by memcrash_arm() (fork server), or when loaded by the environment:
 *   MEMCRASH_ROOT  folder to watch, a real path      MEMCRASH_AT    number of the call to strike, from 1; 0 = none
 *   MEMCRASH_MODE  before | after | half | short | errno:N:once | errno:N:sticky      MEMCRASH_LOG   file to append to
 * before, after: SIGKILL before or after the call.  half: half of a write's bytes, then SIGKILL (others: as after).
 * short: a write takes half of its bytes and says so, once (others: no effect).  errno: -1 and N, the call not made.
 *
 * Log line, tab-separated: number, name, result (or -errno), inode, inode that the path had before, offset (open: its
 * flags), path, second path, data in hex; %XX escapes in paths. Writes to stdout and stderr outside the folder are
 * logged as number 0, so that a reader of the log knows what had been acknowledged when.
 *
 * Everything is done by raw *at system calls: no dlsym, no recursion into ourselves, and the same on every LP64 Linux.
 * A descriptor's path comes from /proc/self/fd, which needs no table and survives dup, rename and inheritance.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __LP64__
#error "offsets are passed as one register: LP64 only"
#endif

enum mode { NONE, BEFORE, AFTER, HALF, SHORT, ERRNO };

static char root[PATH_MAX], log_path[PATH_MAX];
static enum mode mode;
static int fault, sticky;
static long at, counted;

struct call {
    const char *name;
    char path[PATH_MAX], to[PATH_MAX];
    long number, offset;
    unsigned long inode, was;
    const unsigned char *data;
    size_t length;
};

void memcrash_arm(const char *new_root, long new_at, const char *new_mode, const char *new_log) {
    char word[8] = "";
    counted = 0;
    at = new_at;
    fault = 0;
    snprintf(root, sizeof root, "%s", new_root);
    snprintf(log_path, sizeof log_path, "%s", new_log);
    if (sscanf(new_mode, "errno:%d:%7s", &fault, word) == 2)
        mode = ERRNO;
    else
        mode = !strcmp(new_mode, "before") ? BEFORE : !strcmp(new_mode, "after") ? AFTER
             : !strcmp(new_mode, "half") ? HALF : !strcmp(new_mode, "short") ? SHORT : NONE;
    sticky = !strcmp(word, "sticky");
}

/* ---- chance ---- */

static int settled;
static unsigned long chance;

/* From here on the same random bytes and the same process id in every run: equal crashes then leave equal files. */
void memcrash_settle(long seed) {
    settled = 1;
    chance = seed;
}

ssize_t getrandom(void *out, size_t n, unsigned flags) {
    if (!settled)
        return syscall(SYS_getrandom, out, n, flags);
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)out)[i] = (chance = chance * 6364136223846793005UL + 1442695040888963407UL) >> 56;
    return n;
}

pid_t getpid(void) { return settled ? 4242 : syscall(SYS_getpid); }

__attribute__((constructor)) static void load(void) {
    const char *where = getenv("MEMCRASH_ROOT"), *when = getenv("MEMCRASH_AT");
    const char *how = getenv("MEMCRASH_MODE"), *log = getenv("MEMCRASH_LOG");
    if (!where)
        return;
    memcrash_arm(where, when ? atol(when) : 0, how ? how : "", log ? log : "");
    unsetenv("MEMCRASH_ROOT"); /* programs that the victim starts must not count from 1 again */
}

/* ---- where a call goes ---- */

static int fd_path(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    out[n < 0 ? 0 : n] = 0;
    return n >= 0;
}

/* Absolute path of (folder, path) with "." and ".." folded away; links are not followed. */
static void absolute(int folder, const char *path, char *out) {
    char joined[2 * PATH_MAX], base[PATH_MAX] = "", *rest = joined, *part;
    if (path[0] != '/' && folder != AT_FDCWD)
        fd_path(folder, base);
    else if (path[0] != '/' && syscall(SYS_getcwd, base, sizeof base) < 0)
        base[0] = 0;
    snprintf(joined, sizeof joined, "%s/%s", base, path);
    char *end = out;
    *end = 0;
    while ((part = strsep(&rest, "/"))) {
        if (!*part || !strcmp(part, "."))
            continue;
        if (!strcmp(part, "..")) {
            char *slash = strrchr(out, '/');
            end = slash ? slash : out;
            *end = 0;
        } else if (end - out + strlen(part) + 2 < PATH_MAX) {
            end += sprintf(end, "/%s", part);
        }
    }
}

static int below(const char *path) {
    size_t n = strlen(root);
    return n && !strncmp(path, root, n) && (path[n] == '/' || !path[n]);
}

static unsigned long inode_of(const char *path) {
    struct stat st;
    return fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}

static int on_path(struct call *c, const char *name, int folder, const char *path) {
    if (!root[0] || !path)
        return 0;
    memset(c, 0, sizeof *c);
    c->name = name;
    absolute(folder, path, c->path);
    c->inode = c->was = inode_of(c->path);
    return below(c->path);
}

static int on_paths(struct call *c, const char *name, int f1, const char *p1, int f2, const char *p2) {
    int first = on_path(c, name, f1, p1);
    if (!root[0] || !p2)
        return 0;
    absolute(f2, p2, c->to);
    return first || below(c->to);
}

static int on_fd(struct call *c, const char *name, int fd) {
    struct stat st;
    if (!root[0])
        return 0;
    memset(c, 0, sizeof *c);
    c->name = name;
    c->inode = fstat(fd, &st) ? 0 : st.st_ino;
    return fd_path(fd, c->path) && below(c->path);
}

/* ---- the log ---- */

static void put(int fd, const char *text, size_t n) { syscall(SYS_write, fd, text, n); }

static void put_path(int fd, const char *path) {
    char out[3 * PATH_MAX], *end = out;
    for (; *path; path++)
        end += sprintf(end, (unsigned char)*path <= ' ' || *path == '%' || *path == 127 ? "%%%02X" : "%c",
                       (unsigned char)*path);
    put(fd, out, end - out);
    put(fd, "\t", 1);
}

static void put_hex(int fd, const unsigned char *data, size_t n) {
    char out[4096];
    for (size_t done = 0; done < n; done += 2048) {
        size_t part = n - done < 2048 ? n - done : 2048;
        for (size_t i = 0; i < part; i++) {
            out[2 * i] = "0123456789abcdef"[data[done + i] >> 4];
            out[2 * i + 1] = "0123456789abcdef"[data[done + i] & 15];
        }
        put(fd, out, 2 * part);
    }
    put(fd, "\n", 1);
}

static void note(const struct call *c, long result) {
    char head[160];
    if (!log_path[0])
        return;
    int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int n = snprintf(head, sizeof head, "%ld\t%s\t%ld\t%lu\t%lu\t%ld\t", c->number, c->name, result, c->inode, c->was,
                     c->offset);
    put(fd, head, n);
    put_path(fd, c->path);
    put_path(fd, c->to);
    put_hex(fd, c->data, c->length);
    syscall(SYS_close, fd);
}

/* ---- the strike ---- */

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;)
        pause();
}

static int struck(const struct call *c, enum mode wanted) { return mode == wanted && c->number == at; }

/* Counts the call; false when it must fail, with errno set. */
static int begin(struct call *c) {
    c->number = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
    if (struck(c, BEFORE))
        die();
    if (!struck(c, ERRNO) && !(mode == ERRNO && sticky && at && c->number > at))
        return 1;
    c->length = 0;
    note(c, -fault);
    errno = fault;
    return 0;
}

static long end(struct call *c, long result) {
    int saved = errno;
    note(c, result < 0 ? -saved : result);
    if (struck(c, AFTER) || struck(c, HALF))
        die();
    errno = saved;
    return result;
}

#define TRY(call, action) (begin(&call) ? end(&call, (action)) : -1)

/* ---- open ---- */

static int open_at(int folder, const char *path, int flags, mode_t bits) {
    struct call c;
    int writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    if (!writes || !on_path(&c, "open", folder, path))
        return syscall(SYS_openat, folder, path, flags, bits);
    c.offset = flags;
    if (!begin(&c))
        return -1;
    int fd = syscall(SYS_openat, folder, path, flags, bits);
    struct stat st;
    int saved = errno;
    c.inode = fd >= 0 && !fstat(fd, &st) ? st.st_ino : 0;
    errno = saved;
    return end(&c, fd);
}

#define BITS(flags)                                                                                                    \
    mode_t bits = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        bits = va_arg(more, unsigned);                                                                                 \
        va_end(more);                                                                                                  \
    }

int open(const char *path, int flags, ...) {
    BITS(flags)
    return open_at(AT_FDCWD, path, flags, bits);
}

int open64(const char *path, int flags, ...) {
    BITS(flags)
    return open_at(AT_FDCWD, path, flags, bits);
}

int openat(int folder, const char *path, int flags, ...) {
    BITS(flags)
    return open_at(folder, path, flags, bits);
}

int openat64(int folder, const char *path, int flags, ...) {
    BITS(flags)
    return open_at(folder, path, flags, bits);
}

int creat(const char *path, mode_t bits) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, bits); }
int creat64(const char *path, mode_t bits) { return creat(path, bits); }

/* ---- write ---- */

static void note_talk(int fd, const void *data, size_t n) {
    struct call c = {.name = fd == 1 ? "stdout" : "stderr", .data = data, .length = n};
    note(&c, n);
}

/* offset < 0: at the descriptor's own position, as write does. */
static ssize_t write_at(const char *name, int fd, const void *data, size_t n, off_t offset) {
    struct call c;
    int own = offset < 0, watched = on_fd(&c, name, fd);
    if (!watched && root[0] && (fd == 1 || fd == 2))
        note_talk(fd, data, n);
    if (watched && !begin(&c))
        return -1;
    if (watched && n > 1 && (struck(&c, HALF) || struck(&c, SHORT)))
        n /= 2;
    ssize_t done = own ? syscall(SYS_write, fd, data, n) : syscall(SYS_pwrite64, fd, data, n, offset);
    if (!watched)
        return done;
    int saved = errno;
    c.data = data;
    c.length = done > 0 ? done : 0;
    c.offset = own ? syscall(SYS_lseek, fd, 0L, SEEK_CUR) - (long)c.length : offset;
    errno = saved;
    return end(&c, done);
}

ssize_t write(int fd, const void *data, size_t n) { return write_at("write", fd, data, n, -1); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t offset) { return write_at("pwrite", fd, data, n, offset); }
ssize_t pwrite64(int fd, const void *data, size_t n, off_t offset) { return write_at("pwrite", fd, data, n, offset); }

/* One buffer, one call: joined only below the folder, where the log and the half want it in one piece. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    struct call c;
    if (!on_fd(&c, "writev", fd))
        return syscall(SYS_writev, fd, parts, count);
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    char *joined = malloc(total + 1), *next = joined;
    for (int i = 0; i < count; i++)
        next = mempcpy(next, parts[i].iov_base, parts[i].iov_len);
    ssize_t done = write_at("writev", fd, joined, total, -1);
    free(joined);
    return done;
}

/* A copy inside the kernel shows no bytes: refused below the folder, so that the victim falls back to write. */
ssize_t sendfile(int out, int in, off_t *offset, size_t n) {
    struct call c;
    if (on_fd(&c, "sendfile", out))
        return errno = ENOSYS, -1;
    return syscall(SYS_sendfile, out, in, offset, n);
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t n) { return sendfile(out, in, offset, n); }

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags) {
    struct call c;
    if (on_fd(&c, "copy_file_range", out))
        return errno = ENOSYS, -1;
    return syscall(SYS_copy_file_range, in, from, out, to, n, flags);
}

/* ---- sync ---- */

int fsync(int fd) {
    struct call c;
    return on_fd(&c, "fsync", fd) ? TRY(c, syscall(SYS_fsync, fd)) : syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    struct call c;
    return on_fd(&c, "fdatasync", fd) ? TRY(c, syscall(SYS_fdatasync, fd)) : syscall(SYS_fdatasync, fd);
}

int syncfs(int fd) {
    struct call c;
    return on_fd(&c, "syncfs", fd) ? TRY(c, syscall(SYS_syncfs, fd)) : syscall(SYS_syncfs, fd);
}

/* ---- size ---- */

int ftruncate(int fd, off_t size) {
    struct call c;
    if (!on_fd(&c, "ftruncate", fd))
        return syscall(SYS_ftruncate, fd, size);
    c.offset = size;
    return TRY(c, syscall(SYS_ftruncate, fd, size));
}

int truncate(const char *path, off_t size) {
    struct call c;
    if (!on_path(&c, "truncate", AT_FDCWD, path))
        return syscall(SYS_truncate, path, size);
    c.offset = size;
    return TRY(c, syscall(SYS_truncate, path, size));
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int truncate64(const char *path, off64_t size) { return truncate(path, size); }

/* ---- names ---- */

int renameat2(int f1, const char *p1, int f2, const char *p2, unsigned flags) {
    struct call c;
    if (!on_paths(&c, "rename", f1, p1, f2, p2))
        return syscall(SYS_renameat2, f1, p1, f2, p2, flags);
    return TRY(c, syscall(SYS_renameat2, f1, p1, f2, p2, flags));
}

int renameat(int f1, const char *p1, int f2, const char *p2) { return renameat2(f1, p1, f2, p2, 0); }
int rename(const char *p1, const char *p2) { return renameat2(AT_FDCWD, p1, AT_FDCWD, p2, 0); }

int linkat(int f1, const char *p1, int f2, const char *p2, int flags) {
    struct call c;
    if (!on_paths(&c, "link", f1, p1, f2, p2))
        return syscall(SYS_linkat, f1, p1, f2, p2, flags);
    return TRY(c, syscall(SYS_linkat, f1, p1, f2, p2, flags));
}

int link(const char *p1, const char *p2) { return linkat(AT_FDCWD, p1, AT_FDCWD, p2, 0); }

int symlinkat(const char *target, int folder, const char *path) {
    struct call c;
    if (!on_path(&c, "symlink", folder, path))
        return syscall(SYS_symlinkat, target, folder, path);
    return TRY(c, syscall(SYS_symlinkat, target, folder, path));
}

int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int unlinkat(int folder, const char *path, int flags) {
    struct call c;
    if (!on_path(&c, flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, path))
        return syscall(SYS_unlinkat, folder, path, flags);
    return TRY(c, syscall(SYS_unlinkat, folder, path, flags));
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t bits) {
    struct call c;
    if (!on_path(&c, "mkdir", folder, path))
        return syscall(SYS_mkdirat, folder, path, bits);
    return TRY(c, syscall(SYS_mkdirat, folder, path, bits));
}

int mkdir(const char *path, mode_t bits) { return mkdirat(AT_FDCWD, path, bits); }
