package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUsage(t *testing.T) {
	ok := check1("tcp://:1", nil)
	for name, c := range map[string]struct {
		args []string
		why  string
	}{
		"nothing":        {nil, "nothing to wait for"},
		"flag":           {[]string{"--wat"}, "-wat"},
		"install":        {[]string{"install"}, "one folder"},
		"both":           {[]string{"--spec", "{}", "tcp://:1"}, "stands alone"},
		"timeout":        {[]string{"--timeout", "1.5s", "tcp://:1"}, `"1.5s" is not a duration`},
		"short":          {[]string{"--timeout", "99ms", "tcp://:1"}, "100ms to 10m"},
		"long":           {[]string{"tcp://:1", "--timeout", "10m1ms"}, "100ms to 10m"},
		"check":          {[]string{"tcp://:1", "http://x"}, "character 9"},
		"JSON":           {[]string{"--spec", `{"v":1,`}, "not the JSON"},
		"two":            {[]string{"--spec", `{"v":1}{}`}, "not the JSON"},
		"null":           {[]string{"--spec", `null`}, `"v":1 is missing`},
		"array":          {[]string{"--spec", `[]`}, "not the JSON"},
		"no version":     {[]string{"--spec", `{"checks":[]}`}, `"v":1 is missing`},
		"version":        {[]string{"--spec", `{"v":2,"checks":"of a kind unknown"}`}, "version 2, but this waiter (1.2.3-test) knows only 1"},
		"field":          {[]string{"--spec", `{"v":1,"jitter":1}`}, `unknown field "jitter"`},
		"field inside":   {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"jitter": 1}))}, `unknown field "jitter"`},
		"type":           {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"timeout": 5}))}, "timeout"},
		"empty":          {[]string{"--spec", `{"v":1,"checks":[]}`}, "checks is empty"},
		"container":      {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"container": ""}))}, "container is missing"},
		"bad check":      {[]string{"--spec", specOf(t, nil, ok, check1("probe", nil))}, "checks[1] (envoy): check"},
		"no timeout":     {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"timeout": ""}))}, "timeout"},
		"onTimeout":      {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"onTimeout": "a\n'\"$(b)"}))}, `onTimeout is fail or continue, not "a\n'\"$(b)"`},
		"attemptTimeout": {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"attemptTimeout": "0s"}))}, "attemptTimeout"},
		"successes":      {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"successes": 0}))}, "at least 1"},
		"headers of tcp": {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"headers": []m{{"name": "a", "value": "b"}}}))}, "only http"},
		"path of tcp":    {[]string{"--spec", specOf(t, nil, check1("tcp://:1", m{"path": "/"}))}, "only http"},
		"header name":    {[]string{"--spec", specOf(t, nil, check1("http://:1", m{"headers": []m{{"name": "a b", "value": "b"}}}))}, "not a header name"},
		"before":         {[]string{"--spec", specOf(t, m{"before": m{}}, ok)}, "exactly one of"},
		"before two":     {[]string{"--spec", specOf(t, m{"before": m{"exec": []string{"a"}, "sleep": m{"seconds": 1}}}, ok)}, "exactly one of"},
		"before tcp":     {[]string{"--spec", specOf(t, m{"before": m{"tcpSocket": m{"port": 1}}}, ok)}, `unknown field "tcpSocket"`},
		"before exec":    {[]string{"--spec", specOf(t, m{"before": m{"exec": []string{}}}, ok)}, "the command is empty"},
		"before sleep":   {[]string{"--spec", specOf(t, m{"before": m{"sleep": m{"seconds": -1}}}, ok)}, "seconds"},
		"before port":    {[]string{"--spec", specOf(t, m{"before": m{"httpGet": m{"port": 0}}}, ok)}, "port"},
		"before name":    {[]string{"--spec", specOf(t, m{"before": m{"httpGet": m{"port": "http"}}}, ok)}, "port"},
		"lock file":      {[]string{"--spec", specOf(t, m{"lock": m{"file": "ready-1", "key": "A"}}, ok)}, "lock: file is an absolute path"},
		"lock name":      {[]string{"--spec", specOf(t, m{"lock": m{"file": "/etc/passwd", "key": "A"}}, ok)}, "lock: file is an absolute path"},
		"lock key":       {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A='"}}, ok)}, "lock: key is the name of a variable"},
		"lock earlier":   {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A", "earlier": []m{{"check": "tcp://:1"}}}}, ok)}, "lock: earlier[0]: container is missing"},
		"lock hand-over": {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A", "handOver": "soon"}}, ok)}, "lock: handOver: "},
		"lock lease":     {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A", "lease": "on"}}, ok)}, "lock: lease is off, or missing"},
		"lock restarts":  {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A", "restarts": "never"}}, ok)}, "lock: restarts: "},
		"long restarts":  {[]string{"--spec", specOf(t, m{"lock": m{"file": "/x/ready-1", "key": "A", "restarts": "31s"}}, ok)}, "31s is more than 30s"},
		"install reset":  {[]string{"install", "/x", "--rest", "/y"}, "install takes one folder"},
		"why two":        {[]string{"--why", "/x", "/y"}, "--why takes one folder"},
		"before scheme":  {[]string{"--spec", specOf(t, m{"before": m{"httpGet": m{"port": 1, "scheme": "x"}}}, ok)}, "scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run1(t, c.args...)
			r.want(t, exitUsage, c.why)
			if strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Errorf("more than one line: %q", r.stderr)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	r := run1(t, "--help")
	if r.want(t, exitReady); r.stdout != help {
		t.Errorf("%q", r.stdout)
	}
	r = run1(t, "--version")
	if r.want(t, exitReady); r.stdout != "wait 1.2.3-test\n" {
		t.Errorf("%q", r.stdout)
	}
}

func TestForPeople(t *testing.T) {
	port, closed := portOf(listen(t, "tcp", "127.0.0.1:0")), freePort(t)
	run1(t, "tcp://:"+port, "file:///", "--timeout", "5s").want(t, exitReady)
	r := run1(t, "--timeout=200ms", "tcp://:"+port, "tcp://:"+closed)
	if r.want(t, exitNotReady, "connection refused"); !strings.HasPrefix(r.stderr, "tcp://:"+closed+" was not ready after ") {
		t.Errorf("%q", r.stderr)
	}
}

func TestTierOfTwo(t *testing.T) {
	port, closed := portOf(listen(t, "tcp", "127.0.0.1:0")), freePort(t)
	const why = "may have crashed, and nothing restarts it while this hook runs"
	brief := m{"timeout": "200ms"}
	open, shut := check1("tcp://:"+port, brief), check1("tcp://:"+closed, m{"timeout": "200ms", "container": "sc"})
	run1(t, "--spec", specOf(t, nil, shut, open)).want(t, exitNotReady, "sc (tcp://:"+closed+")", "it never answered and "+why)

	// The hook's own container has not crashed: then the hook would have ended.
	r := run1(t, "--spec", specOf(t, nil, open, shut))
	if r.want(t, exitNotReady, "connection refused"); strings.Contains(r.stderr, why) {
		t.Errorf("%q", r.stderr)
	}
	// One that answers is not down.
	busy := "http://:" + serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })) + "/"
	r = run1(t, "--spec", specOf(t, nil, check1(busy, brief), open))
	if r.want(t, exitNotReady, "answered 503"); strings.Contains(r.stderr, why) {
		t.Errorf("%q", r.stderr)
	}
}

func TestTimeouts(t *testing.T) {
	closed := "tcp://127.0.0.1:" + freePort(t)
	g := opensLate(func() {})
	late := "http://:" + serve(t, answer(g)) + "/ready?a=b%20c&d"
	fail := check1(closed, m{"container": "fails", "timeout": "200ms"})
	goOn := check1(closed, m{"container": "optional", "timeout": "100ms", "onTimeout": "continue"})
	message := filepath.Join(t.TempDir(), "message")

	// Going on without one doesn't mean going on without the others.
	r := run1(t, "--spec", specOf(t, m{"message": message}, goOn, check1(late, nil)))
	g.wantBefore(t, r)
	if !strings.HasPrefix(r.stdout, "optional (tcp://") || !strings.HasSuffix(r.stdout, "going on without it\n") {
		t.Errorf("%q", r.stdout)
	}
	if _, err := os.Stat(message); err == nil {
		t.Error("there is a termination message")
	}

	r = run1(t, "--spec", specOf(t, m{"message": message}, goOn, fail, check1(late, nil)))
	r.want(t, exitNotReady, "fails (tcp://", "tried ", "connection refused")
	text, err := os.ReadFile(message)
	if err != nil || string(text) != r.stderr || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("the message is %q, and it said %q (%v)", text, r.stderr, err)
	}

	// Both fail at once: both are named, in the order of the spec. The one that never gets ready isn't waited for.
	also := check1(closed, m{"container": "also", "timeout": "200ms"})
	r = waitFor(t, check1(closed, m{"timeout": "10m"}), fail, also)
	r.want(t, exitNotReady, "fails (tcp://", "\nalso (tcp://")
}

func TestMessageCannotBeWritten(t *testing.T) {
	fail := check1("file:///nope", m{"timeout": "100ms"})
	run1(t, "--spec", specOf(t, m{"message": "/nope/message"}, fail)).want(t, exitNotReady, "envoy (file:///nope)", "could not be written")
}

func TestMessageReplacesWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(path, []byte(strings.Repeat("old", 9999)), 0o600); err != nil {
		t.Fatal(err)
	}
	run1(t, "--spec", specOf(t, m{"message": path}, check1("file:///nope", m{"timeout": "100ms"}))).want(t, exitNotReady, "envoy")
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "old") {
		t.Errorf("%q", text)
	}
}

