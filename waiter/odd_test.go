package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Servers that speak HTTP in odd ways. What the kubelet says of them is asked in differential/.

func tlsServer(t *testing.T, config *tls.Config, http2 bool, handler http.HandlerFunc) (port string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS, s.EnableHTTP2 = config, http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return portOf(s.Listener)
}

func TestHTTP2Only(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != "HTTP/2.0" || r.URL.RawQuery != "a=b" || r.Header.Get("X-A") != "1" || r.Host != "a.example" {
			w.WriteHeader(400)
		}
		io.WriteString(w, strings.Repeat("y", 100<<10))
	})
	mux.HandleFunc("/no", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })
	mux.Handle("/to-no", http.RedirectHandler("/no", 302))
	mux.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); w.WriteHeader(204) })
	url := "https://127.0.0.1:" + tlsServer(t, &tls.Config{NextProtos: []string{"h2"}}, true, mux.ServeHTTP)
	headers := []m{{"name": "Host", "value": "a.example"}, {"name": "X-A", "value": "1"}, {"name": "Connection", "value": "close"}}
	waitFor(t, check1(url+"/ready?a=b", m{"headers": headers})).want(t, exitReady)
	waitFor(t, check1(url+"/hints", nil)).want(t, exitReady)
	waitFor(t, check1(url+"/to-no", m{"timeout": "1s"})).want(t, exitNotReady, "answered 503")
}

func TestHTTP2BadBodies(t *testing.T) {
	url := "https://127.0.0.1:" + tlsServer(t, nil, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "5")
			w.Write([]byte("abc"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/hangs":
			w.Write([]byte("abc"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	waitFor(t, check1(url+"/cut", m{"timeout": "1s"})).want(t, exitNotReady, "broke off in its body: ")
	waitFor(t, check1(url+"/hangs", m{"timeout": "1s"})).want(t, exitNotReady, "no answer within 1s")
}

// A hook's httpGet speaks HTTP/1 only, and takes any answer.
func TestHookStaysWithHTTP1(t *testing.T) {
	var proto string
	port := tlsServer(t, nil, true, func(w http.ResponseWriter, r *http.Request) { proto = r.Proto; w.WriteHeader(500) })
	runBefore(t, httpGet(port, m{"scheme": "HTTPS"})).want(t, exitReady)
	if proto != "HTTP/1.1" {
		t.Error(proto)
	}
	cut := rawServer(t, func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
	})
	runBefore(t, httpGet(cut, nil)).want(t, exitReady)
}

func TestClientCertificateDemanded(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			port := tlsServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}, http2, func(http.ResponseWriter, *http.Request) {})
			waitFor(t, check1("https://:"+port, m{"timeout": "1s"})).want(t, exitNotReady, "demands a client certificate")
		}
	}
}

