/* LD_PRELOAD: a file system without locks. flock fails with the errno that MEMCLI_TEST_FLOCK names. */
#include <errno.h>
#include <stdlib.h>

int flock(int fd, int operation) {
    (void)fd;
    (void)operation;
    errno = atoi(getenv("MEMCLI_TEST_FLOCK"));
    return -1;
}
