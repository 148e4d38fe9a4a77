-- Transfers between accounts by sysbench, and a line for all that fails and for all that was committed.
--
-- Each transfer leaves a line in the table `ledger`, so what a client was told can be held against what the server has. An
-- error ends the connection, whichever it is, and the transfer begins anew on another one: as it does in applications.

local ffi = require("ffi")

ffi.cdef("int usleep(unsigned int);")

sysbench.cmdline.options = {
   folder = {"Where each thread writes its lines", "."},
   first = {"Number of the first thread", 0},
   accounts = {"Number of accounts", 100},
   reconnect_after = {"Transfers after which a thread connects anew, 0: never", 0},
   patience = {"Seconds until a thread gives up that can't connect", 60}
}

-- All are told to the caller, which writes them down.
function sysbench.hooks.sql_error_ignorable()
   return true
end

local number, log, driver, con, statements, backend, step
local attempts, committed, sum, since = 0, 0, 0, 0

local SQL = {
   read = "SELECT balance FROM accounts WHERE id BETWEEN ? AND ? + 20",
   begin = "BEGIN",
   note = "INSERT INTO ledger (client, number) VALUES (?, ?)",
   take = "UPDATE accounts SET balance = balance - 1 WHERE id = ?",
   give = "UPDATE accounts SET balance = balance + 1 WHERE id = ?",
   commit = "COMMIT"
}

function thread_init()
   number = sysbench.opt.first + sysbench.tid
   log = assert(io.open(("%s/client-%d"):format(sysbench.opt.folder, number), "w"))
   driver = sysbench.sql.driver()
   connect()
end

function thread_done()
   log:write(("committed %d %d\n"):format(committed, sum))
   log:close()
   disconnect()
end

function event()
   if sysbench.opt.reconnect_after > 0 and since >= sysbench.opt.reconnect_after then
      disconnect()
      connect()
   end
   local is_done, failure = pcall(transfer)
   if not is_done then
      note(failure)
      disconnect()
      connect()
   end
end

function transfer()
   attempts = attempts + 1
   local from = sysbench.rand.uniform(1, sysbench.opt.accounts - 1)
   run("read", from, from)
   run("begin")
   run("note", number, attempts)
   -- In the order of the accounts, so that two transfers don't wait for each other.
   run("take", from)
   run("give", from + 1)
   run("read", from, from)
   run("commit")
   step = "idle"
   committed, sum, since = committed + 1, sum + attempts, since + 1
end

function run(name, ...)
   -- The second read is in the transaction.
   step = (name == "read" and step == "give") and "read again" or name
   local statement = statements[name]
   for place, value in ipairs({...}) do
      statement.parameters[place]:set(value)
   end
   statement.prepared:execute()
end

-- Tries until it succeeds: where the proxy is started anew nobody listens for a moment. Why it did not sysbench itself prints.
function connect()
   local deadline = os.time() + sysbench.opt.patience
   backend = "none"
   while true do
      step = "connect"
      local is_there, failure = pcall(open)
      if is_there then
         return
      end
      if type(failure) == "table" then
         note(failure)
      end
      if os.time() > deadline then
         log:write("gave up\n")
         error(failure)
      end
      disconnect()
      ffi.C.usleep(20000)
   end
end

function open()
   con = driver:connect()
   since = 0
   step = "ask"
   -- Over a Unix socket the server knows of no port.
   backend = con:query_row("SELECT IF(LOCATE(':', HOST), 'tcp', 'socket') FROM information_schema.PROCESSLIST " ..
      "WHERE ID = CONNECTION_ID()")
   step = "prepare"
   statements = {}
   for name, sql in pairs(SQL) do
      local statement = {prepared = con:prepare(sql), parameters = {}}
      for place = 1, select(2, sql:gsub("?", "")) do
         statement.parameters[place] = statement.prepared:bind_create(sysbench.sql.type.INT)
      end
      if #statement.parameters > 0 then
         statement.prepared:bind_param(unpack(statement.parameters))
      end
      statements[name] = statement
   end
end

function disconnect()
   for _, statement in pairs(statements or {}) do
      pcall(statement.prepared.close, statement.prepared)
   end
   statements = nil
   if con then
      pcall(con.disconnect, con)
   end
   con = nil
end

function note(failure)
   if type(failure) ~= "table" then
      log:write(("broken %s\n"):format(tostring(failure)))
      error(failure)
   end
   log:write(("failed\t%s\t%s\t%d\t%s\n"):format(step, backend, failure.sql_errno, failure.sql_errmsg))
end
