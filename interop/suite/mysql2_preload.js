// Loaded by node before one of mysql2's tests, which know nothing of TLS: connections to the server under test use it.
'use strict';

if (process.env.INTEROP_TLS === '1') {
  const driver = require(require('path').join(process.cwd(), '../index.js'));
  for (const name of ['createConnection', 'createPool']) {
    const make = driver[name];
    const own = (options) => typeof options === 'object' && options.user === process.env.MYSQL_USER;
    const changed = (options) => (own(options) ? { ssl: { rejectUnauthorized: false }, ...options } : options);
    Object.defineProperty(driver, name, { value: (options, ...more) => make(changed(options), ...more) });
  }
}
