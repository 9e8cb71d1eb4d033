package differential

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func rounds() int {
	n, err := strconv.Atoi(os.Getenv("TEST_RUNS"))
	if err != nil {
		return 1
	}
	return n
}

// random is seeded, so that a failure can be repeated; each test has its own.
func random(t *testing.T) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func readRequest(conn io.Reader) string {
	var b []byte
	for one := make([]byte, 1); !bytes.HasSuffix(b, []byte("\r\n\r\n")); b = append(b, one[0]) {
		if _, err := conn.Read(one); err != nil {
			break
		}
	}
	return string(b)
}

func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, text)
	}
}

const (
	hangs  = "a body that hangs"
	ok     = "HTTP/1.1 200 OK\r\n"
	zeroes = "0123456789"
)

func TestAnswers(t *testing.T) {
	large := func(n int) string { return strings.Repeat(zeroes, n/10) }
	texts := map[string]string{
		"nothing": "", "no status": "HTTP/1.1\r\n\r\n", "a word": "hello\r\n\r\n", "SSH": "SSH-2.0-x\r\n", "lower case": "http/1.1 200 OK\r\n\r\n",
		"header of 1 MiB": ok + "X: " + large(1<<20) + "\r\n\r\n", "headers of 11 MiB": ok + strings.Repeat("X: "+large(1000)+"\r\n", 11<<10) + "\r\n",
		"11 MiB of hints":           strings.Repeat("HTTP/1.1 103 x\r\nX: "+large(1000)+"\r\n\r\n", 11<<10) + ok + "\r\n",
		"100 hints":                 strings.Repeat("HTTP/1.1 103 x\r\n\r\n", 100) + ok + "\r\n",
		"switches":                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		"early switch":              "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 101 x\r\n\r\n" + ok + "\r\n",
		"body of 10 KiB cut behind": ok + "Content-Length: 20000\r\n\r\n" + large(10<<10), "body cut before": ok + "Content-Length: 20000\r\n\r\n" + large(10000),
		"chunks of a byte":                   ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 2000) + "0\r\n\r\n",
		"long extensions":                    ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+large(1000)+"\r\nx\r\n", 30) + "0\r\n\r\n",
		"longer extension":                   ok + "Transfer-Encoding: chunked\r\n\r\n1;" + large(5000) + "\r\nx\r\n0\r\n\r\n",
		"long trailer":                       ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + large(5000) + "\r\n\r\n",
		"trailer":                            ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + large(3000) + "\r\n\r\n",
		"no last line":                       ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
		"many zeroes":                        ok + "Transfer-Encoding: chunked\r\n\r\n00000000000000001\r\nx\r\n0\r\n\r\n",
		"a Location of 5 KB that leads back": "HTTP/1.1 302 x\r\nLocation: http://elsewhere.invalid/" + large(5000) + "\r\n\r\n",
	}
	for _, code := range []int{0, 99, 100, 102, 199, 200, 204, 206, 299, 300, 301, 302, 304, 305, 307, 399, 400, 401, 404, 500, 503, 599, 600, 999} {
		texts[fmt.Sprint("code ", code)] = fmt.Sprintf("HTTP/1.1 %03d x\r\n\r\n", code)
		texts[fmt.Sprint("late code ", code)] = fmt.Sprintf("HTTP/1.1 100\r\n\r\nHTTP/1.0 %03d\n\n", code)
	}
	var questions []question
	for name, text := range texts {
		questions = append(questions, question{name: name, scheme: "http", port: server(t, says(text))})
	}
	questions = append(questions,
		question{name: "headers of 6 MiB", scheme: "http", port: server(t, says(ok+strings.Repeat("X: "+large(1000)+"\r\n", 6<<10)+"\r\n")), purpose: "more than 4 MiB of headers"},
		question{name: hangs, scheme: "http", port: server(t, func(c net.Conn) { says(ok + "Content-Length: 5\r\n\r\nabc")(c); io.Copy(io.Discard, c) })},
		question{name: "headers that hang", scheme: "http", port: server(t, func(c net.Conn) { says(ok)(c); io.Copy(io.Discard, c) })},
		question{name: "a reset in the body", scheme: "http", port: server(t, func(c net.Conn) { says(ok + "\r\nabc")(c); c.(*net.TCPConn).SetLinger(0) })},
		question{name: "answers before it is asked", scheme: "http", port: server(t, func(c net.Conn) { io.WriteString(c, ok+"Content-Length: 0\r\n\r\n"); readRequest(c) })},
	)
	compare(t, questions)
}

