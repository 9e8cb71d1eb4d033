package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the next tier's sidecar was granted is no start of an app: the app's first one waits for both.
func TestAGrantForTheNextTier(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	l.gated.ready()
	l.runs(m{"handOver": "0s", "restarts": "0s"}, l.gated.check(nil))
	l.wantSoon("the next tier's sidecar", opened, l.opens1())
	next := leased{gated: l.gated}
	next.file = filepath.Join(l.dir, "ready-2")
	run1(t, "--spec", next.spec(m{"handOver": "0s", "restarts": "0s", "key": "SIDECAR_FIRST_READY_2"}, l.check(nil))).want(t, exitReady)
	t.Cleanup(func() { l.signal(syscall.SIGKILL) })
	os.Remove(l.up)
	time.Sleep(2 * resultLasts)
	// The kubelet asks the latest tier first.
	l.wantSoon("the app, of the second tier", strings.ReplaceAll(opened, "1", "2"), next.opens1())
	first := l.opens1()
	l.sleeps(first)
	l.gated.ready()
	l.wantSoon("the app, of the first tier", opened, first)
	os.Remove(l.up)
	time.Sleep(2 * resultLasts)
	l.wantSoon("the app that starts again", opened, l.opens1())
}

// Who comes while the checks are asked once more, after the swap, sleeps a round of its own and no longer.
func TestWhoComesAfterTheSwap(t *testing.T) {
	l := newLeased(t)
	l.gated.ready()
	l.runs(m{"restarts": "always"}, check1(`exec:["sh","-c","sleep 0.4; test -e `+l.up+`"]`, m{"timeout": "1m"}))
	first := l.opens1()
	time.Sleep(600 * time.Millisecond) // They have held once, and are asked once more.
	os.Remove(l.up)
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	second := l.opens1()
	if got := <-first + <-second; got != "" {
		t.Errorf("they read %q", got)
	}
	if slept := time.Since(began); slept > 40*time.Second {
		t.Errorf("it slept %v, until the kernel's patience was over", slept)
	}
}

// One check may fail the hook, and another one may wait for longer than the kubelet is kept.
func TestAskedAfterHandOver(t *testing.T) {
	l := newLeased(t)
	l.gated.ready()
	l.runs(m{"handOver": "2s"}, l.gated.check(m{"timeout": "1s"}), l.check(m{"timeout": "5m"}))
	began := time.Now()
	l.wantSoon("who asks", "", l.opens1())
	if slept := time.Since(began); slept > 40*time.Second {
		t.Errorf("it slept %v, until the kernel's patience was over", slept)
	}
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	l.wantSoon("who asks again", opened, read)
}

// Why it was held is not said of an open lock.
func TestReasonsOfBefore(t *testing.T) {
	l := newLeased(t)
	cmd, end := start(t, "--spec", l.spec(m{"handOver": "30s"}, l.check(m{"timeout": "4s"})))
	t.Cleanup(func() { l.signal(syscall.SIGKILL); l.ends() })
	l.whySoon(exitNotReady, "503")
	cmd.Process.Kill() // A kubelet that is restarted does that.
	end()
	time.Sleep(5 * time.Second)
	l.ready.Store(true)
	l.wantSoon("who asks", opened, l.opens1())
	l.whySoon(exitReady, "tier 1: asked and answered at ")
	if r := run1(t, "--why", l.dir); strings.Contains(r.stdout, "503") {
		t.Errorf("%s", r.stdout)
	}
}

// No open could be answered in time.
func TestSlowChecks(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"handOver": "0s"}, l.check(m{"timeout": "1m", "attemptTimeout": "10s"}))
	l.whySoon(exitNotReady, "its checks may take 10s")
	l.wantSoon("who asks", "", l.opens1())
	l.ready.Store(true)
	l.opens()
}

// What is said in the sidecar's log may have to wait for ever, where nobody reads it.
func TestFullLog(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	full := int(write.Fd())
	syscall.SetNonblock(full, true)
	for err = nil; err == nil; {
		_, err = syscall.Write(full, make([]byte, 4096))
	}
	sidecar := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sleep", "1000")
	sidecar.Stderr = write
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sidecar.Process.Kill(); sidecar.Wait() })
	var first string
	l.until("the sidecar", func() bool {
		children, _ := os.ReadFile("/proc/" + strconv.Itoa(sidecar.Process.Pid) + "/task/" + strconv.Itoa(sidecar.Process.Pid) + "/children")
		first = strings.TrimSpace(string(children))
		name, _ := os.ReadFile("/proc/" + first + "/comm")
		return string(name) == "sleep\n"
	})
	hook := exec.Command("nsenter", "--target", first, "--pid", "--mount", program, "--spec",
		l.spec(m{"handOver": "30s", "restarts": "1s"}, l.check(m{"timeout": "1m"})))
	if out, err := hook.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.wantSoon("the first", opened, l.opens1())
	l.ready.Store(false)
	time.Sleep(2 * resultLasts)
	l.wantSoon("a later one", opened, l.opens1())
	l.whySoon(exitReady, "waited for it no longer than 1s")
	l.ready.Store(true)
	l.wantSoon("the next", opened, l.opens1())
}
