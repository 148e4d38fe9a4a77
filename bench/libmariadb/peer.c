/* libmariadb on onecopy's workloads: peer WORKLOAD SOCKET USER PASSWORD DATABASE ITERATIONS, or, over TLS to 127.0.0.1,
 * peer WORKLOAD PORT USER PASSWORD DATABASE ITERATIONS CA.
 *
 * Prepared statements with bound buffers, rows unbuffered; the blob by the text protocol, unbuffered ("blob") or stored
 * ("blob-store"). Each value is folded into a sum that is printed. */
#include <mysql.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 18
#define LONG_VALUE 65536

static uint64_t sum;

static void fold(uint64_t word) { sum = (sum << 5 | sum >> 59) ^ word; }

static void fold_bytes(const unsigned char *bytes, unsigned long len) {
  fold(len);
  if (len) fold((uint64_t)bytes[0] << 8 | bytes[len - 1]);
}

static void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static const char *sql_of(const char *workload) {
  if (!strcmp(workload, "one-small-row"))
    return "SELECT s8, u8, s16, u16, s32, u32, s64, u64, s1, b1, flt, dbl, dt, dtime, t FROM onecopy_bench_rows "
           "WHERE id = 1";
  if (!strcmp(workload, "one-big-row")) return "SELECT * FROM onecopy_bench_rows WHERE id = 1";
  if (!strcmp(workload, "many-rows")) return "SELECT * FROM onecopy_bench_rows";
  if (!strcmp(workload, "stmt-params"))
    return "SELECT id FROM onecopy_bench_rows WHERE id = 1 AND s8 = ? AND u8 = ? AND s16 = ? AND u16 = ? AND s32 = ? "
           "AND u32 = ? AND s64 = ? AND u64 = ? AND s1 = ? AND s2 = ? AND b1 = ? AND b2 = ? AND flt = ? AND dbl = ? "
           "AND dt = ? AND dtime = ? AND t = ?";
  return "SELECT data FROM onecopy_bench_blob WHERE id = 1";
}

static void run_blob(MYSQL *conn, const char *sql, int store, long iterations) {
  for (long i = 0; i < iterations; i++) {
    if (mysql_query(conn, sql)) die("query", mysql_error(conn));
    MYSQL_RES *result = store ? mysql_store_result(conn) : mysql_use_result(conn);
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result))) fold_bytes((unsigned char *)row[0], mysql_fetch_lengths(result)[0]);
    mysql_free_result(result);
  }
}

static void bind(MYSQL_BIND *b, enum enum_field_types type, int is_unsigned, void *value, unsigned long len) {
  memset(b, 0, sizeof *b);
  b->buffer_type = type;
  b->is_unsigned = is_unsigned;
  b->buffer = value;
  b->buffer_length = len;
}