func TestHTTPMalformed(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct{ text, why string }{
		"two lengths":          {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "two different Content-Lengths"},
		"bad length":           {ok + "Content-Length: +1\r\n\r\na", "not a number"},
		"bad length on hints":  {"HTTP/1.1 103 x\r\nContent-Length: x\r\n\r\n" + ok + "\r\n", "not a number"},
		"unknown encoding":     {ok + "Transfer-Encoding: gzip\r\n\r\na", "Transfer-Encoding"},
		"two encodings":        {ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding"},
		"no colon":             {ok + "abc\r\n\r\n", "malformed header"},
		"no name":              {ok + ": abc\r\n\r\n", "malformed header"},
		"bad name":             {ok + "a(b: c\r\n\r\n", "malformed header"},
		"bad value":            {ok + "a: b\x01c\r\n\r\n", "malformed header"},
		"space first":          {ok + " a: b\r\n\r\n", "malformed header"},
		"lone CR":              {ok + "a: b\rc\r\n\r\n", "malformed header"},
		"cut body":             {ok + "Content-Length: 5\r\n\r\nabc", "broke off in its body: "},
		"cut chunk":            {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "broke off in its body: "},
		"no last chunk":        {ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "broke off in its body: "},
		"bad chunk size":       {ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n", "a chunk is malformed"},
		"chunk without its CR": {ok + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", "a chunk is malformed"},
		"chunk too long":       {ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "a chunk is malformed"},
		"bad trailer":          {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nabc\r\n\r\n", "the trailer is malformed"},
		"smuggled trailer":     {ok + "Transfer-Encoding: chunked\r\nTrailer: a, content-length\r\n\r\n0\r\n\r\n", "Trailer"},
		"version":              {"HTTP/1.10 200 OK\r\n\r\n", "not HTTP/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := rawServer(t, func(conn net.Conn) { readRequest(conn); io.WriteString(conn, c.text) })
			waitFor(t, check1("http://127.0.0.1:"+port, m{"timeout": "1s"})).want(t, exitNotReady, c.why)
		})
	}
}

func TestHTTPOddButFine(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, text := range map[string]string{
		"equal lengths":     ok + "Content-Length: 1\r\ncontent-length:  1 \r\n\r\na",
		"continued":         ok + "a: b\r\n  c\r\nContent-Length:\r\n\t3\r\n\r\nabc",
		"space before :":    ok + "Content-Length : 9\r\n\r\n",
		"obs-text":          ok + "a: \xff\xfe\r\n\r\n",
		"chunks":            ok + "Transfer-Encoding: Chunked\r\nContent-Length: 7\r\n\r\n3;x=y\r\nabc\r\n10 \r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 encoding": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nabc",
		"no content":        "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n",
		"large":             ok + "Content-Length: 20000\r\n\r\n" + strings.Repeat("y", 15000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := rawServer(t, func(conn net.Conn) { readRequest(conn); io.WriteString(conn, text) })
			waitFor(t, check1("http://127.0.0.1:"+port, nil)).want(t, exitReady)
		})
	}
}

func TestHTTPBodyThatHangs(t *testing.T) {
	port := rawServer(t, func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
		io.Copy(io.Discard, c)
	})
	waitFor(t, check1("http://:"+port, m{"timeout": "1s", "attemptTimeout": "100ms"})).want(t, exitNotReady, "no answer within 100ms")
}

// A probe's path as the kubelet reads it, and a chained hook's.
func TestPathsOfProbes(t *testing.T) {
	requests := make(chan string, 10)
	port := rawServer(t, func(c net.Conn) {
		line, _, _ := strings.Cut(readRequest(c), "\r\n")
		requests <- line
		io.WriteString(c, "HTTP/1.1 204 x\r\n\r\n")
	})
	for path, want := range map[string]string{
		"//foo/bar": "/bar", "http://o/x": "/x", "": "/", "ready": "/ready", "?a=b": "/?a=b", "/%zz#c": "/%25zz%23c", "/a%2Fb": "/a%2Fb", "/a b": "/a%20b",
	} {
		waitFor(t, check1("http://127.0.0.1:"+port+"/", m{"path": path})).want(t, exitReady)
		if got := <-requests; got != "GET "+want+" HTTP/1.1" {
			t.Errorf("%q: %q", path, got)
		}
		runBefore(t, httpGet(port, m{"path": path})).want(t, exitReady)
		if got := <-requests; got != "GET "+want+" HTTP/1.1" {
			t.Errorf("the hook's %q: %q", path, got)
		}
	}
	waitFor(t, check1("http://127.0.0.1:"+port+"/", m{"path": "mailto:x", "timeout": "200ms"})).want(t, exitNotReady, "can't be asked")
}

func TestHeadersGivenTwice(t *testing.T) {
	requests := make(chan string, 10)
	port := rawServer(t, func(c net.Conn) {
		requests <- readRequest(c)
		io.WriteString(c, "HTTP/1.1 204 x\r\n\r\n")
	})
	ask := func(headers ...m) string {
		waitFor(t, check1("http://127.0.0.1:"+port+"/", m{"headers": headers})).want(t, exitReady)
		return <-requests
	}
	h := func(name, value string) m { return m{"name": name, "value": value} }
	if got := ask(h("user-agent", "a"), h("User-Agent", "b")); strings.Count(strings.ToLower(got), "user-agent") != 1 || !strings.Contains(got, "User-Agent: a\r\n") {
		t.Errorf("%q", got)
	}
	if got := ask(h("User-Agent", ""), h("User-Agent", "b")); strings.Contains(got, "User-Agent") {
		t.Errorf("%q", got)
	}
	if got := ask(h("Accept", ""), h("accept", "b")); strings.Contains(strings.ToLower(got), "accept") {
		t.Errorf("%q", got)
	}
	if got := ask(h("accept", "a"), h("ACCEPT", "b")); !strings.Contains(got, "Accept: a\r\nAccept: b\r\n") || strings.Contains(got, "*/*") {
		t.Errorf("%q", got)
	}
}

// Hosts that a hook may have, though no check can: the hook fails as it did without us, and not the spec.
func TestBeforeAnyHost(t *testing.T) {
	for _, host := range []string{"*", "a b", "fe80::1%nope", "bücher.invalid"} {
		runBefore(t, httpGet("80", m{"host": host})).want(t, exitNotReady, "httpGet http://")
	}
	port := listen6HTTP(t)
	runBefore(t, httpGet(port, m{"host": "::1%lo"})).want(t, exitReady)
}

func TestLongAttempt(t *testing.T) {
	port := portOf(listen(t, "tcp", "127.0.0.1:0"))
	for _, text := range []string{"36000000s", "10000h", "2147483647s", "596523h14m7s"} {
		waitFor(t, check1("tcp://:"+port, m{"attemptTimeout": text})).want(t, exitReady)
	}
}

// A gRPC answer of any make: headers, data, trailers.
func grpcServer(t *testing.T, headers http.Header, data []byte, trailers http.Header) (port string) {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, MaxHeaderBytes: 32 << 20, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for name, values := range headers {
			w.Header()[name] = values
		}
		w.WriteHeader(200)
		w.Write(data)
		for name, values := range trailers {
			w.Header()[http.TrailerPrefix+name] = values
		}
	})}
	l := listen(t, "tcp", "127.0.0.1:0")
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return portOf(l)
}

