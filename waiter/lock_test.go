package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const opened = "SIDECAR_FIRST_READY_1='ready'\n"

// A gated is a folder for a lock, and a file in another one that a check looks for.
type gated struct {
	t             *testing.T
	dir, file, up string
}

func newGated(t *testing.T) gated {
	t.Parallel()
	dir := t.TempDir()
	return gated{t, dir, filepath.Join(dir, "ready-1"), filepath.Join(t.TempDir(), "up")}
}

func (g gated) check(more m) m { return check1("file://"+g.up, more) }

// spec asks for the lock; more overrides the lock's fields.
func (g gated) spec(more m, checks ...m) string {
	lock := m{"file": g.file, "key": "SIDECAR_FIRST_READY_1"}
	for k, v := range more {
		lock[k] = v
	}
	return specOf(g.t, m{"lock": lock}, checks...)
}

func (g gated) ready() {
	g.t.Helper()
	if err := os.WriteFile(g.up, nil, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g gated) want(content string) {
	g.t.Helper()
	if got, err := os.ReadFile(g.file); err != nil || string(got) != content {
		g.t.Errorf("the lock has %q (%v), not %q", got, err, content)
	}
}

func (g gated) wantClosedFor(d time.Duration) {
	g.t.Helper()
	time.Sleep(d)
	g.want("")
}

// opens waits until the lock is open and the process that has opened it is gone.
func (g gated) opens() {
	g.t.Helper()
	g.until("the lock to open", func() bool { content, _ := os.ReadFile(g.file); return string(content) == opened })
	g.ends()
}

func (g gated) ends() {
	g.t.Helper()
	g.until("the detached process to end", func() bool { return g.detached() == 0 })
}

func (g gated) until(what string, holds func() bool) {
	g.t.Helper()
	for end := time.Now().Add(generous); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("waited for %s", what)
		}
	}
}

// signal is for the detached process, if there is one.
func (g gated) signal(signal syscall.Signal) {
	if pid := g.detached(); pid != 0 {
		syscall.Kill(pid, signal)
	}
}

func (g gated) kill() { g.signal(syscall.SIGKILL); g.ends() }

// detached is the process that waits, or 0. It is a child of the test, as it is one of the container runtime; like that one, the test
// reaps it.
func (g gated) detached() int {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if !bytes.Contains(line, []byte("--detached")) || !bytes.Contains(line, []byte(g.dir)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		return pid
	}
	var status syscall.WaitStatus
	for _, pid := range g.children() {
		syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	}
	return 0
}

// children are the zombies that the test has inherited: the waiter's, by name.
func (g gated) children() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		stat, _ := os.ReadFile(name)
		fields := strings.Fields(string(stat))
		if len(fields) > 6 && fields[2] == "Z" && fields[3] == strconv.Itoa(os.Getpid()) && fields[5] == fields[0] {
			pid, _ := strconv.Atoi(fields[0])
			pids = append(pids, pid)
		}
	}
	return pids
}

func why1(t *testing.T, dir string, code int, want string) {
	t.Helper()
	r := run1(t, "--why", dir)
	if r.code != code || !strings.Contains(r.stdout, want) {
		t.Errorf("%d: %q, not %d: %q", r.code, r.stdout, code, want)
	}
}

