package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func runBefore(t *testing.T, before m, checks ...m) result {
	t.Helper()
	return run1(t, "--spec", specOf(t, m{"before": before}, checks...))
}

func hookCommand(script string, args ...string) m {
	return m{"exec": append([]string{"sh", "-c", script, "sh"}, args...)}
}

// The check may only be asked when the hook is over, and its time counts from there.
func TestBeforeRunsFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "done")
	var early atomic.Bool
	port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(path); err != nil {
			early.Store(true)
		}
	})
	runBefore(t, hookCommand(`sleep 1.5; : >"$1"`, path), check1("http://:"+port, m{"timeout": "1s"})).want(t, exitReady)
	if early.Load() {
		t.Error("it asked before the hook was over")
	}
}

func TestBeforeExecFails(t *testing.T) {
	asked := false
	port := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	r := runBefore(t, hookCommand("seq 10000; echo 'no such vault' >&2; exit 7"), check1("http://:"+port, nil))
	r.want(t, exitNotReady, `exec:["sh"`, "exit code 7: ", "no such vault\n")
	if asked {
		t.Error("it waited after all")
	}
	runBefore(t, m{"exec": []string{"/nope"}}).want(t, exitNotReady, "no such file")
}

func TestBeforeAlone(t *testing.T) {
	runBefore(t, hookCommand("exit 0")).want(t, exitReady)
	runBefore(t, m{"sleep": m{"seconds": 0}}).want(t, exitReady)
}

func TestBeforeSleep(t *testing.T) {
	started := time.Now()
	if runBefore(t, m{"sleep": m{"seconds": 1}}).want(t, exitReady); time.Since(started) < time.Second {
		t.Error("it didn't sleep")
	}
	cmd, end := start(t, "--spec", specOf(t, m{"before": m{"sleep": m{"seconds": 1000}}}))
	time.AfterFunc(200*time.Millisecond, func() { cmd.Process.Signal(syscall.SIGTERM) })
	end().want(t, exitNotReady, "ended by a signal", "sleep of 1000s")
}

func httpGet(port string, more m) m {
	n, _ := strconv.Atoi(port)
	get := m{"port": n}
	for k, v := range more {
		get[k] = v
	}
	return m{"httpGet": get}
}

func TestBeforeHTTPGet(t *testing.T) {
	requests := make(chan string, 10)
	port := rawServer(t, func(c net.Conn) {
		requests <- readRequest(c)
		io.WriteString(c, "HTTP/1.1 500 any answer will do\r\n\r\n")
	})
	runBefore(t, httpGet(port, m{"path": "init", "httpHeaders": []m{{"name": "X-A", "value": "b"}}})).want(t, exitReady)
	if got := <-requests; !strings.HasPrefix(got, "GET /init HTTP/1.1\r\n") || !strings.Contains(got, "\r\nX-A: b\r\n") ||
		!strings.Contains(got, "\r\nUser-Agent: kube-lifecycle/") {
		t.Errorf("sent %q", got)
	}
	if len(requests) != 0 {
		t.Error("it asked more than once")
	}
	runBefore(t, httpGet(listen6HTTP(t), m{"host": "::1"})).want(t, exitReady)
	runBefore(t, httpGet(listen6HTTP(t), nil)).want(t, exitReady)
	runBefore(t, httpGet(freePort(t), nil)).want(t, exitNotReady, "httpGet http://:", "connection refused")
}

func listen6HTTP(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no ::1")
	}
	t.Cleanup(func() { l.Close() })
	go http.Serve(l, http.NotFoundHandler())
	return portOf(l)
}

// A request that got through once isn't sent again, to another address or at all.
func TestBeforeHTTPGetAsksOnce(t *testing.T) {
	var asked atomic.Int32
	port := rawServer(t, func(c net.Conn) { asked.Add(1); readRequest(c); c.(*net.TCPConn).SetLinger(0) })
	l, err := net.Listen("tcp6", "[::1]:"+port)
	if err != nil {
		t.Skip("this machine has no ::1: ", err)
	}
	t.Cleanup(func() { l.Close() })
	go http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	runBefore(t, httpGet(port, nil)).want(t, exitNotReady, "connection reset")
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestBeforeHTTPS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	runBefore(t, httpGet(portOf(s.Listener), m{"scheme": "HTTPS"})).want(t, exitReady)

	var secret atomic.Bool
	port := serve(t, func(w http.ResponseWriter, r *http.Request) { secret.Store(r.Header.Get("Authorization") != "") })
	runBefore(t, httpGet(port, m{"scheme": "HTTPS", "httpHeaders": []m{{"name": "authorization", "value": "x"}}})).want(t, exitReady)
	if secret.Load() {
		t.Error("credentials were sent without TLS")
	}
}
