// Values of any size both ways, by Go's go-sql-driver: go-large [--ca FILE] [--compress] HOST PORT USER PASSWORD DATABASE BYTES...
//
// Prints a line for each value and way: what the server makes of it, whether it came back as it was sent. The server keeps it
// in a variable, so nothing but the way there and back is tried.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

const lineBytes = 1000

var (
	authority = flag.String("ca", "", "")
	compress  = flag.Bool("compress", false, "")
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// One connection; long data goes in pieces of packetBytes, and shorter values within the command.
func connect(packetBytes int) *sql.Conn {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", flag.Arg(0)+":"+flag.Arg(1)
	config.User, config.Passwd, config.DBName = flag.Arg(2), flag.Arg(3), flag.Arg(4)
	config.MaxAllowedPacket = packetBytes
	if *authority != "" {
		pem, err := os.ReadFile(*authority)
		must(err)
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			must(fmt.Errorf("%s is no certificate", *authority))
		}
		must(mysql.RegisterTLSConfig("authority", &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}))
		config.TLSConfig = "authority"
	}
	must(config.Apply(mysql.EnableCompression(*compress)))
	connector, err := mysql.NewConnector(config)
	must(err)
	conn, err := sql.OpenDB(connector).Conn(context.Background())
	must(err)
	return conn
}

// Letters, so that the text of a query is as long as the value; and no two places alike.
func letters(value []byte) {
	state := uint64(0x9E3779B97F4A7C15)
	for i := range value {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		value[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[state>>58]
	}
}

func main() {
	flag.Parse()
	whole, pieces := connect(1<<30), connect(1<<24)
	exec(whole, "CREATE TABLE IF NOT EXISTS large_lines (length INT, sum BIGINT)")
	for _, word := range flag.Args()[5:] {
		bytes, err := strconv.Atoi(word)
		must(err)
		value := make([]byte, bytes)
		letters(value)
		said := fmt.Sprintf("%d %x", bytes, sha256.Sum256(value))
		text(whole, value, said)
		prepared("execute", whole, value, said)
		prepared("long data", pieces, value, said)
		value = nil
		debug.FreeOSMemory()
		load(whole, bytes)
	}
	fmt.Println("the end")
}

// A query of text there, a text row back.
func text(conn *sql.Conn, value []byte, said string) {
	query := make([]byte, 0, len(value)+16)
	query = append(append(append(query, "SET @large = '"...), value...), '\'')
	exec(conn, string(query))
	tell("query", conn, said)
	rows, err := conn.QueryContext(context.Background(), "SELECT @large")
	must(err)
	back("text row", rows, said)
	exec(conn, "SET @large = NULL")
}

// A parameter there, a binary row back.
func prepared(how string, conn *sql.Conn, value []byte, said string) {
	statement, err := conn.PrepareContext(context.Background(), "SET @large = ?")
	must(err)
	_, err = statement.Exec(value)
	must(err)
	must(statement.Close())
	tell(how, conn, said)
	statement, err = conn.PrepareContext(context.Background(), "SELECT @large")
	must(err)
	rows, err := statement.Query()
	must(err)
	back("binary row", rows, said)
	must(statement.Close())
	exec(conn, "SET @large = NULL")
}

// Lines of a file that is as long as a value.
func load(conn *sql.Conn, bytes int) {
	lines := bytes / lineBytes
	sum, line := uint64(0), make([]byte, lineBytes)
	letters(line)
	number := func(i int) {
		copy(line, fmt.Sprintf("%010d", i))
		line[lineBytes-1] = '\n'
	}
	for i := 0; i < lines; i++ {
		number(i)
		sum += uint64(crc32.ChecksumIEEE(line[:lineBytes-1]))
	}
	next, rest := 0, []byte{}
	mysql.RegisterReaderHandler("large", func() io.Reader {
		return reader(func(target []byte) (int, error) {
			if len(rest) == 0 {
				if next == lines {
					return 0, io.EOF
				}
				number(next)
				next, rest = next+1, line
			}
			n := copy(target, rest)
			rest = rest[n:]
			return n, nil
		})
	})
	exec(conn, "DELETE FROM large_lines")
	exec(conn, "LOAD DATA LOCAL INFILE 'Reader::large' INTO TABLE large_lines (@line) SET length = LENGTH(@line), sum = CRC32(@line)")
	var count, length, crc uint64
	row := conn.QueryRowContext(context.Background(), "SELECT COUNT(*), COALESCE(SUM(length), 0), COALESCE(SUM(sum), 0) FROM large_lines")
	must(row.Scan(&count, &length, &crc))
	fmt.Println("load data local", bytes, count == uint64(lines), length == uint64(lines)*(lineBytes-1), crc == sum)
}

type reader func([]byte) (int, error)

func (read reader) Read(target []byte) (int, error) { return read(target) }

func exec(conn *sql.Conn, query string) {
	_, err := conn.ExecContext(context.Background(), query)
	must(err)
}

// What the server has.
func tell(how string, conn *sql.Conn, said string) {
	var seen string
	row := conn.QueryRowContext(context.Background(), "SELECT CONCAT(LENGTH(@large), ' ', SHA2(@large, 256))")
	must(row.Scan(&seen))
	fmt.Println(how, said, seen == said)
}

// What came back.
func back(how string, rows *sql.Rows, said string) {
	for rows.Next() {
		var value sql.RawBytes
		must(rows.Scan(&value))
		fmt.Println(how, said, fmt.Sprintf("%d %x", len(value), sha256.Sum256(value)) == said)
	}
	must(rows.Err())
	must(rows.Close())
}