func TestLockOpensWithTheChecks(t *testing.T) {
	g := newGated(t)
	// Left by the container before this one.
	os.WriteFile(g.file, []byte(opened), 0o600)
	_, end := start(t, "--spec", g.spec(nil, g.check(nil)))
	g.until("the hook to begin", func() bool { return g.detached() != 0 })
	g.wantClosedFor(300 * time.Millisecond)
	why1(t, g.dir, exitNotReady, "tier 1: held since ")
	g.ready()
	end().want(t, exitReady)
	g.want(opened)
	why1(t, g.dir, exitReady, "tier 1: open since ")
	g.ends()
	if entries, _ := os.ReadDir(g.dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

// The kubelet kills the sidecar and then starts the next container: the lock must not open while it does.
func TestLockStaysClosedOnFail(t *testing.T) {
	g := newGated(t)
	run1(t, "--spec", g.spec(nil, g.check(m{"timeout": "300ms"}))).want(t, exitNotReady, "envoy (file://", "was not ready after ")
	g.ends()
	g.ready()
	g.wantClosedFor(1500 * time.Millisecond)
	why1(t, g.dir, exitNotReady, "was not ready after ")
}

func TestLockOpensOnContinue(t *testing.T) {
	g := newGated(t)
	run1(t, "--spec", g.spec(nil, g.check(m{"timeout": "300ms", "onTimeout": "continue"}))).want(t, exitReady)
	g.opens()
}

func TestHandOver(t *testing.T) {
	g := newGated(t)
	began := time.Now()
	run1(t, "--spec", g.spec(m{"handOver": "300ms", "lease": "off"}, g.check(m{"timeout": "600ms"}))).want(t, exitReady)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it ended after %v", took)
	}
	// Also when the time is up: nobody is there who would kill the sidecar.
	g.wantClosedFor(time.Second)
	g.until("the reason to be written", func() bool {
		return strings.Contains(run1(t, "--why", g.dir).stdout, "  envoy (file://"+g.up+"): no such file")
	})
	g.ready()
	g.opens()
}

func TestHandOverAtOnce(t *testing.T) {
	g := newGated(t)
	marker := filepath.Join(t.TempDir(), "done")
	spec := specOf(t, m{
		"before": hookCommand(`sleep 0.5; : >"$1"`, marker),
		"lock":   m{"file": g.file, "key": "SIDECAR_FIRST_READY_1", "handOver": "0s", "lease": "off"},
	}, g.check(nil))
	run1(t, "--spec", spec).want(t, exitReady)
	if _, err := os.Stat(marker); err != nil {
		t.Error("the hook that was there before was not over")
	}
	g.wantClosedFor(0)
	g.ready()
	g.opens()
}

func TestHandOverGoesOnWithoutASidecar(t *testing.T) {
	g := newGated(t)
	run1(t, "--spec", g.spec(m{"handOver": "0s", "lease": "off"}, g.check(m{"timeout": "500ms", "onTimeout": "continue"}))).want(t, exitReady)
	g.wantClosedFor(0)
	g.opens()
}

// A kubelet that restarts kills what it has executed.
func TestLockOutlivesItsHook(t *testing.T) {
	g := newGated(t)
	cmd, end := start(t, "--spec", g.spec(nil, g.check(m{"timeout": "3s"})))
	g.until("the hook to begin", func() bool { return g.detached() != 0 })
	pid := g.detached()
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("it is in group %d (%v): a signal to the hook's group would reach it", group, err)
	}
	cmd.Process.Kill()
	end()
	g.wantClosedFor(4 * time.Second)
	g.ready()
	g.opens()
}

func TestLockEndsWithASignal(t *testing.T) {
	g := newGated(t)
	var asked atomic.Bool
	port := rawServer(t, func(net.Conn) { asked.Store(true) })
	cmd, end := start(t, "--spec", g.spec(nil, g.check(m{"check": "http://:" + port + "/"})))
	// Before it asks it may not have heard of signals yet.
	g.until("the first attempt", asked.Load)
	cmd.Process.Signal(syscall.SIGTERM)
	end().want(t, exitNotReady, "ended by a signal", "envoy")
	g.ends()
	g.wantClosedFor(0)
}

func TestKilledWaiter(t *testing.T) {
	g := newGated(t)
	_, end := start(t, "--spec", g.spec(nil, g.check(nil)))
	g.until("the hook to begin", func() bool { return g.detached() != 0 })
	syscall.Kill(g.detached(), syscall.SIGKILL)
	end().want(t, exitNotReady, "the process that waits was killed")
	g.wantClosedFor(0)
}

// A sidecar that is a container's first process wouldn't reap what it never started.
func TestDetachedIsTheRuntimesChild(t *testing.T) {
	g := newGated(t)
	_, end := start(t, "--spec", g.spec(m{"handOver": "500ms", "lease": "off"}, g.check(nil)))
	g.until("the hook to begin", func() bool { return g.detached() != 0 })
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(g.detached()) + "/stat")
	if fields := strings.Fields(string(stat)); fields[3] != strconv.Itoa(os.Getpid()) {
		t.Errorf("its parent is %s, not the hook's parent", fields[3])
	}
	end().want(t, exitReady)
	g.ready()
	g.opens()
}