static void bind_params(MYSQL_STMT *stmt) {
  static signed char s8 = 64;
  static unsigned char u8 = 172;
  static short s16 = -129;
  static unsigned short u16 = 0xfe21;
  static int s32 = 42;
  static unsigned u32 = 0xfe8173;
  static long long s64 = -1;
  static unsigned long long u64 = 98302402;
  static char s1[200], s2[36000], b1[200], b2[35000];
  static float flt = 3.14e10f;
  static double dbl = 7.1e-150;
  static MYSQL_TIME dt, dtime, t;
  static MYSQL_BIND p[17];
  memset(s1, 'a', sizeof s1), memset(s2, 'b', sizeof s2), memset(b1, 5, sizeof b1), memset(b2, 7, sizeof b2);
  dt.year = 2010, dt.month = 6, dt.day = 20, dt.time_type = MYSQL_TIMESTAMP_DATE;
  dtime.year = 2020, dtime.month = 3, dtime.day = 21, dtime.hour = 10, dtime.minute = 40, dtime.second = 10;
  dtime.second_part = 123456, dtime.time_type = MYSQL_TIMESTAMP_DATETIME;
  t.hour = 126, t.minute = 18, t.second = 40, t.second_part = 123456, t.time_type = MYSQL_TIMESTAMP_TIME;
  bind(p, MYSQL_TYPE_TINY, 0, &s8, 1), bind(p + 1, MYSQL_TYPE_TINY, 1, &u8, 1);
  bind(p + 2, MYSQL_TYPE_SHORT, 0, &s16, 2), bind(p + 3, MYSQL_TYPE_SHORT, 1, &u16, 2);
  bind(p + 4, MYSQL_TYPE_LONG, 0, &s32, 4), bind(p + 5, MYSQL_TYPE_LONG, 1, &u32, 4);
  bind(p + 6, MYSQL_TYPE_LONGLONG, 0, &s64, 8), bind(p + 7, MYSQL_TYPE_LONGLONG, 1, &u64, 8);
  bind(p + 8, MYSQL_TYPE_STRING, 0, s1, sizeof s1), bind(p + 9, MYSQL_TYPE_STRING, 0, s2, sizeof s2);
  bind(p + 10, MYSQL_TYPE_BLOB, 0, b1, sizeof b1), bind(p + 11, MYSQL_TYPE_BLOB, 0, b2, sizeof b2);
  bind(p + 12, MYSQL_TYPE_FLOAT, 0, &flt, 4), bind(p + 13, MYSQL_TYPE_DOUBLE, 0, &dbl, 8);
  bind(p + 14, MYSQL_TYPE_DATE, 0, &dt, sizeof dt), bind(p + 15, MYSQL_TYPE_DATETIME, 0, &dtime, sizeof dtime);
  bind(p + 16, MYSQL_TYPE_TIME, 0, &t, sizeof t);
  if (mysql_stmt_bind_param(stmt, p)) die("bind", mysql_stmt_error(stmt));
}

static void run_prepared(MYSQL *conn, const char *sql, int params, long iterations) {
  static char values[COLUMNS][LONG_VALUE];
  static unsigned long lengths[COLUMNS];
  MYSQL_STMT *stmt = mysql_stmt_init(conn);
  if (mysql_stmt_prepare(stmt, sql, strlen(sql))) die("prepare", mysql_stmt_error(stmt));
  unsigned columns = mysql_stmt_field_count(stmt);
  MYSQL_RES *metadata = mysql_stmt_result_metadata(stmt);
  MYSQL_FIELD *fields = mysql_fetch_fields(metadata);
  MYSQL_BIND results[COLUMNS];
  for (unsigned i = 0; i < columns; i++) {
    bind(results + i, fields[i].type, !!(fields[i].flags & UNSIGNED_FLAG), values[i], LONG_VALUE);
    results[i].length = lengths + i;
  }
  if (params) bind_params(stmt);
  for (long n = 0; n < iterations; n++) {
    if (mysql_stmt_execute(stmt)) die("execute", mysql_stmt_error(stmt));
    if (n == 0 && mysql_stmt_bind_result(stmt, results)) die("bind result", mysql_stmt_error(stmt));
    while (!mysql_stmt_fetch(stmt))
      for (unsigned i = 0; i < columns; i++) fold_bytes((unsigned char *)values[i], lengths[i]);
    mysql_stmt_free_result(stmt);
  }
  mysql_free_result(metadata);
  mysql_stmt_close(stmt);
}

int main(int argc, char **argv) {
  if (argc != 7 && argc != 8) die("usage", "peer WORKLOAD SOCKET|PORT USER PASSWORD DATABASE ITERATIONS [CA]");
  MYSQL *conn = mysql_init(NULL);
  int tls = argc == 8;
  if (tls) {
    my_bool verify = 1;
    mysql_ssl_set(conn, NULL, NULL, argv[7], NULL, NULL);
    mysql_options(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  }
  if (!mysql_real_connect(conn, tls ? "127.0.0.1" : "localhost", argv[3], argv[4], argv[5], tls ? atoi(argv[2]) : 0,
                          tls ? NULL : argv[2], 0))
    die("connect", mysql_error(conn));
  long iterations = atol(argv[6]);
  if (!strncmp(argv[1], "blob", 4))
    run_blob(conn, sql_of(argv[1]), !strcmp(argv[1], "blob-store"), iterations);
  else
    run_prepared(conn, sql_of(argv[1]), !strcmp(argv[1], "stmt-params"), iterations);
  mysql_close(conn);
  printf("%016llx\n", (unsigned long long)sum);
}
