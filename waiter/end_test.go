package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// An endings is the memory volume in which a pod's containers see each other's ends.
type endings struct {
	gated
}

func newEndings(t *testing.T) *endings {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ends")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	return &endings{gated{t: t, dir: dir}}
}

func (e *endings) path(container string) string { return filepath.Join(e.dir, container) }

// witness is the arguments of a hook; more adds to its spec.
func (e *endings) witness(container string, more m) []string {
	return []string{"witness", "--spec", specJSONOf(e.t, m{"file": e.path(container)}, more)}
}

const never = "10m"

// others is the arguments of a hook that waits for these, as long as they like.
func (e *endings) others(more m, containers ...string) []string {
	var files []string
	for _, container := range containers {
		files = append(files, e.path(container))
	}
	return []string{"others", "--spec", specJSONOf(e.t, m{"files": files, "appear": never, "limit": never}, more)}
}

func specJSONOf(t *testing.T, fields ...m) string {
	all := m{}
	for _, each := range fields {
		for name, value := range each {
			all[name] = value
		}
	}
	text := specOf(t, all)
	return strings.Replace(text, `"checks":null,`, "", 1)
}

// later runs it at the same time, and sends how it has ended.
func later[T any](run func() T) chan T {
	ended := make(chan T, 1)
	go func() { ended <- run() }()
	return ended
}

func stays[T any](t *testing.T, ended chan T, what string) {
	t.Helper()
	select {
	case got := <-ended:
		t.Fatalf("%s: it has ended: %+v", what, got)
	case <-time.After(300 * time.Millisecond):
	}
}

// The lock is seen by another process, outlives the hook, and ends with the container.
func TestOthersWaitForTheEnd(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	app, proxy := newContainer(t), newContainer(t)
	ended := later(func() result { return proxy.runs(e.others(nil, "app")...) })
	stays(t, ended, "before the app begins to end")
	app.runs(e.witness("app", nil)...).want(t, exitReady)
	stays(t, ended, "while the app ends")
	app.end()
	(<-ended).want(t, exitReady)
	// One that comes when all is over: it isn't waited for again.
	run1(t, e.others(nil, "app")...).want(t, exitReady)
}

func TestTwoAppsAndAMiddleTier(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	quick, slow, cache, proxy := newContainer(t), newContainer(t), newContainer(t), newContainer(t)
	proxyEnds := later(func() result { return proxy.runs(e.others(nil, "quick", "slow", "cache")...) })
	cacheEnds := later(func() result { return cache.runs(e.others(m{"file": e.path("cache")}, "quick", "slow")...) })
	for name, app := range map[string]*container{"quick": quick, "slow": slow} {
		app.runs(e.witness(name, nil)...).want(t, exitReady)
	}
	quick.end()
	stays(t, cacheEnds, "while the slow app ends")
	slow.end()
	(<-cacheEnds).want(t, exitReady)
	stays(t, proxyEnds, "while the cache ends")
	cache.end()
	(<-proxyEnds).want(t, exitReady)
}

// Processes that a container's first one ends, or a terminal's, before it ends itself: the witness stays. Nothing of it keeps a hook's output open.
func TestWitnessStays(t *testing.T) {
	e := newEndings(t)
	run1(t, e.witness("app", nil)...).want(t, exitReady)
	t.Cleanup(e.kill)
	pid := e.detached()
	if pid == 0 {
		t.Fatal("no witness")
	}
	if session, _, _ := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0); int(session) != pid {
		t.Errorf("it is in session %d", session)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1} {
		syscall.Kill(pid, signal)
	}
	for fd := range 3 {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); to != os.DevNull {
			t.Errorf("descriptor %d is %s", fd, to)
		}
	}
	if env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); string(env) != "GOMAXPROCS=1\x00" {
		t.Errorf("it has the environment %q", env)
	}
	run1(t, e.others(m{"limit": "300ms"}, "app")...).want(t, exitReady, "app has not ended after 300ms: its time is up\n")
	memory, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	t.Logf("%s", memory)
}

