/* Loaded in front of the C library: the time of day is some seconds ahead of the system's. How many is in the file that ONECOPY_CLOCK names,
 * and may change at any time. What waits until a time of day waits for the system's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t *seconds;

__attribute__((constructor)) static void open_clock(void) {
    const char *name = getenv("ONECOPY_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *mapped = mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    seconds = mapped == MAP_FAILED ? NULL : mapped;
}

static int64_t ahead(void) {
    return seconds ? __atomic_load_n(seconds, __ATOMIC_RELAXED) : 0;
}

static struct timespec of_system(const struct timespec *time) {
    struct timespec shifted = *time;
    shifted.tv_sec -= ahead();
    return shifted;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += ahead();
    }
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (result) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    result->tv_sec = now.tv_sec;
    result->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* No time of day is earlier. A condition that goes by the monotonic clock waits for one that counts from the start of the system. */
#define FIRST_TIME_OF_DAY 1000000000

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    if (until->tv_sec < FIRST_TIME_OF_DAY) {
        return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
    }
    struct timespec time = of_system(until);
    return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &time);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    struct timespec time = of_system(until);
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &time);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until) {
    struct timespec time = of_system(until);
    return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, &time);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until) {
    struct timespec time = of_system(until);
    return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, &time);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    struct timespec time = of_system(until);
    return sem_clockwait(semaphore, CLOCK_REALTIME, &time);
}