// Parts of answers, put together at random: some fit, most don't.
func TestRandomAnswers(t *testing.T) {
	r := random(t)
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var questions []question
	for i := range 200 * rounds() {
		text := ""
		for range r.IntN(2) {
			text += "HTTP/1.1 " + pick("100", "103", "102 x") + "\r\n" + pick("", "A: b\r\n", "Content-Length: 1\r\n", "bad\r\n") + "\r\n"
		}
		text += pick("HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.0 200 x", "HTTP/2.0 204 x", "HTTP/1.1  200 x", "HTTP/1.1 302 x", "HTTP/1.1 99 x", "HTTP/1.1 +20 x") + pick("\r\n", "\r\n", "\n")
		for range r.IntN(5) {
			text += pick("Content-Length: 3", "Content-Length: 3", "Content-Length: 4", "content-length:3 ", "Content-Length: 3\r\n ", "Content-Length : 8", "Content-Length: ", "Content-Length: 0x3",
				"Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "transfer-encoding:  Chunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Trailer: X", "Trailer: content-length",
				"Location: /", "Location:", "X:\t y\r\n\tz", "X: \x80", "X: \x00", "X\x7f: y", "X", ": y", " X: y", "X Y: z", "X\t: y", "Connection: close", "X: y\r") + pick("\r\n", "\r\n", "\r\n", "\n")
		}
		text += pick("\r\n", "\r\n", "\r\n", "\n", "") + pick("", "abc", "abcd", "3\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3;x\r\nabc\r\n0\r\nX: y\r\n\r\n", "3 \r\nabc\r\n00\r\n\r\n", "3 ;x\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n", "3\r\nabcd", "g\r\n", "-1\r\n", "0\r\n", "0\r\n\r\nmore", "0\r\n\n")
		questions = append(questions, question{name: fmt.Sprintf("%d %q", i, text), scheme: "http", port: server(t, says(text))})
	}
	if ready := compare(t, questions); ready < len(questions)/10 {
		t.Errorf("only %d of %d answers were taken: too few to prove anything", ready, len(questions))
	}
}

