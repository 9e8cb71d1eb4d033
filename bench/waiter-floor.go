// The floor that bench/waiter.ts holds the waiter against: the least Go program that reaches a server.
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