// Whatever there was before: a container that hasn't begun to end is waited for no longer than appear, and no shorter.
func TestOthersThatDoNotBegin(t *testing.T) {
	past := time.Now().Add(-time.Minute)
	for name, plant := range map[string]func(path string) error{
		"nothing":  func(string) error { return nil },
		"restarts": func(path string) error { return os.WriteFile(path, []byte(endingMark), 0o666) },
		"empty":    func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"future":   func(path string) error { return os.WriteFile(path, []byte(endingMark), 0o666) },
		"folder":   func(path string) error { return os.Mkdir(path, 0o777) },
		"pipe":     func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"link":     func(path string) error { return os.Symlink("/etc/passwd", path) },
		"dangling": func(path string) error { return os.Symlink(path+"-elsewhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndings(t)
			if err := plant(e.path("app")); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "restarts":
				os.Chtimes(e.path("app"), past, past)
			case "future":
				os.Chtimes(e.path("app"), past.Add(time.Hour), past.Add(time.Hour))
			}
			began := time.Now()
			run1(t, e.others(m{"appear": "300ms"}, "app")...).want(t, exitReady, "app did not begin to end within 300ms")
			if waited := time.Since(began); waited < 300*time.Millisecond {
				t.Errorf("it waited for %v", waited)
			}
			run1(t, e.others(m{"limit": "100ms"}, "app")...).want(t, exitReady, "app did not begin to end within 100ms")

			ended := later(func() result { return run1(t, e.others(m{"limit": "2s"}, "app")...) })
			app := newContainer(t)
			r := app.runs(e.witness("app", m{"before": hookCommand(`: >"$1"`, e.path("ran"))})...)
			if _, err := os.Stat(e.path("ran")); err != nil {
				t.Error("the hook that was there did not run")
			}
			switch name {
			case "folder", "pipe", "link", "dangling":
				r.want(t, exitReady, "others may not wait for the end of this container: ")
				(<-ended).want(t, exitReady, "app did not begin to end within 2s")
			default:
				r.want(t, exitReady)
				stays(t, ended, "while the app ends")
				app.end()
				(<-ended).want(t, exitReady)
			}
			if _, err := os.Stat(e.path("app-elsewhere")); err == nil {
				t.Error("a link was followed")
			}
		})
	}
}

// Whoever keeps the lock, or takes it for itself, keeps others for no longer than limit, and no hook of a container from running.
func TestHostileLock(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	file, err := os.Create(e.path("app"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	app := newContainer(t)
	app.runs(e.witness("app", m{"before": hookCommand(`: >"$1"`, e.path("ran"))})...).want(t, exitReady, "others may not wait")
	if _, err := os.Stat(e.path("ran")); err != nil {
		t.Error("the hook that was there did not run")
	}
	app.end()
	run1(t, e.others(m{"limit": "500ms"}, "app")...).want(t, exitReady, "app has not ended after 500ms")
}

func TestOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may be others")
	}
	e := newEndings(t)
	old := syscall.Umask(0o077)
	app, proxy := newContainer(t, 1000), newContainer(t, 1337)
	syscall.Umask(old)
	ended := later(func() result { return proxy.runs(e.others(m{"file": e.path("proxy")}, "app")...) })
	app.runs(e.witness("app", nil)...).want(t, exitReady)
	stays(t, ended, "while the app ends")
	app.end()
	(<-ended).want(t, exitReady)
	// One that runs as another user from its restart on, and root.
	for _, user := range []uint32{2000, 0} {
		again := newContainer(t, user)
		again.runs(e.witness("app", nil)...).want(t, exitReady)
		again.runs(e.others(m{"limit": "100ms"}, "proxy")...).want(t, exitReady, "proxy has not ended")
		again.end()
	}
}