// What is sent must be the same, but for the program's name and the order of headers.
func TestRequests(t *testing.T) {
	r := random(t)
	header := func(name, value string) v1.HTTPHeader { return v1.HTTPHeader{Name: name, Value: value} }
	type request struct {
		path    string
		headers []v1.HTTPHeader
	}
	var requests []request
	for _, path := range []string{"", "/", "ready", "/ready?a=b&c", "?a=b", "//foo/bar", "//foo", "http://o/x", "https://u:p@o:1/x?y#z", "//u@o/x", "/a//b", "///a", "/a b", "/%zz", "/%zz#f", "/a#f", "/a%2fb%20c", "/ü", "/a;b=c", "/..//../x", "*", "/*", "a:b/c", "mailto:x", "x:", "/a:b", "/\"<>\\^`{|}", "/a?\"<>", "/[x]", "/?", "/'()!$,", "//[::1]/x", "//a b/x", "http:///x", "http:x"} {
		requests = append(requests, request{path: path})
	}
	for _, headers := range [][]v1.HTTPHeader{
		{header("Host", "a.example")}, {header("host", "a.example:8"), header("Host", "b")}, {header("Host", "")}, {header("Host", "[fe80::1%eth0]:1")}, {header("Host", "a/b c")},
		{header("User-Agent", "x")}, {header("user-agent", "x"), header("User-Agent", "y")}, {header("User-Agent", "")}, {header("User-Agent", ""), header("User-Agent", "y")},
		{header("Accept", "x")}, {header("accept", "x"), header("Accept", "y")}, {header("Accept", "")}, {header("Accept", ""), header("Accept", "y")}, {header("Accept", "x"), header("Accept", "")},
		{header("Connection", "close")}, {header("Connection", "keep-alive")}, {header("Connection", "Upgrade"), header("Upgrade", "h2c")}, {header("Upgrade", "x")}, {header("Connection", "a, Close")},
		{header("Content-Length", "5")}, {header("Transfer-Encoding", "chunked")}, {header("Trailer", "X")}, {header("Expect", "100-continue")}, {header("Range", "bytes=0-1")}, {header("Accept-Encoding", "br")},
		{header("x-mixed-CASE-1", "v")}, {header("X-A", " v\t")}, {header("X-A", "1"), header("x-a", "2")}, {header("Authorization", "Bearer x")}, {header("X-A", "\tü")}, {header("Referer", "x")}, {header("Cookie", "a=b; c=d")},
	} {
		requests = append(requests, request{"/x", headers}, request{"//u:p@h/y", headers})
	}
	letters := []string{"/", "/", "a", "b", "%", "%41", "%2F", "?", "#", ":", "@", "[", "]", " ", "&", "=", "+", "ü", "\"", "http:", "//", "..", ";", "\\", "*"}
	for range 200 * rounds() {
		path := ""
		for range 1 + r.IntN(8) {
			path += letters[r.IntN(len(letters))]
		}
		requests = append(requests, request{path: path})
	}
	var questions []question
	seen := make([]map[string]bool, len(requests))
	var mu sync.Mutex
	for i, request := range requests {
		seen[i] = map[string]bool{}
		port := server(t, func(c net.Conn) {
			text := readRequest(c)
			mu.Lock()
			seen[i][text] = true
			mu.Unlock()
			io.WriteString(c, "HTTP/1.1 204 x\r\n\r\n")
		})
		questions = append(questions, question{name: fmt.Sprintf("%d %.250q", i, request.path), scheme: "http", port: port, path: request.path, headers: request.headers})
	}
	compare(t, questions)
	for i, request := range requests {
		var all []string
		for text := range seen[i] {
			all = append(all, normal(text))
		}
		if slices.Sort(all); len(slices.Compact(all)) > 1 {
			t.Errorf("%q with %q is asked differently:\n%s\n", request.path, request.headers, strings.Join(all, "\n"))
		}
	}
}