func framed(compressed byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(message))), message...)
}

func gzipped(message []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(message)
	w.Close()
	return b.Bytes()
}

func TestGRPCOdd(t *testing.T) {
	grpc := http.Header{"Content-Type": {"application/grpc+proto"}}
	zipped := http.Header{"Content-Type": {"application/grpc"}, "Grpc-Encoding": {"gzip"}}
	fine := http.Header{"Grpc-Status": {"0"}}
	large := http.Header{"Grpc-Status": {"0"}}
	for i := range 200 {
		large.Set(fmt.Sprint("X-", i), strings.Repeat("y", 5000))
	}
	for name, c := range map[string]struct {
		headers  http.Header
		data     []byte
		trailers http.Header
		why      string
	}{
		"content type":      {http.Header{"Content-Type": {"text/plain"}}, isServing, fine, `content-type "text/plain", not gRPC`},
		"grpc-web":          {http.Header{"Content-Type": {"application/grpc-web"}}, isServing, fine, "not gRPC"},
		"codec":             {grpc, isServing, fine, ""},
		"huge trailers":     {grpc, isServing, large, ""},
		"huge headers":      {large.Clone(), isServing, fine, "not gRPC"},
		"gzip":              {zipped, framed(1, gzipped([]byte{8, 1})), fine, ""},
		"gzip not serving":  {zipped, framed(1, gzipped([]byte{8, 2})), fine, "NOT_SERVING"},
		"not compressed":    {zipped, isServing, fine, ""},
		"unknown encoding":  {http.Header{"Content-Type": {"application/grpc"}, "Grpc-Encoding": {"zstd"}}, framed(1, []byte{8, 1}), fine, `compressed by "zstd"`},
		"two messages":      {grpc, append(bytes.Clone(isServing), isServing...), fine, "not gRPC"},
		"more fields":       {grpc, framed(0, []byte{0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x08, 0x01, 0x1d, 1, 2, 3, 4}), fine, ""},
		"status as 64 bits": {grpc, framed(0, []byte{0x08, 0x81, 0x80, 0x80, 0x80, 0x10}), fine, ""},
		"00":                {grpc, isServing, http.Header{"Grpc-Status": {"00"}}, ""},
		"status in headers": {http.Header{"Content-Type": {"application/grpc"}, "Grpc-Status": {"0"}}, isServing, nil, "without a gRPC status"},
		"message":           {grpc, nil, http.Header{"Grpc-Status": {"14"}, "Grpc-Message": {"it%E2%80%99s 50%% not %zz y%e"}}, "gRPC status 14: it’s 50%% not %zz y%e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := grpcServer(t, c.headers, c.data, c.trailers)
			path := filepath.Join(t.TempDir(), "message")
			r := run1(t, "--spec", specOf(t, m{"message": path}, check1("grpc://127.0.0.1:"+port, m{"timeout": "3s", "attemptTimeout": "2s"})))
			if c.why == "" {
				r.want(t, exitReady)
				return
			}
			r.want(t, exitNotReady, c.why)
			if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), c.why) {
				t.Errorf("%v: %q", err, text)
			}
		})
	}
}

func TestUserInfoOfARedirect(t *testing.T) {
	got := make(chan string, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		got <- r.Header.Get("Referer")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://u:p@"+r.Host+"/ok", 302)
	})
	port := serve(t, mux.ServeHTTP)
	waitFor(t, check1("http://127.0.0.1:"+port+"/a", nil)).want(t, exitReady)
	if basic := <-got; basic != "Basic "+base64.StdEncoding.EncodeToString([]byte("u:p")) {
		t.Error(basic)
	}
	if referer := <-got; referer != "http://127.0.0.1:"+port+"/a" {
		t.Error(referer)
	}
}