// A kernel with fs.protected_regular refuses O_CREAT for what another user has made in a sticky folder.
func TestProtectedRegular(t *testing.T) {
	for _, there := range []bool{false, true} {
		e := newEndings(t)
		if there {
			if err := os.WriteFile(e.path("app"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		say := func(s step) syscall.Errno {
			if s.call == syscall.SYS_OPENAT && (there || s.args[2]&syscall.O_EXCL == 0) {
				return syscall.EACCES
			}
			return 0
		}
		stepwise(t, say, e.witness("app", nil)...).want(t, exitReady)
		run1(t, e.others(m{"limit": "100ms"}, "app")...).want(t, exitReady, "app has not ended")
		e.kill()
	}
}

// What another container has filled: nothing can be written, but the lock is seen.
func TestFullEnds(t *testing.T) {
	e := newEndings(t)
	full := func(s step) syscall.Errno {
		if s.call == syscall.SYS_WRITE && s.args[2] == uint64(len(endingMark)) {
			return syscall.ENOSPC
		}
		return 0
	}
	own := m{"exec": []string{"/bin/sh", "-c", `: >"$1"`, "sh", e.path("ran")}}
	stepwise(t, full, e.witness("app", m{"before": own})...).want(t, exitReady, "no space left on device")
	if _, err := os.Stat(e.path("ran")); err != nil {
		t.Error("the hook that was there did not run")
	}
	run1(t, e.others(m{"limit": "100ms"}, "app")...).want(t, exitReady, "app has not ended")
	e.kill()
	run1(t, e.others(m{"appear": "100ms"}, "app")...).want(t, exitReady, "app did not begin to end")
}

// Whatever step a witness is stopped or killed at, nobody takes its container for one that has ended while the witness can go on.
func TestWitnessStoppedAtEachStep(t *testing.T) {
	for _, again := range []bool{false, true} {
		for n := 1; ; n++ {
			var last atomic.Bool
			t.Run(fmt.Sprintf("%v-%d", again, n), func(t *testing.T) { last.Store(!witnessStopsAt(t, n, again)) })
			if last.Load() {
				if n < 5 {
					t.Errorf("a witness has %d steps", n)
				}
				break
			}
		}
	}
}

func witnessStopsAt(t *testing.T, n int, again bool) (stopped bool) {
	e := newEndings(t)
	if again {
		past := time.Now().Add(-time.Minute)
		if err := os.WriteFile(e.path("app"), []byte(endingMark), 0o666); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(e.path("app"), past, past)
	}
	t.Cleanup(e.kill)
	steps := 0
	// The process that stays may make steps when the hook has ended.
	var mu sync.Mutex
	say := func(s step) syscall.Errno {
		mu.Lock()
		defer mu.Unlock()
		if steps++; steps == n {
			stopped = true
			if run1(t, e.others(m{"limit": "50ms"}, "app")...).stderr == "" {
				t.Errorf("at %s it was taken for ended", s)
			}
		}
		return 0
	}
	stepwise(t, say, e.witness("app", nil)...).want(t, exitReady)
	mu.Lock()
	defer mu.Unlock()
	steps = n
	return stopped
}

// The kubelet's own meaning: it runs when the others have ended, and its failure is the hook's.
func TestOwnHookComesLast(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	app, proxy := newContainer(t), newContainer(t)
	app.runs(e.witness("app", nil)...).want(t, exitReady)
	ran := e.path("ran")
	ended := later(func() result {
		return proxy.runs(e.others(m{"before": hookCommand(`: >"$1"; echo full; exit 3`, ran)}, "app")...)
	})
	stays(t, ended, "while the app ends")
	if _, err := os.Stat(ran); err == nil {
		t.Error("its own hook ran before the app had ended")
	}
	app.end()
	(<-ended).want(t, exitNotReady, "the hook that was there before (exec:[", "failed: exit code 3: full")

	asked := make(chan string, 1)
	port := rawServer(t, func(c net.Conn) { asked <- readRequest(c); c.Write([]byte("HTTP/1.1 500 any answer\r\n\r\n")) })
	proxy.runs(e.others(m{"before": httpGet(port, m{"path": "quit"})}, "app")...).want(t, exitReady)
	if got := <-asked; !strings.HasPrefix(got, "GET /quit ") {
		t.Errorf("sent %q", got)
	}
	began := time.Now()
	newContainer(t).runs(e.witness("app", m{"before": m{"sleep": m{"seconds": 1}}})...).want(t, exitReady)
	if time.Since(began) < time.Second {
		t.Error("it did not sleep")
	}
}

func TestEndSignalled(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	for _, args := range [][]string{
		e.others(m{"before": hookCommand(`: >"$1"`, e.path("ran"))}, "app"),
		e.witness("app", m{"before": hookCommand(`: >"$1"; sleep 1000`, e.path("began"))}),
	} {
		cmd, end := start(t, args...)
		if args[0] == "witness" {
			e.until("its own hook", func() bool { _, err := os.Stat(e.path("began")); return err == nil })
		} else {
			time.Sleep(200 * time.Millisecond)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		end().want(t, exitNotReady, "ended by a signal")
	}
	if _, err := os.Stat(e.path("ran")); err == nil {
		t.Error("its own hook ran after all")
	}
	// The lock outlives it.
	run1(t, e.others(m{"limit": "100ms"}, "app")...).want(t, exitReady, "app has not ended")
	e.kill()
}

// A kubelet that restarts kills the hook and runs it again.
func TestHookRunsTwice(t *testing.T) {
	t.Parallel()
	e := newEndings(t)
	app := newContainer(t)
	for range 2 {
		app.runs(e.witness("app", nil)...).want(t, exitReady)
	}
	ended := later(func() result { return run1(t, e.others(nil, "app")...) })
	stays(t, ended, "while the app ends")
	app.end()
	(<-ended).want(t, exitReady)
}

func TestEndUsage(t *testing.T) {
	for _, c := range []struct{ word, spec, says string }{
		{"witness", `{"v":1}`, "absolute path"},
		{"witness", `{"v":1,"file":"app"}`, "absolute path"},
		{"witness", `{"v":1,"file":"/app","limit":"1s"}`, "waits for nobody"},
		{"witness", `{"v":2,"file":"/app"}`, "knows only 1"},
		{"witness", `{"v":1,"file":"/app","more":1}`, "unknown field"},
		{"witness", `{"v":1,"file":"/app","before":{}}`, "exactly one of exec"},
		{"witness", `{"file":"/app"}`, "no version"},
		{"witness", `[]`, "not the JSON"},
		{"others", `{"v":1,"files":[],"appear":"1s","limit":"1s"}`, "nobody to wait for"},
		{"others", `{"v":1,"files":["/a"],"limit":"1s"}`, "appear"},
		{"others", `{"v":1,"files":["/a"],"appear":"1s"}`, "limit"},
		{"others", `{"v":1,"files":["/a","b"],"appear":"1s","limit":"1s"}`, "absolute path"},
		{"others", `{"v":1,"files":["/a"],"appear":"soon","limit":"1s"}`, "appear: "},
		{"others", `{"v":1,"files":["/a"],"appear":"0s","limit":"-1s"}`, "limit: "},
	} {
		run1(t, c.word, "--spec", c.spec).want(t, exitUsage, "wait: ", c.says)
	}
	run1(t, "witness").want(t, exitUsage, "witness takes --spec")
	run1(t, "others", "--spec", "{}", "x").want(t, exitUsage, "others takes --spec")
}
