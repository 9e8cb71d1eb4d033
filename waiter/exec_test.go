package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func sh(script string, args ...string) string {
	return "exec:" + commandText(append([]string{"sh", "-c", script, "sh"}, args...))
}

func TestExecReadyLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), `$(x) "y" 'z'`)
	g := opensLate(func() { os.WriteFile(path, nil, 0o600) })
	g.wantBefore(t, waitFor(t, check1(sh(`test -e "$1"`, path), nil)))
}

func TestExecFails(t *testing.T) {
	for check, why := range map[string]string{
		sh("echo not yet >&2; exit 3"): "exit code 3: not yet",
		sh("kill -9 $$"):               "signal: killed",
		`exec:["/nope/x"]`:             "no such file",
		`exec:["nope-x"]`:              "not found",
		sh("yes | head -c 100000; printf '\\a\\nend'; exit 1"): "end\n",
	} {
		waitFor(t, check1(check, m{"timeout": "1s"})).want(t, exitNotReady, why)
	}
}

// One at a time, whichever check they belong to, and each not more often than every 250 ms.
func TestExecOneAtATime(t *testing.T) {
	dir := t.TempDir()
	script := `mkdir "$1/running" || echo overlap >>"$1/log"; echo >>"$1/$2"; sleep 0.05; rmdir "$1/running"; test $(wc -l <"$1/$2") -ge 5`
	began := time.Now()
	waitFor(t,
		check1(sh(script, dir, "a"), m{"timeout": "2m", "container": "a"}),
		check1(sh(script, dir, "b"), m{"timeout": "2m", "container": "b"})).want(t, exitReady)
	if took := time.Since(began); took < 4*execInterval {
		t.Errorf("five attempts of each took %v", took)
	}
	if log, err := os.ReadFile(dir + "/log"); err == nil {
		t.Errorf("%s", log)
	}
}

func TestExecThatIgnoresTermIsKilledWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	script := `trap "" TERM; sleep 300 & echo $! >"$1/child"; echo $$ >"$1/shell"; wait; sleep 300`
	waitFor(t, check1(sh(script, dir), m{"timeout": "1s"})).want(t, exitNotReady, "no answer within 1s")
	for _, name := range []string{"child", "shell"} {
		var pid int
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(string(text), &pid)
		wantGone(t, pid)
	}
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(generous); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
	syscall.Kill(pid, syscall.SIGKILL)
}

// A daemon that holds the output doesn't hold the check.
func TestExecThatLeavesADaemon(t *testing.T) {
	dir := t.TempDir()
	waitFor(t, check1(sh(`sleep 300 & echo $! >"$1/pid"`, dir), nil)).want(t, exitReady)
	var pid int
	text, _ := os.ReadFile(dir + "/pid")
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the daemon is gone: %v", err)
	}
}

func TestSignalEndsIt(t *testing.T) {
	dir := t.TempDir()
	cmd, end := start(t, "--spec", specOf(t, m{"message": dir + "/message"},
		check1(sh(`echo $$ >"$1/pid.tmp"; mv "$1/pid.tmp" "$1/pid"; sleep 300`, dir), m{"attemptTimeout": "10m", "timeout": "10m"}),
		check1("tcp://127.0.0.1:"+freePort(t), m{"timeout": "10m", "onTimeout": "continue"})))
	var pid int
	for pid == 0 {
		text, _ := os.ReadFile(dir + "/pid")
		fmt.Sscan(string(text), &pid)
		time.Sleep(5 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	r := end()
	r.want(t, exitNotReady, "ended by a signal", "connection refused")
	if r.stdout != "" {
		t.Errorf("it said %q", r.stdout)
	}
	wantGone(t, pid)
	if text, _ := os.ReadFile(dir + "/message"); string(text) != r.stderr {
		t.Errorf("the message is %q", text)
	}
}

func TestChecksThatTimeOutTogetherAreReportedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []wait
		for _, name := range []string{"a", "b"} {
			nothing, err := parseCheck("file:///nope/" + name)
			if err != nil {
				t.Fatal(err)
			}
			waits = append(waits, wait{container: name, check: nothing, timeout: 4 * time.Second, attemptTimeout: time.Second, successes: 1})
		}
		lines := waitForAll(t.Context(), waits)
		giveExec()
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "a (") || !strings.HasPrefix(lines[1], "b (") {
			t.Errorf("%q", lines)
		}
	})
}
