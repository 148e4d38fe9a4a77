// What node's mysql2 sees of a server: battery.js HOST PORT USER PASSWORD DATABASE.
//
// Prints a line for each thing that it looked at; nothing in them depends on the connection.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { Readable } = require('stream');
const mysql = require('mysql2/promise');

const [host, port, user, password, database] = process.argv.slice(2);
const TABLE = 'battery_mysql2';
const BIG = Buffer.alloc(20 << 20, 'b');

// mysql2 makes errors of what it has to warn of; only the errors of servers belong to what is compared.
process.removeAllListeners('warning');

function show(name, value) {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? 'undefined';
  console.log(`${name}: ${text.length > 300 ? `${text.length} characters, ${digest(text)}` : text}`);
}

const digest = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');

// A call that is to fail: the error's number, SQLSTATE and text.
async function attempt(name, call) {
  try {
    show(name, await call());
  } catch (error) {
    show(name, [error.code, error.errno, error.sqlState, error.sqlMessage]);
  }
}

const connect = (more = {}) =>
  mysql.createConnection({ host, port: Number(port), user, password, database, maxPreparedStatements: 100, ...more });

// By both protocols, text and binary.
async function types(conn) {
  const sql =
    "SELECT 1 a, -2.5 b, 1e10 c, NULL d, 'ü😀' e, x'00FF' f, DATE '2026-01-02' g, TIME '-10:11:12' h, " +
    "TIMESTAMP '2026-01-02 03:04:05.678901' i, 18446744073709551615 j, CAST('{\"a\": [1]}' AS CHAR) k";
  for (const way of ['query', 'execute']) {
    for (const more of [{}, { rowsAsArray: true }, { dateStrings: true, supportBigNumbers: true, bigNumberStrings: true }]) {
      const [rows, fields] = await conn[way]({ sql, ...more });
      show(`types by ${way}`, rows);
      show('columns', fields.map((field) => [field.name, field.columnType, field.flags, field.columnLength, field.characterSet]));
    }
  }
}

async function rows(conn) {
  await conn.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await conn.query(
    `CREATE TABLE ${TABLE} (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100), c LONGBLOB) CHARSET utf8mb4`
  );
  const values = Array.from({ length: 1000 }, (_, i) => [i, `row ${i}`]);
  const [inserted] = await conn.query(`INSERT INTO ${TABLE} (a, b) VALUES ?`, [values]);
  show('inserted', [inserted.affectedRows, inserted.insertId, inserted.info, inserted.warningStatus]);
  await conn.beginTransaction();
  const [updated] = await conn.execute(`UPDATE ${TABLE} SET a = a + ?`, [1]);
  show('updated', [updated.affectedRows, updated.changedRows, updated.info]);
  await conn.rollback();
  show('rolled back', (await conn.query(`SELECT CAST(SUM(a) AS CHAR) s FROM ${TABLE}`))[0]);
  show('no rows', (await conn.execute(`SELECT * FROM ${TABLE} WHERE id < ?`, [0]))[0]);
  const [big] = await conn.execute(`INSERT INTO ${TABLE} (c) VALUES (?)`, [BIG]);
  for (const way of ['query', 'execute']) {
    const [found] = await conn[way](`SELECT c FROM ${TABLE} WHERE id = ?`, [big.insertId]);
    show(`20 MiB by ${way}`, [found[0].c.length, digest(found[0].c) === digest(BIG)]);
    const [many] = await conn[way](`SELECT CONCAT(x.b, y.b) AS t FROM ${TABLE} x, ${TABLE} y WHERE x.a < 100 ORDER BY x.id, y.id`);
    show(`many rows by ${way}`, [many.length, digest(many.map((row) => row.t).join())]);
  }
  await statements(conn);
  return big.insertId;
}

async function statements(conn) {
  const statement = await conn.prepare(`SELECT ?, b FROM ${TABLE} WHERE a = ?`);
  for (const value of ['text', 7, null, new Date(Date.UTC(2026, 0, 2)), true]) {
    show('prepared', (await statement.execute([value, 5]))[0].map((row) => Object.values(row)));
  }
  await statement.close();
  for (let number = 0; number < 300; number++) await conn.execute(`SELECT ${number}`); // more than are kept
  const [[{ Value }]] = await conn.query("SHOW SESSION STATUS LIKE 'Com_stmt_close'");
  show('statements closed', Number(Value) > 100);
}

