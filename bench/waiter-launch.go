// Measures the time from exec to a program's first connection, for bench/waiter.ts. Node itself takes a millisecond to
// spawn a process, which would hide the difference.
//
//	waiter-launch ROUNDS FLOOR WAITER
//
// prints {"floor":[ms,…],"waiter":[ms,…]}, the two programs run in turns.
package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	check(err)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	address := server.Addr().String()
	times := map[string][]float64{}
	for range rounds {
		for name, args := range map[string][]string{
			"floor":  {os.Args[2], address},
			"waiter": {os.Args[3], "--spec", `{"v":1,"checks":[{"container":"envoy","check":"http://` + address + `/ready","timeout":"10s","onTimeout":"fail"}]}`},
		} {
			start := time.Now()
			process, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{nil, os.Stderr, os.Stderr}})
			check(err)
			conn, err := server.Accept()
			check(err)
			times[name] = append(times[name], float64(time.Since(start).Microseconds())/1000)
			if name == "waiter" {
				conn.Read(make([]byte, 1024))
				io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			}
			conn.Close()
			state, err := process.Wait()
			check(err)
			if !state.Success() {
				panic(name + ": " + state.String())
			}
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(times))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
