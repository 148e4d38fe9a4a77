-- A connection, one small query, and its end.
function thread_init()
  driver = sysbench.sql.driver()
end

function event()
  local connection = driver:connect()
  connection:query("SELECT 1")
  connection:disconnect()
end
