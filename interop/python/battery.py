"""What Python's drivers see of a server: battery.py pymysql|connector HOST PORT USER PASSWORD DATABASE.

Prints a line for each thing that it looked at; nothing in them depends on the connection.
"""
import hashlib, sys, tempfile, threading, time, warnings

DRIVER, HOST, PORT, USER, PASSWORD, DATABASE = sys.argv[1:]
PORT = int(PORT)
TABLE = f"battery_{DRIVER}"
BIG = b"b" * (20 << 20)


def show(name, value):
    text = repr(value)
    if len(text) > 300:
        text = f"{len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()}"
    print(f"{name}: {text}")


def attempt(name, call):
    """A call that is to fail: the error's number and text."""
    try:
        show(name, call())
    except Exception as error:
        show(name, (type(error).__name__, error.args[:2]))


def common(connect):
    """What both drivers do alike, by Python's database interface."""
    conn = connect()
    cursor = conn.cursor()

    def rows(sql, *values):
        cursor.execute(sql, *values)
        return list(cursor.fetchall())

    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    cursor.execute(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100), c LONGBLOB) CHARSET utf8mb4")
    show("types", rows("SELECT 1, -2.5, 1e10, NULL, 'ü😀', x'00FF', DATE '2026-01-02', TIME '-10:11:12', TIMESTAMP '2026-01-02 03:04:05.678901'"))
    show("columns", [column[:2] for column in cursor.description])
    cursor.executemany(f"INSERT INTO {TABLE} (a, b) VALUES (%s, %s)", [(i, f"row {i}") for i in range(1000)])
    show("inserted", (cursor.rowcount, cursor.lastrowid))
    conn.commit()
    show("count", rows(f"SELECT COUNT(*), SUM(a) FROM {TABLE}"))
    show("no rows", rows(f"SELECT * FROM {TABLE} WHERE id < 0"))
    cursor.execute(f"UPDATE {TABLE} SET a = a + 1")
    show("updated", cursor.rowcount)
    conn.rollback()
    show("rolled back", rows(f"SELECT SUM(a) FROM {TABLE}"))
    attempt("no table", lambda: rows("SELECT * FROM nothing_there"))
    attempt("no SQL", lambda: rows("this is no SQL"))
    attempt("twice", lambda: rows(f"INSERT INTO {TABLE} (id) VALUES (1)"))
    show("behind errors", rows("SELECT 1"))
    cursor.execute(f"INSERT INTO {TABLE} (c) VALUES (%s)", (BIG,))
    big = rows(f"SELECT c FROM {TABLE} WHERE id = {cursor.lastrowid}")[0][0]
    show("20 MiB", (len(big), hashlib.sha256(big).hexdigest() == hashlib.sha256(BIG).hexdigest()))
    conn.commit()
    show("many rows", sum(len(row[0]) for row in rows(f"SELECT CONCAT(x.b, y.b) FROM {TABLE} x, {TABLE} y WHERE x.a < 100 AND y.a IS NOT NULL")))
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{i}\tline {i}\n" for i in range(2000, 4000)))
        file.flush()
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {TABLE} (a, b)")
        show("loaded", cursor.rowcount)
    if DRIVER == "pymysql":  # the other one sends two packets then, and the server counts one
        attempt("a file that is not there", lambda: rows(f"LOAD DATA LOCAL INFILE '/nowhere/file' INTO TABLE {TABLE}"))
    conn.commit()
    show("behind the files", rows(f"SELECT COUNT(*) FROM {TABLE}"))
    cursor.execute(f"DROP PROCEDURE IF EXISTS {TABLE}_p")
    cursor.execute(f"CREATE PROCEDURE {TABLE}_p(n INT) BEGIN SELECT n; SELECT n + 1, 'second'; END")
    conn.ping(reconnect=False)
    show("kill", killed(connect))
    attempt("a password that is wrong", lambda: connect(password="wrong"))
    attempt("a database that is not there", lambda: connect(database="not_there"))
    return conn


