-- 10,000 rows of 120 bytes.
function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT c FROM sbtest1 LIMIT 10000")
end

function thread_done()
  connection:disconnect()
end
