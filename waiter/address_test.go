package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestTCPListensLate(t *testing.T) {
	port := freePort(t)
	g := opensLate(func() {
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			t.Cleanup(func() { l.Close() })
		}
	})
	g.wantBefore(t, waitFor(t, check1("tcp://:"+port, nil)))
}

func TestUnixListensLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	g := opensLate(func() {
		if l, err := net.Listen("unix", path); err == nil {
			t.Cleanup(func() { l.Close() })
		}
	})
	g.wantBefore(t, waitFor(t, check1("unix://"+path, nil)))
}

func TestUnixNobodyListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, "unix", path).(*net.UnixListener)
	l.SetUnlinkOnClose(false)
	l.Close()
	waitFor(t, check1("unix://"+path, m{"timeout": "1s"})).want(t, exitNotReady, "connection refused")
}

func TestFileAppearsLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b\n'\"")
	g := opensLate(func() { os.WriteFile(path, nil, 0) })
	g.wantBefore(t, waitFor(t, check1("file://"+path, nil)))
	waitFor(t, check1("file://"+path+"c", m{"timeout": "100ms"})).want(t, exitNotReady, "no such file")
}

func listen6(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:"+freePort(t))
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Skip("this machine has no ::1")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return portOf(l)
}

func TestIPv6Loopback(t *testing.T) {
	port := listen6(t)
	waitFor(t, check1("tcp://[::1]:"+port, nil)).want(t, exitReady)
	waitFor(t, check1("tcp://:"+port, nil)).want(t, exitReady)
	waitFor(t, check1("tcp://127.0.0.1:"+port, m{"timeout": "100ms"})).want(t, exitNotReady, "connection refused")
}

func TestOwnAddress(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, address := range all {
		if n, ok := address.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			l := listen(t, "tcp", net.JoinHostPort(n.IP.String(), "0"))
			waitFor(t, check1("tcp://:"+portOf(l), m{"timeout": "2s"})).want(t, exitReady)
			tried++
		}
	}
	if tried == 0 {
		t.Skip("this machine has no address but loopback")
	}
}

// 127.0.0.1 takes connections and says nothing; the sidecar listens on another address.
func TestAHangingAddressDoesNotHideTheNext(t *testing.T) {
	calls := make(chan string, 10)
	hang := func(ctx context.Context, host string) error {
		calls <- host
		if host == "127.0.0.1" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	if err := onEachAddress(ctx, "", 100*time.Millisecond, hang); err != nil {
		t.Fatal(err)
	}
	if first, second := <-calls, <-calls; first != "127.0.0.1" || second != "::1" {
		t.Error(first, second)
	}
}

func TestTheErrorThatSaysMost(t *testing.T) {
	port := rawServer(t, func(c net.Conn) { readRequest(c); io.WriteString(c, "HTTP/1.1 503 x\r\n\r\n") })
	waitFor(t, check1("http://:"+listen6HTTP(t), m{"timeout": "1s"})).want(t, exitNotReady, "answered 404")
	// ::1 and the machine's own addresses refuse after 127.0.0.1 has answered.
	waitFor(t, check1("http://:"+port, m{"timeout": "1s"})).want(t, exitNotReady, "answered 503")
	waitFor(t, check1("http://:"+freePort(t), m{"timeout": "1s"})).want(t, exitNotReady, "connection refused")
	waitFor(t, check1("tcp://no-such-name.invalid:1", m{"timeout": "1s"})).want(t, exitNotReady, "no-such-name.invalid")
}

// A last attempt that the end cuts short must not hide what was wrong.
func TestTheLastAttemptCutShort(t *testing.T) {
	first := true
	port := rawServer(t, func(c net.Conn) {
		readRequest(c)
		if first {
			first = false
			io.WriteString(c, "HTTP/1.1 418 x\r\n\r\n")
			return
		}
		io.Copy(io.Discard, c)
	})
	waitFor(t, check1("http://127.0.0.1:"+port, m{"timeout": "1s", "attemptTimeout": "5s"})).want(t, exitNotReady, "answered 418")
}

// The name isn't looked up: an address that no resolver could find is dialled at once, on either loopback.
func TestLocalhostIsTheLoopback(t *testing.T) {
	port := rawServer(t, func(c net.Conn) { readRequest(c); io.WriteString(c, "HTTP/1.1 200 x\r\n\r\n") })
	waitFor(t, check1("http://localhost:"+port, nil)).want(t, exitReady)
	waitFor(t, check1("tcp://localhost:"+listen6HTTP(t), nil)).want(t, exitReady)
	_, err := dial(t.Context(), "tcp", "localhost:"+freePort(t))
	var refused *net.OpError
	if !errors.As(err, &refused) || refused.Addr.String()[:5] != "[::1]" {
		t.Error(err)
	}
}