def killed(connect):
    """KILL QUERY and KILL by the id that the client knows of itself."""
    conn, other = connect(), connect()
    cursor = conn.cursor()
    number = conn.thread_id() if DRIVER == "pymysql" else conn.connection_id
    cursor.execute("SELECT CONNECTION_ID()")
    same = cursor.fetchall()[0][0] == number
    timer = threading.Timer(0.5, lambda: other.cursor().execute(f"KILL QUERY {number}"))
    timer.start()
    start = time.monotonic()
    try:
        cursor.execute("SELECT BENCHMARK(100000000000, MD5('x'))")
        said = cursor.fetchall()
    except Exception as error:
        said = error.args[:2]
    timer.join()
    quick = time.monotonic() - start < 30
    cursor.execute("SELECT 'alive'")
    alive = cursor.fetchall()
    other.cursor().execute(f"KILL {number}")
    time.sleep(0.2)
    try:
        cursor.execute("SELECT 1")
        gone = False
    except Exception:
        gone = True
    return same, said, quick, alive, gone


def pymysql_alone():
    import pymysql
    from pymysql.constants import CLIENT

    def connect(**more):
        return pymysql.connect(**({"host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": DATABASE,
                                   "local_infile": True, "max_allowed_packet": 64 << 20} | more))

    conn = common(connect)
    cursor = conn.cursor()
    cursor.callproc(f"{TABLE}_p", (7,))
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    show("procedure", results)
    with conn.cursor(pymysql.cursors.SSCursor) as stream:
        stream.execute(f"SELECT a FROM {TABLE} WHERE a IS NOT NULL ORDER BY a")
        show("streamed", sum(row[0] for row in stream))
        stream.execute(f"SELECT a FROM {TABLE}")
        stream.fetchmany(3)
    several = connect(client_flag=CLIENT.MULTI_STATEMENTS)
    cursor = several.cursor()
    cursor.execute("SELECT 1; DO 2; SELECT 'three'")
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    show("several statements", results)
    several.select_db("information_schema")
    cursor.execute("SELECT DATABASE()")
    show("another database", cursor.fetchall())
    with connect(cursorclass=pymysql.cursors.DictCursor, charset="latin1") as named:
        with named.cursor() as cursor:
            cursor.execute("SELECT 'ä' AS umlaut, @@character_set_client AS client")
            show("by name", cursor.fetchall())
    show("version", conn.get_server_info())


def connector_alone():
    import mysql.connector

    # Not every package of it has the C library's side.
    for pure in [True, False] if mysql.connector.HAVE_CEXT else [True]:
        print(f"use_pure = {pure}")

        def connect(**more):
            return mysql.connector.connect(**({"host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": DATABASE,
                                               "allow_local_infile": True, "use_pure": pure, "ssl_disabled": True,
                                               "charset": "utf8mb4", "collation": "utf8mb4_general_ci"} | more))

        conn = common(connect)
        cursor = conn.cursor()
        cursor.callproc(f"{TABLE}_p", (7,))
        with warnings.catch_warnings(action="ignore"):
            show("procedure", [result.fetchall() for result in cursor.stored_results()])
        cursor.close()
        prepared = conn.cursor(prepared=True)
        for number in range(3):
            prepared.execute("SELECT ?, ?, ?", (number, f"text {number}", None))
            show("prepared", prepared.fetchall())
        prepared.close()
        conn.cmd_change_user(USER, PASSWORD, "information_schema")
        cursor = conn.cursor()
        cursor.execute("SELECT DATABASE(), @x")
        show("change user", cursor.fetchall())
        cursor.execute("SET @x = 1")
        conn.cmd_reset_connection()
        cursor.execute("SELECT @x")
        show("reset", cursor.fetchall())
        conn.start_transaction()
        show("in a transaction", conn.in_transaction)
        conn.commit()
        show("behind it", conn.in_transaction)
        show("version", conn.server_info)
        conn.close()


if DRIVER == "pymysql":
    pymysql_alone()
else:
    connector_alone()
print("the end")
