package main

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A leased is a lock whose opens are answered, on a tmpfs, and its sidecar.
type leased struct {
	gated
	port  string
	ready atomic.Bool
	asked atomic.Int64
}

func newLeased(t *testing.T) *leased {
	g := newGated(t)
	dir, err := os.MkdirTemp("/dev/shm", "lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g.dir, g.file = dir, filepath.Join(dir, "ready-1")
	l := &leased{gated: g}
	l.port = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		l.asked.Add(1)
		if !l.ready.Load() {
			w.WriteHeader(503)
		}
	})
	return l
}

func (l *leased) check(more m) m { return check1("http://127.0.0.1:"+l.port+"/", more) }

// runs runs the hook, which ends at once, and leaves the process that answers.
func (l *leased) runs(more m, checks ...m) {
	l.t.Helper()
	if checks == nil {
		checks = []m{l.check(m{"timeout": "1m"})}
	}
	lock := m{"handOver": "30s", "restarts": "1s"}
	for k, v := range more {
		lock[k] = v
	}
	run1(l.t, "--spec", l.spec(lock, checks...)).want(l.t, exitReady)
	l.t.Cleanup(func() {
		if pid := l.detached(); pid != 0 {
			syscall.Kill(pid, syscall.SIGKILL)
			l.ends()
		}
	})
}

// opens1 opens the file as the kubelet does, and sends what it reads.
func (l *leased) opens1() <-chan string {
	read := make(chan string, 1)
	go func() {
		content, err := os.ReadFile(l.file)
		if err != nil {
			content = []byte(err.Error())
		}
		read <- string(content)
	}()
	return read
}

func TestAnOpenSleepsUntilTheCheckHolds(t *testing.T) {
	l := newLeased(t)
	l.runs(nil)
	why1(t, l.dir, exitNotReady, "tier 1: held since ")
	read := l.opens1()
	time.Sleep(500 * time.Millisecond)
	select {
	case got := <-read:
		t.Fatalf("it read %q", got)
	default:
	}
	l.ready.Store(true)
	if got := <-read; got != opened {
		t.Errorf("it read %q", got)
	}
}
