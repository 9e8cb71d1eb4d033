// Package differential asks odd servers twice: with the waiter, and with the kubelet's own probe package. What they judge
// differently on purpose is a table in docs/decisions/0020-a-probe-asked-by-the-waiter.md.
package differential

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	// The kubelet has it from its tracing.
	_ "google.golang.org/grpc/encoding/gzip"
)

// A server that hangs costs both sides this much. patience is for those of which they don't say what they should: a busy
// machine makes one of them late, and then they are asked again alone.
const attempt, patience = time.Second, 10 * time.Second

var program string

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "differential")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "wait")
		build := exec.Command("go", "build", "-trimpath", "-o", program, ".")
		build.Dir = ".."
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// A question is a probe of a server.
type question struct {
	name    string
	scheme  string // http, https, grpc, tcp
	port    string
	path    string // http, https: as a probe has it; grpc: the service
	headers []v1.HTTPHeader
	// The first cell of the row in its table that explains a difference; empty: both must say the same.
	purpose string
}

// kubelet is what the kubelet's probe says.
func (q question) kubelet(limit time.Duration) (bool, string) {
	var result probe.Result
	var why string
	var err error
	port := intstr.Parse(q.port)
	number := port.IntValue()
	// Three times, as the kubelet (prober.go).
	for range 3 {
		switch q.scheme {
		case "http", "https":
			get := v1.HTTPGetAction{Scheme: v1.URIScheme(strings.ToUpper(q.scheme)), Path: q.path, Port: port, HTTPHeaders: q.headers}
			request, bad := httpprobe.NewRequestForHTTPGetAction(&get, &v1.Container{}, "127.0.0.1", "probe")
			if bad != nil {
				return false, bad.Error()
			}
			result, why, err = httpprobe.New(false).Probe(request, limit)
		case "grpc":
			result, why, err = grpcprobe.New().Probe("127.0.0.1", q.path, number, limit)
		default:
			result, why, err = tcpprobe.New().Probe("127.0.0.1", number, limit)
		}
		if err == nil {
			break
		}
		why = err.Error()
	}
	return err == nil && (result == probe.Success || result == probe.Warning), why
}

func (q question) check(i int, limit time.Duration) map[string]any {
	check := map[string]any{"container": fmt.Sprint(i), "timeout": fmt.Sprint(limit.Milliseconds()*5/2, "ms"), "attemptTimeout": limit.String(), "onTimeout": "continue"}
	address := q.scheme + "://127.0.0.1:" + q.port
	switch q.scheme {
	case "http", "https":
		check["check"], check["path"] = address+"/", q.path
		var headers []map[string]string
		for _, h := range q.headers {
			headers = append(headers, map[string]string{"name": h.Name, "value": h.Value})
		}
		check["headers"] = headers
	case "grpc":
		check["check"] = address + "/" + q.path
	default:
		check["check"] = address
	}
	return check
}

// waiter asks all questions in one run of the program, and has a line for each that it gave up.
func waiter(t *testing.T, questions []question, limit time.Duration) map[string]string {
	t.Helper()
	var checks []map[string]any
	for i, q := range questions {
		checks = append(checks, q.check(i, limit))
	}
	spec, err := json.Marshal(map[string]any{"v": 1, "checks": checks, "message": ""})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--spec", string(spec)).CombinedOutput()
	if err != nil {
		t.Fatalf("the waiter failed: %v: %.2000s", err, out)
	}
	gaveUp := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, why, _ := strings.Cut(line, " (")
		gaveUp[name] = why
	}
	return gaveUp
}

// compare asks the kubelet and the waiter, sixty servers at a time, and returns how many servers were found ready.
func compare(t *testing.T, questions []question) (ready int) {
	t.Helper()
	docs := documentation(t)
	for some := range slices.Chunk(questions, 60) {
		said := make([]string, len(some))
		passed := make([]bool, len(some))
		var all sync.WaitGroup
		for i, q := range some {
			all.Go(func() { passed[i], said[i] = q.kubelet(attempt) })
		}
		gaveUp := waiter(t, some, attempt)
		all.Wait()
		for i, q := range some {
			why, failed := gaveUp[fmt.Sprint(i)]
			if differ := passed[i] == failed; differ != (q.purpose != "") {
				passed[i], said[i] = q.kubelet(patience)
				why, failed = waiter(t, []question{q}, patience)["0"]
			}
			if passed[i] {
				ready++
			}
			switch same := passed[i] == !failed; {
			case !same && q.purpose == "":
				t.Errorf("%s: the kubelet says ready %v (%s), and the waiter %v (%s)", q.name, passed[i], short(said[i]), !failed, short(why))
			case same && q.purpose != "":
				t.Errorf("%s: both say ready %v, but the decision says they differ (%s)", q.name, passed[i], q.purpose)
			case q.purpose != "" && !strings.Contains(docs, "| "+q.purpose+" |"):
				t.Errorf("%s: the decision has no row %q", q.name, q.purpose)
			}
		}
	}
	return ready
}

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/decisions/0020-a-probe-asked-by-the-waiter.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func short(text string) string { return fmt.Sprintf("%.300q", text) }

// server answers each connection by hand.
func server(t *testing.T, serve func(net.Conn)) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(2 * attempt))
				serve(conn)
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

var agent = regexp.MustCompile(`(?i)(user-agent: kube-probe/)\S+`)

// normal is a request without what must differ: who asks, and the order of the headers.
func normal(request string) string {
	line, rest, _ := strings.Cut(agent.ReplaceAllString(strings.TrimSuffix(request, "\r\n\r\n"), "$1"), "\r\n")
	headers := strings.Split(rest, "\r\n")
	slices.Sort(headers)
	return line + "\n" + strings.Join(headers, "\n")
}
