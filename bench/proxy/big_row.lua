-- One row of 90,000 bytes by its key.
function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT id, a FROM proxy_big WHERE id = " .. sysbench.rand.uniform(1, 64))
end

function thread_done()
  connection:disconnect()
end
