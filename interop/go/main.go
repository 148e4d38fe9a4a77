// What Go's go-sql-driver sees of a server: go-driver HOST PORT USER PASSWORD DATABASE.
//
// Prints a line for each thing that it looked at; nothing in them depends on the connection.
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

var arguments = os.Args[1:]

func show(name string, value any) {
	text := fmt.Sprintf("%v", value)
	if len(text) > 300 {
		text = fmt.Sprintf("%d bytes, %x", len(text), sha256.Sum256([]byte(text)))
	}
	fmt.Printf("%s: %s\n", name, text)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open(change func(*mysql.Config)) *sql.DB {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", arguments[0]+":"+arguments[1]
	config.User, config.Passwd, config.DBName = arguments[2], arguments[3], arguments[4]
	config.MaxAllowedPacket = 64 << 20
	change(config)
	connector, err := mysql.NewConnector(config)
	must(err)
	return sql.OpenDB(connector)
}

func all(db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, values ...any) string {
	rows, err := db.QueryContext(context.Background(), query, values...)
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	var out strings.Builder
	for more := true; more; more = rows.NextResultSet() {
		columns, err := rows.Columns()
		must(err)
		out.WriteString(fmt.Sprint(columns))
		for rows.Next() {
			row, places := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
			for i := range row {
				places[i] = &row[i]
			}
			must(rows.Scan(places...))
			for _, value := range row {
				fmt.Fprintf(&out, " %q,%t", []byte(value), value == nil)
			}
		}
	}
	if err := rows.Err(); err != nil {
		out.WriteString(failure(err))
	}
	return out.String()
}

func failure(err error) string {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return fmt.Sprintf("error %d %s %s", server.Number, server.SQLState, server.Message)
	}
	return err.Error()
}

func main() {
	for _, interpolates := range []bool{false, true} {
		fmt.Println("InterpolateParams =", interpolates)
		battery(interpolates)
	}
	fmt.Println("the end")
}

func battery(interpolates bool) {
	db := open(func(config *mysql.Config) {
		config.InterpolateParams, config.MultiStatements, config.ParseTime = interpolates, true, false
	})
	defer db.Close()
	run := func(query string, values ...any) {
		result, err := db.Exec(query, values...)
		if err != nil {
			show("error", failure(err))
			return
		}
		changed, _ := result.RowsAffected()
		last, _ := result.LastInsertId()
		show("done", []int64{changed, last})
	}
	run("DROP TABLE IF EXISTS battery_go")
	run("CREATE TABLE battery_go (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100), c LONGBLOB) CHARSET utf8mb4")
	show("types", all(db, "SELECT ?, ?, ?, ?, ?, DATE '2026-01-02', TIME '-10:11:12', TIMESTAMP '2026-01-02 03:04:05.678901'",
		1, -2.5, "ü😀", []byte{0, 255}, nil))
	run("INSERT INTO battery_go (a, b) VALUES (?, ?), (?, ?)", 1, "one", 2, nil)
	show("rows", all(db, "SELECT * FROM battery_go WHERE a > ? ORDER BY id", 0))
	show("several statements", all(db, "SELECT 1; SELECT 2, 3; SELECT 'four'"))
	run("SELECT * FROM nothing_there")
	run("INSERT INTO battery_go (id) VALUES (1)")
	show("no SQL", all(db, "this is no SQL"))
	big := []byte(strings.Repeat("b", 20<<20))
	run("INSERT INTO battery_go (c) VALUES (?)", big)
	show("20 MiB", all(db, "SELECT c FROM battery_go WHERE c IS NOT NULL"))
	statement, err := db.Prepare("SELECT a FROM battery_go WHERE id = ?")
	must(err)
	for id := 1; id <= 3; id++ {
		var a sql.NullInt64
		show("prepared", []any{statement.QueryRow(id).Scan(&a), a})
	}
	must(statement.Close())
	transaction, err := db.Begin()
	must(err)
	_, err = transaction.Exec("DELETE FROM battery_go")
	must(err)
	show("in it", all(transaction, "SELECT COUNT(*) FROM battery_go"))
	must(transaction.Rollback())
	show("rolled back", all(db, "SELECT COUNT(*) FROM battery_go"))
	mysql.RegisterReaderHandler("lines", func() io.Reader { return strings.NewReader(strings.Repeat("7\tline\n", 100000)) })
	run("LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE battery_go (a, b)")
	run("LOAD DATA LOCAL INFILE '/not/allowed' INTO TABLE battery_go")
	show("behind the files", all(db, "SELECT COUNT(*), SUM(a) FROM battery_go"))
	cancelled, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	_, err = db.ExecContext(cancelled, "SELECT SLEEP(30)")
	cancel()
	show("cancelled", err)
	show("behind it", all(db, "SELECT 'alive'"))
	half, err := db.Query("SELECT REPEAT('h', 100000) FROM battery_go LIMIT 1000")
	must(err)
	half.Next()
	must(half.Close())
	show("behind a half", all(db, "SELECT 'alive'"))
	many(db)
	wrong := open(func(config *mysql.Config) { config.Passwd = "wrong" })
	show("a password that is wrong", failure(wrong.Ping()))
	compressed := open(func(config *mysql.Config) { must(config.Apply(mysql.EnableCompression(true))) })
	show("compression asked for", all(compressed, "SELECT REPEAT('c', 1000)"))
}

// Connections of many goroutines, each with its own answers.
func many(db *sql.DB) {
	db.SetMaxOpenConns(20)
	var group sync.WaitGroup
	var lock sync.Mutex
	wrong := 0
	for worker := 0; worker < 40; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 50; i++ {
				var got int
				err := db.QueryRow("SELECT ? + ?", worker, i*1000).Scan(&got)
				if err != nil || got != worker+i*1000 {
					lock.Lock()
					wrong++
					lock.Unlock()
				}
			}
		}()
	}
	group.Wait()
	show("wrong answers of 2,000", wrong)
}