// While the hook of tier 2 runs, the kubelet can't restart a sidecar of tier 1 that has crashed.
func TestEarlierTierIsLookedAtOnceMore(t *testing.T) {
	g := newGated(t)
	g.ready()
	earlier := filepath.Join(t.TempDir(), "earlier")
	first := m{"container": "vault", "check": "file://" + earlier}
	dead := m{"container": "gone", "check": "tcp://127.0.0.1:" + freePort(t), "onTimeout": "continue"}
	began := time.Now()
	run1(t, "--spec", g.spec(m{"earlier": []m{first, dead}}, g.check(m{"timeout": "6s"}))).want(t, exitReady)
	if took := time.Since(began); took >= 6*time.Second {
		t.Errorf("it kept the kubelet for %v", took)
	}
	// It asks on, also when its own time is up.
	g.wantClosedFor(6500 * time.Millisecond)
	why1(t, g.dir, exitNotReady, "vault (file://"+earlier+") of an earlier tier is no longer ready: no such file")
	if err := os.WriteFile(earlier, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.opens()
}

func TestLockOfAHookAlone(t *testing.T) {
	g := newGated(t)
	lock := m{"file": g.file, "key": "SIDECAR_FIRST_READY_1"}
	run1(t, "--spec", specOf(t, m{"lock": lock, "before": hookCommand("exit 3")})).want(t, exitNotReady, "exit code 3")
	g.want("")
	run1(t, "--spec", specOf(t, m{"lock": lock, "before": hookCommand("sleep 0.1")})).want(t, exitReady)
	g.opens()
}

// With nobody to tell, a hook that failed is run again: nothing else would ever open the lock.
func TestFailedHookWithoutAKubelet(t *testing.T) {
	g := newGated(t)
	marker := filepath.Join(t.TempDir(), "second")
	lock := m{"file": g.file, "key": "SIDECAR_FIRST_READY_1"}
	before := hookCommand(`test -e "$1" && exit; : >"$1"; sleep 1; exit 1`, marker)
	cmd, end := start(t, "--spec", specOf(t, m{"lock": lock, "before": before}))
	g.until("the hook to begin", func() bool { _, err := os.Stat(marker); return err == nil })
	cmd.Process.Kill()
	end()
	g.opens()
}

// A sidecar can write into the folder of the lock: what it plants there is replaced, never followed.
func TestPlantedFiles(t *testing.T) {
	for name, plant := range map[string]func(path, secret string) error{
		"a link":          func(path, secret string) error { return os.Symlink(secret, path) },
		"a hard link":     func(path, secret string) error { return os.Link(secret, path) },
		"a pipe":          func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
		"an empty folder": func(path, _ string) error { return os.Mkdir(path, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t)
			g.ready()
			secret := filepath.Join(filepath.Dir(g.up), "secret")
			if err := os.WriteFile(secret, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, base := range []string{"ready-1", ".new-ready-1", "why-1", ".new-why-1"} {
				if err := plant(filepath.Join(g.dir, base), secret); err != nil {
					t.Fatal(err)
				}
			}
			r := run1(t, "--spec", g.spec(nil, g.check(nil)))
			g.ends()
			if content, _ := os.ReadFile(secret); string(content) != "precious" {
				t.Errorf("it wrote %q through the link", content)
			}
			if name == "an empty folder" {
				r.want(t, exitNotReady, "the lock can't be closed", "file exists")
				return
			}
			r.want(t, exitReady)
			g.want(opened)
		})
	}
}

func TestLockThatCantBeClosed(t *testing.T) {
	g := newGated(t)
	g.file = filepath.Join(g.dir, "nope", "ready-1")
	run1(t, "--spec", g.spec(nil, g.check(nil))).want(t, exitNotReady, "the lock can't be closed", "no such file")
}

func mountTmpfs(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("this needs root and mounts: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFullVolume(t *testing.T) {
	g := newGated(t)
	g.dir = mountTmpfs(t, "size=16k")
	g.file = filepath.Join(g.dir, "ready-1")
	os.WriteFile(g.file, []byte(opened), 0o600)
	filler := filepath.Join(g.dir, "filler")
	os.WriteFile(filler, make([]byte, 1<<16), 0o600)
	g.ready()
	run1(t, "--spec", g.spec(nil, g.check(nil))).want(t, exitNotReady, "the lock can't be opened", "no space left")
	g.want("")
	// Handed over, it opens when there is room.
	run1(t, "--spec", g.spec(m{"handOver": "0s", "lease": "off"}, g.check(m{"successes": 3}))).want(t, exitReady)
	g.wantClosedFor(300 * time.Millisecond)
	os.Remove(filler)
	g.opens()
}

func TestReadOnlyVolume(t *testing.T) {
	g := newGated(t)
	g.dir = mountTmpfs(t, "ro")
	g.file = filepath.Join(g.dir, "ready-1")
	g.ready()
	run1(t, "--spec", g.spec(nil, g.check(nil))).want(t, exitNotReady, "the lock can't be closed", "read-only file system")
}

// A memory volume has the sticky bit, and the init container is another user than the sidecars.
func TestLockOfSeveralUsers(t *testing.T) {
	g := newGated(t)
	g.dir = mountTmpfs(t, "mode=1777")
	g.file = filepath.Join(g.dir, "ready-1")
	into := t.TempDir()
	for path := into; path != "/tmp"; path = filepath.Dir(path) {
		os.Chmod(path, 0o777)
	}
	copied := filepath.Join(into, "wait")
	run1(t, "install", into).want(t, exitReady)
	as := func(user uint32, args ...string) {
		t.Helper()
		cmd := exec.Command(copied, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("as %d: %v: %s", user, err, out)
		}
	}
	spec := specOf(t, m{"before": m{"sleep": m{"seconds": 0}}, "lock": m{"file": g.file, "key": "SIDECAR_FIRST_READY_1"}})
	for _, user := range []uint32{0, 1000, 65532, 1000} {
		as(user, "--spec", spec)
		g.opens()
		as(65532, "install", into, "--reset", g.dir)
		g.want("")
		if r := run1(t, "--why", g.dir); r.stdout != "tier 1: closed: its hook has not begun\n" {
			t.Errorf("%q", r.stdout)
		}
	}
}

func TestInstallResets(t *testing.T) {
	dir, locks := t.TempDir(), t.TempDir()
	for _, name := range []string{"ready-1", "ready-2", "why-1", ".new-ready-1"} {
		os.WriteFile(filepath.Join(locks, name), []byte(opened), 0o600)
	}
	os.MkdirAll(filepath.Join(locks, "ready-3", "x"), 0o700)
	os.MkdirAll(filepath.Join(locks, "junk", "x"), 0o700)
	run1(t, "install", dir, "--reset", locks).want(t, exitReady)
	if _, err := os.Stat(filepath.Join(dir, "wait")); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(locks)
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
		if content, err := os.ReadFile(filepath.Join(locks, entry.Name())); err == nil && len(content) > 0 {
			t.Errorf("%s has %q", entry.Name(), content)
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	run1(t, "install", dir, "--reset", filepath.Join(locks, "nope")).want(t, exitNotReady, "no such file")
	run1(t, "install", dir, "--reset").want(t, exitUsage, "install takes one folder")
}

func TestWhyDoesNotTrustTheSidecar(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "ready-1"), nil, 0o600)
	os.WriteFile(filepath.Join(dir, "why-1"), []byte("now\n\x1b[2Jevil\n"), 0o600)
	os.WriteFile(filepath.Join(dir, "ready-2"), nil, 0o600)
	syscall.Mkfifo(filepath.Join(dir, "why-2"), 0o600)
	os.Symlink("/etc/passwd", filepath.Join(dir, "ready-3"))
	// As a waiter from before leases leaves it.
	os.WriteFile(filepath.Join(dir, "ready-4"), []byte(opened), 0o600)
	os.WriteFile(filepath.Join(dir, "why-4"), []byte("then\n"), 0o600)
	r := run1(t, "--why", dir)
	const want = "tier 1: closed since now\n   [2Jevil\ntier 2: closed: its hook has not begun\ntier 3: closed: its hook has not begun\n" +
		"tier 4: open since then\n"
	if r.code != exitNotReady || r.stdout != want {
		t.Errorf("%d: %q", r.code, r.stdout)
	}
	run1(t, "--why", filepath.Join(dir, "nope")).want(t, exitUsage, "no such file")
}

// Both count towards the sidecar's memory limit. Their code is the same file's and counts once.
func TestLockMemory(t *testing.T) {
	g := newGated(t)
	var asked atomic.Int32
	port := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); w.WriteHeader(503) })
	silent := rawServer(t, func(conn net.Conn) { readRequest(conn) })
	cmd, end := start(t, "--spec", g.spec(nil,
		check1("http://:"+port, m{"timeout": "8s"}), check1("grpc://127.0.0.1:"+silent, nil), check1("tcp://:1", nil)))
	time.Sleep(3500 * time.Millisecond)
	kib := func(pid int, field string) int {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		_, rest, _ := strings.Cut(string(status), field+":")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	child := g.detached()
	total := kib(child, "VmHWM") + kib(cmd.Process.Pid, "VmHWM") - kib(cmd.Process.Pid, "RssFile")
	t.Logf("%d KiB after %d answers", total, asked.Load())
	if total > 12<<10 {
		t.Errorf("together %d KiB", total)
	}
	end().want(t, exitNotReady, "503")
}