func TestMessageFitsTheKubelet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "message")
	var checks []m
	for range 40 {
		checks = append(checks, check1("file:///nope/"+strings.Repeat("ü", 1000)+"\n\x01", m{"timeout": "100ms"}))
	}
	run1(t, "--spec", specOf(t, m{"message": path}, checks...)).want(t, exitNotReady, "more\n")
	text, err := os.ReadFile(path)
	if err != nil || len(text) > maxMessage || !utf8.Valid(text) || strings.ContainsAny(string(text), "\x01") {
		t.Errorf("%d bytes, %v: %q", len(text), err, text)
	}
}

func TestHeaderValuesStaySecret(t *testing.T) {
	const secret = "s3cr3t"
	path := filepath.Join(t.TempDir(), "message")
	for _, value := range []string{secret, secret + "\r\nX: y", "\x00" + secret} {
		headers := []m{{"name": "Authorization", "value": value}}
		port := serve(t, echoSecret)
		for _, spec := range []string{
			specOf(t, m{"message": path}, check1("http://:"+port, m{"headers": headers, "timeout": "100ms"})),
			specOf(t, m{"message": path}, check1("tcp://:"+port, m{"headers": headers, "timeout": "100ms"})),
			specOf(t, m{"before": httpGet(freePort(t), m{"httpHeaders": headers})}),
			specOf(t, nil, check1("http://:"+port, m{"headers": headers}))[1:],
		} {
			r := run1(t, "--spec", spec)
			text, _ := os.ReadFile(path)
			if r.code == exitReady || strings.Contains(r.stdout+r.stderr+string(text), secret) {
				t.Errorf("%d: %q %q", r.code, r.stdout+r.stderr, text)
			}
		}
	}
}

