// The floor that bench/waiter.ts compares the waiter with: a minimal Go program that connects to a server.
package main

import (
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	conn.Close()
}
