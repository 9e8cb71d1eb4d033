// entrypoint is a sidecar for tests. It prints `started <unix ms>` and `ready <unix ms>`, and says in every way a probe
// can ask whether it is ready yet.
//
//	entrypoint            serves, as the environment says:
//	  READY_AFTER=3s        ready that long after its start (default: at once); NEVER_READY=1: never
//	  READY_WHEN            and not before these files exist, with spaces between them
//	  STARTED               a file that exists from its start
//	  EXIT_AFTER=5s         ends then, with code 1
//	  HTTP, HTTPS           an address, or several; /ready, /slow, /redirect, /redirect-loop, /elsewhere, /header (X-Probe: yes), /host
//	  PATHS                 further paths that answer as /ready does, with spaces between them
//	  ALIVE                 a path that answers so from the start
//	  AFTER_APP             a path that answers so once an app listens, too, and its port
//	  TCP                   an address that listens once it is ready; UNIX the same for a socket's path
//	  GRPC                  an address for grpc.health.v1 (h2c); knows the services "" and "sidecar"
//	  FILE                  paths that exist once it is ready
//	  LINGER=5s             goes on that long after SIGTERM; IGNORES: for good. It prints `SIGTERM <unix ms>` and, at last, `ended <unix ms>`
//	  DRAIN                 a URL that it asks after SIGTERM, and for how long: it prints `answered N` and `failed N`
//	  AGENT                 an address that answers for other containers, as Istio's agent does (see agent.go)
//	entrypoint wait       ends when the one that serves HTTP in this container is ready
//	entrypoint check      exits 0 if it is ready now
//	entrypoint mark TEXT  prints `TEXT <unix ms>` into the container's log; for hooks
//
// Called by another name, it stands in for the program of that name (see known.go).
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ready is what every server here answers by.
var ready atomic.Bool

func main() {
	log.SetFlags(0)
	command := "serve"
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	if program, yes := standsFor(); yes {
		switch {
		case program == "linkerd-await":
			command = "wait"
			os.Setenv("HTTP", ":4191")
		case command == "wait":
			after("HTTP", ":15021")
		default:
			standFor(program, os.Args[1:])
			command = "serve"
		}
	}
	switch command {
	case "serve":
		serve()
	case "wait":
		for deadline := time.Now().Add(time.Minute); !isReady(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				log.Fatal("not ready within a minute")
			}
		}
	case "check":
		if !isReady() {
			log.Fatal("not ready")
		}
	case "mark":
		out, err := os.OpenFile("/proc/1/fd/1", os.O_WRONLY, 0)
		must(err)
		fmt.Fprintf(out, "%s %d\n", os.Args[2], time.Now().UnixMilli())
	default:
		log.Fatalf("there is no command %q", command)
	}
}

func serve() {
	// As a pod's first process it is asked to end, and would not by default.
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	mark("started")
	if path := os.Getenv("STARTED"); path != "" {
		must(os.WriteFile(path, nil, 0o644))
	}
	for name, start := range map[string]func(address string){
		"HTTP": serveHTTP, "HTTPS": serveHTTPS, "GRPC": serveGRPC, "AGENT": serveAgent,
	} {
		if address := os.Getenv(name); address != "" {
			start(address)
		}
	}
	if os.Getenv("NEVER_READY") == "" {
		time.AfterFunc(duration("READY_AFTER", 0), func() {
			for _, path := range strings.Fields(os.Getenv("READY_WHEN")) {
				awaitFile(path)
			}
			becomeReady()
		})
	}
	var end <-chan time.Time
	if after := duration("EXIT_AFTER", 0); after > 0 {
		end = time.After(after)
	}
	for {
		select {
		case <-told:
			if os.Getenv("IGNORES") == "" {
				endSlowly()
				return
			}
			mark("SIGTERM")
		case <-end:
			os.Exit(1)
		}
	}
}

func becomeReady() {
	// Printed before anybody can see it: what follows from it is always later.
	mark("ready")
	ready.Store(true)
	if address := os.Getenv("TCP"); address != "" {
		accept(net.Listen("tcp", address))
	}
	if path := os.Getenv("UNIX"); path != "" {
		accept(net.Listen("unix", path))
	}
	for _, path := range strings.Fields(os.Getenv("FILE")) {
		must(os.WriteFile(path, nil, 0o644))
	}
}

func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isReady() bool {
	first, _, _ := strings.Cut(os.Getenv("HTTP"), " ")
	_, port, err := net.SplitHostPort(first)
	must(err)
	response, err := (&http.Client{Timeout: time.Second}).Get("http://127.0.0.1:" + port + "/ready")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func mark(what string) { fmt.Println(what, time.Now().UnixMilli()) }

func duration(name string, otherwise time.Duration) time.Duration {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := time.ParseDuration(text)
	must(err)
	return value
}

func accept(listener net.Listener, err error) {
	must(err)
	go func() {
		for {
			connection, err := listener.Accept()
			must(err)
			connection.Close()
		}
	}()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