func TestRedirects(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/no", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	mux.HandleFunc("/basic", func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "u" || password != "p" {
			w.WriteHeader(401)
		}
	})
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "a.example" {
			w.WriteHeader(400)
		}
	})
	mux.HandleFunc("/referred", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Referer(), "to=/referred") {
			w.WriteHeader(400)
		}
	})
	mux.HandleFunc("/steps/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		if n > 0 {
			http.Redirect(w, r, fmt.Sprint(n-1), 307)
		}
	})
	mux.HandleFunc("/go", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		w.Header().Set("Location", strings.ReplaceAll(r.URL.Query().Get("to"), "HOST", r.Host))
		w.WriteHeader(code)
		if r.URL.Query().Has("hang") {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	plain := httptest.NewServer(mux)
	secure := httptest.NewUnstartedServer(mux)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	port := func(s *httptest.Server) string {
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		return port
	}

	targets := []string{"/ok", "/no", "ok", "?to=/ok&code=302", "//127.0.0.1:" + port(plain) + "/ok", "http://127.0.0.1:" + port(plain) + "/no", "https://127.0.0.1:" + port(secure) + "/ok", "https://127.0.0.1:" + port(secure) + "/no",
		"http://localhost:" + port(plain) + "/no", "http://elsewhere.invalid/", "http://127.0.0.1:1/", "ftp://127.0.0.1/", "mailto:x", "http://127.0.0.1:x/", "%zz", "http://u:p@HOST/basic", "/basic", "/host", "/referred", "#x", "", "/ok#x", "/steps/9", "/steps/10", "/steps/8", "http:///x", "//", "https:ok", "\\ok", "/ok?a b"}
	var questions []question
	for _, scheme := range []string{"http", "https"} {
		from := map[string]string{"http": port(plain), "https": port(secure)}[scheme]
		for i, to := range targets {
			for _, code := range []int{301, 302, 303, 304, 307, 308, 300, 200} {
				if code != 302 && i > 2 && (code != 307 || i%4 > 0) {
					continue
				}
				path := fmt.Sprintf("/go?code=%d&to=%s", code, escape(to))
				questions = append(questions, question{name: fmt.Sprintf("%s %d to %s", scheme, code, to), scheme: scheme, port: from, path: path, headers: []v1.HTTPHeader{{Name: "Host", Value: "a.example"}}})
				if code == 302 {
					questions = append(questions, question{name: fmt.Sprintf("%s to %s without a host", scheme, to), scheme: scheme, port: from, path: path})
				}
			}
		}
		questions = append(questions, question{name: scheme + " hangs", scheme: scheme, port: from, path: "/go?code=302&to=/ok&hang"}, question{name: scheme + " hangs elsewhere", scheme: scheme, port: from, path: "/go?code=302&to=http://elsewhere.invalid/&hang"})
	}
	compare(t, questions)
}

func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func TestTLS(t *testing.T) {
	var questions []question
	add := func(name string, http2 bool, config *tls.Config) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ready") }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS, s.EnableHTTP2 = config, http2
		s.StartTLS()
		t.Cleanup(s.Close)
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		questions = append(questions, question{name: name, scheme: "https", port: port})
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			name := fmt.Sprintf("%s, HTTP/2 %v", tls.VersionName(version), http2)
			add(name, http2, &tls.Config{MinVersion: version, MaxVersion: version})
			add(name+", certificate demanded", http2, &tls.Config{MinVersion: version, MaxVersion: version, ClientAuth: tls.RequireAnyClientCert})
			add(name+", certificate asked for", http2, &tls.Config{MinVersion: version, MaxVersion: version, ClientAuth: tls.RequestClientCert})
		}
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			add("suite "+suite.Name, false, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		}
	}
	for _, protocols := range [][]string{{"h2"}, {"http/1.1"}, {"http/1.0"}, {"x"}, {"http/1.1", "h2"}, {"h2", "x"}} {
		add("ALPN "+strings.Join(protocols, "+"), true, &tls.Config{NextProtos: protocols})
	}
	add("curve P-521", false, &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP521}})
	questions = append(questions,
		question{name: "no TLS", scheme: "https", port: server(t, says(ok+"\r\n"))},
		question{name: "TLS but asked without", scheme: "http", port: questions[0].port},
		question{name: "hangs before the handshake", scheme: "https", port: server(t, func(c net.Conn) { io.Copy(io.Discard, c) })},
		question{name: "no goodbye", scheme: "https", port: secureServer(t, nil, func(c *tls.Conn, raw net.Conn) { says(ok + "\r\nabc")(c); raw.Close() })},
		question{name: "goodbye", scheme: "https", port: secureServer(t, nil, func(c *tls.Conn, raw net.Conn) { says(ok + "\r\nabc")(c); c.Close() })},
		question{name: "TCP", scheme: "tcp", port: server(t, func(net.Conn) {})},
		// A reset while one still connects is found by chance, by either.
		question{name: "TCP that resets", scheme: "tcp", port: server(t, func(c net.Conn) { time.Sleep(time.Second); c.(*net.TCPConn).SetLinger(0) })},
		question{name: "TCP, nobody listens", scheme: "tcp", port: "1"},
	)
	compare(t, questions)
}

// secureServer answers by hand below TLS.
func secureServer(t *testing.T, protocols []string, serve func(*tls.Conn, net.Conn)) (port string) {
	config := &tls.Config{Certificates: certificate(t), NextProtos: protocols}
	return server(t, func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if conn.Handshake() == nil {
			serve(conn, raw)
		}
	})
}

var certificates []tls.Certificate

func certificate(t *testing.T) []tls.Certificate {
	if certificates == nil {
		s := httptest.NewTLSServer(http.NotFoundHandler())
		certificates = s.TLS.Certificates
		s.Close()
	}
	return certificates
}
