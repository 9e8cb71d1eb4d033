package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// program is the real program; all tests of behaviour run it.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(filteredName) != "" {
		runFiltered()
	}
	if os.Getenv(containerName) != "" {
		runContainer()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "waiter")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		os.Chmod(dir, 0o755) // for other users
		program = filepath.Join(dir, "built")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=1.2.3-test", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

type result struct {
	code           int
	stdout, stderr string
	ended          time.Time
}

// generous is how long any run may take before the test calls it stuck.
const generous = 2 * time.Minute

func start(t *testing.T, args ...string) (*exec.Cmd, func() result) {
	t.Helper()
	cmd := exec.Command(program, args...)
	// Never used: a check that went through a proxy would fail.
	cmd.Env = append(os.Environ(), "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(generous, func() { cmd.Process.Kill() })
	return cmd, func() result {
		t.Helper()
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if !stuck.Stop() {
			t.Fatalf("%q did not end", args)
		}
		return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Now()}
	}
}

func run1(t *testing.T, args ...string) result {
	t.Helper()
	_, end := start(t, args...)
	return end()
}

type m = map[string]any

// check1 is one check of a spec; more overrides its fields.
func check1(check string, more m) m {
	c := m{"container": "envoy", "check": check, "timeout": "10s", "onTimeout": "fail"}
	for k, v := range more {
		c[k] = v
	}
	return c
}

func specOf(t *testing.T, more m, checks ...m) string {
	t.Helper()
	spec := m{"v": 1, "checks": checks}
	for k, v := range more {
		spec[k] = v
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func waitFor(t *testing.T, checks ...m) result {
	t.Helper()
	return run1(t, "--spec", specOf(t, nil, checks...))
}

func (r result) want(t *testing.T, code int, stderr ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, not %d; it said %q", r.code, code, r.stderr)
	}
	for _, s := range stderr {
		if !strings.Contains(r.stderr, s) {
			t.Errorf("%q is missing in %q", s, r.stderr)
		}
	}
	if len(stderr) == 0 && r.stderr != "" {
		t.Errorf("it said %q", r.stderr)
	}
}

// A gate opens late; what was waited for must not be over before.
type gate struct{ at atomic.Int64 }

func opensLate(open func()) *gate {
	g := &gate{}
	time.AfterFunc(300*time.Millisecond, func() {
		g.at.Store(time.Now().UnixNano())
		open()
	})
	return g
}

func (g *gate) open() bool { return g.at.Load() != 0 }

func (g *gate) wantBefore(t *testing.T, r result) {
	t.Helper()
	r.want(t, exitReady)
	if at := g.at.Load(); at == 0 || r.ended.UnixNano() < at {
		t.Error("it returned before the sidecar was ready")
	}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// freePort is one of all addresses that nothing listens on. It is below 32768, where Linux begins to hand out ports to whoever asks
// for any: nobody who runs beside a test gets it by chance.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(12_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port in 100 tries")
	return ""
}

// rawServer answers each connection by hand.
func rawServer(t *testing.T, serve func(net.Conn)) (port string) {
	t.Helper()
	l := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return portOf(l)
}

// readRequest reads up to the end of a request's headers.
func readRequest(conn net.Conn) string {
	var b []byte
	for one := make([]byte, 1); !bytes.HasSuffix(b, []byte("\r\n\r\n")); {
		if _, err := conn.Read(one); err != nil {
			break
		}
		b = append(b, one[0])
	}
	return string(b)
}