async function errors(conn) {
  for (const way of ['query', 'execute']) {
    await attempt('no table', () => conn[way]('SELECT * FROM nothing_there'));
    await attempt('no SQL', () => conn[way]('this is no SQL'));
    await attempt('twice', () => conn[way](`INSERT INTO ${TABLE} (id) VALUES (1)`));
    show('behind errors', (await conn[way]('SELECT 1'))[0]);
  }
  await attempt('a password that is wrong', () => connect({ password: 'wrong' }));
  // Where clients share connections, the first statement is what fails.
  await attempt('a database that is not there', async () => (await connect({ database: 'not_there' })).query('SELECT 1'));
}

async function results(conn) {
  const several = await connect({ multipleStatements: true });
  show('several statements', (await several.query("SELECT 1 a; DO 2; SELECT 'three' b, 4 c; SELECT * FROM nothing_there", []).catch(
    (error) => [error.errno, error.sqlMessage]
  )));
  show('several again', (await several.query("SELECT 1 a; DO 2; SELECT 'three' b, 4 c"))[0]);
  await several.end();
  await conn.query(`DROP PROCEDURE IF EXISTS ${TABLE}_p`);
  await conn.query(`CREATE PROCEDURE ${TABLE}_p(n INT) BEGIN SELECT n; SELECT n + 1, 'second'; END`);
  show('procedure', (await conn.query(`CALL ${TABLE}_p(7)`))[0]);
  show('procedure, prepared', (await conn.execute(`CALL ${TABLE}_p(?)`, [8]))[0]);
}

async function files(conn) {
  const lines = Array.from({ length: 2000 }, (_, i) => `${2000 + i}\tline ${i}\n`).join('');
  const sql = `LOAD DATA LOCAL INFILE 'any' INTO TABLE ${TABLE} (a, b)`;
  const [loaded] = await conn.query({ sql, infileStreamFactory: () => Readable.from([Buffer.from(lines.slice(0, 5)), Buffer.from(lines.slice(5))]) });
  show('loaded', [loaded.affectedRows, loaded.info]);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'battery-'));
  const missing = () => fs.createReadStream(path.join(folder, 'none'));
  await attempt('a file that is not there', async () => (await conn.query({ sql, infileStreamFactory: missing }))[0].affectedRows);
  fs.rmdirSync(folder);
  show('behind the files', (await conn.query(`SELECT COUNT(*) n FROM ${TABLE}`))[0]);
}

async function streamed(conn) {
  let sum = 0;
  const stream = conn.connection.query(`SELECT a FROM ${TABLE} WHERE a IS NOT NULL ORDER BY id`).stream({ highWaterMark: 3 });
  for await (const row of stream) sum += row.a;
  show('streamed', sum);
}

async function users(conn) {
  await conn.query('SET @x = 1');
  await conn.changeUser({ database: 'information_schema' });
  show('change user', (await conn.query('SELECT DATABASE() d, @x x'))[0]);
  await conn.changeUser({ database });
  await attempt('change to nobody', () => conn.changeUser({ user: 'nobody', password: 'x' }));
}

async function pooled() {
  const pool = mysql.createPool({ host, port: Number(port), user, password, database, connectionLimit: 4 });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.execute('SELECT ? AS i', [i])));
  show('pool', answers.map(([found]) => Number(found[0].i)).reduce((sum, i) => sum + i));
  await pool.end();
}

// KILL QUERY and KILL by the id that the client knows of itself.
async function killed() {
  const [conn, other] = [await connect(), await connect()];
  const [[{ id }]] = await conn.query('SELECT CONNECTION_ID() id');
  show('its id', id === conn.threadId);
  const timer = setTimeout(() => other.query(`KILL QUERY ${id}`), 500);
  await attempt('kill of a query', async () => (await conn.query("SELECT BENCHMARK(100000000000, MD5('x')) b"))[0]);
  clearTimeout(timer);
  show('alive', (await conn.query("SELECT 'alive' a"))[0]);
  conn.on('error', () => {});
  await other.query(`KILL ${id}`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const gone = await conn.query('SELECT 1').then(() => false, () => true);
  show('gone', gone);
  conn.destroy();
  await other.end();
}

async function main() {
  const conn = await connect();
  show('version', conn.connection._handshakePacket.serverVersion);
  await types(conn);
  await rows(conn);
  await errors(conn);
  await results(conn);
  await files(conn);
  await streamed(conn);
  await conn.ping();
  await pooled();
  await killed();
  await users(await connect());
  const compressed = await connect({ compress: true });
  show('compress', (await compressed.query(`SELECT id, a, b FROM ${TABLE} ORDER BY id`))[0].length);
  await compressed.end();
  await conn.query(`DROP TABLE ${TABLE}`);
  await conn.end();
  console.log('the end');
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
