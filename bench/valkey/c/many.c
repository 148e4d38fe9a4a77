/* libvalkey's cluster client with libevent, with 64 requests on their way: many WORKLOAD HOST:PORT REQUESTS. Prints what
 * `many` of the other clients prints: CPU of a request, median and 99th percentile of the times, in nanoseconds. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <valkey/adapters/libevent.h>
#include <valkey/cluster.h>

#define TASKS 64
#define KEYS 10000
#define SIZE 1024

static valkeyClusterAsyncContext *cluster;
static struct event_base *base;
static char value[SIZE];
static int is_set;
static long per_task, left;
static long *each;
static struct task { long number, at, start; } tasks[TASKS];

static long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void done(valkeyClusterAsyncContext *c, void *reply, void *task);

static void request(struct task *task) {
    char key[32];
    size_t length = snprintf(key, sizeof key, "key:%012ld", (task->at * TASKS + task->number) % KEYS);
    const char *words[] = {is_set ? "SET" : "GET", key, value};
    size_t lengths[] = {3, length, SIZE};
    task->start = now(CLOCK_MONOTONIC);
    int sent = valkeyClusterAsyncCommandArgv(cluster, done, task, is_set ? 3 : 2, words, lengths);
    assert(sent == VALKEY_OK);
}

static void done(valkeyClusterAsyncContext *c, void *answer, void *privdata) {
    struct task *task = privdata;
    valkeyReply *reply = answer;
    if (!reply) fprintf(stderr, "%s\n", c->errstr), exit(1);
    assert(is_set ? reply->type == VALKEY_REPLY_STATUS : reply->len == SIZE);
    each[task->number * per_task + task->at] = now(CLOCK_MONOTONIC) - task->start;
    if (++task->at < per_task) return request(task);
    if (--left == 0) event_base_loopbreak(base);
}

static int order(const void *a, const void *b) { return (*(long *)a > *(long *)b) - (*(long *)a < *(long *)b); }

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: many WORKLOAD HOST:PORT REQUESTS\n"), 2;
    is_set = !strcmp(argv[1], "cluster-set");
    per_task = atol(argv[3]) / TASKS;
    left = TASKS;
    memset(value, 'x', SIZE);
    each = calloc(TASKS * per_task, sizeof *each);
    base = event_base_new();
    valkeyClusterOptions options = {.initial_nodes = argv[2], .options = VALKEY_OPT_BLOCKING_INITIAL_UPDATE};
    valkeyClusterOptionsUseLibevent(&options, base);
    cluster = valkeyClusterAsyncConnectWithOptions(&options);
    if (!cluster || cluster->err) return fprintf(stderr, "no cluster: %s\n", cluster ? cluster->errstr : ""), 1;
    long before = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < TASKS; i++) tasks[i].number = i, request(&tasks[i]);
    event_base_dispatch(base);
    long cpu = now(CLOCK_PROCESS_CPUTIME_ID) - before, requests = TASKS * per_task;
    qsort(each, requests, sizeof *each, order);
    printf("%ld %ld %ld\n", cpu / requests, each[requests / 2], each[requests * 99 / 100]);
}