// net/http quotes what it can't read.
func TestOddAnswersAreNotQuoted(t *testing.T) {
	const secret, ok = "s3cr3t", "HTTP/1.1 200 OK\r\n"
	for _, answer := range []string{
		secret + "\r\n\r\n", "HTTP/1.1 " + secret + "\r\n\r\n", "HTTP/" + secret + " 200 OK\r\n\r\n", ok + secret + "\r\n\r\n", ok + " " + secret + ": a\r\n\r\n",
		ok + "Content-Length: " + secret + "\r\n\r\n", ok + "Content-Length: 1\r\nContent-Length: " + secret + "\r\n\r\n", ok + "Transfer-Encoding: " + secret + "\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n" + secret + "\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + secret + "\r\n\r\n",
		"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:" + secret + "\r\n\r\n", "HTTP/1.1 302 x\r\nLocation: " + secret + "://127.0.0.1/\r\n\r\n", "HTTP/1.1 302 x\r\nLocation: http:///" + secret + "\r\n\r\n",
		"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/" + secret + "\r\n\r\n",
	} {
		port := rawServer(t, func(c net.Conn) { readRequest(c); io.WriteString(c, answer) })
		r := waitFor(t, check1("http://127.0.0.1:"+port, m{"timeout": "100ms"}))
		if r.code == exitReady && !strings.Contains(answer, "http:///") || strings.Contains(r.stdout+r.stderr, secret) {
			t.Errorf("%q: %d: %q", answer, r.code, r.stdout+r.stderr)
		}
	}
}

func TestEveryDurationOfTheGrammar(t *testing.T) {
	for text, ms := range map[string]int64{"60s": 60000, "1m30s": 90000, "500ms": 500, "1h1ms": 3600001, "90s": 90000} {
		if d, err := parseDuration(text); err != nil || d.Milliseconds() != ms {
			t.Error(text, d, err)
		}
	}
	for _, text := range []string{"", "0s", "1", "s", "1.5s", "-1s", "+1s", "1s1m", "1s1s", "1us", "1 s", "1d", "99999999999s", "1sm"} {
		if d, err := parseDuration(text); err == nil {
			t.Error(text, d)
		}
	}
}

func FuzzSpec(f *testing.F) {
	text, _ := json.Marshal(m{"v": 1, "checks": []m{check1("tcp://:1", nil)}, "before": m{"sleep": m{"seconds": 1}}})
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) { parseSpec(text) })
}
