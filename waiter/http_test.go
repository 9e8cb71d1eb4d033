package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func serve(t *testing.T, handler http.HandlerFunc) (port string) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return portOf(s.Listener)
}

func answer(g *gate) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" || r.URL.RawQuery != "a=b%20c&d" {
			w.WriteHeader(404)
		} else if !g.open() {
			w.WriteHeader(503)
		}
	}
}

func TestHTTPReadyLate(t *testing.T) {
	g := opensLate(func() {})
	g.wantBefore(t, waitFor(t, check1("http://:"+serve(t, answer(g))+"/ready?a=b%20c&d", nil)))
}

func TestHTTPListensLate(t *testing.T) {
	port := freePort(t)
	server := &http.Server{Handler: http.NotFoundHandler()}
	t.Cleanup(func() { server.Close() })
	g := opensLate(func() {
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			go server.Serve(l)
		}
	})
	g.wantBefore(t, waitFor(t, check1("http://127.0.0.1:"+port, nil)))
}

func TestHTTPSReadyLateSelfSigned(t *testing.T) {
	g := opensLate(func() {})
	s := httptest.NewTLSServer(answer(g))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	g.wantBefore(t, waitFor(t, check1("https://localhost:"+portOf(s.Listener)+"/ready?a=b%20c&d", nil)))
}

func TestHTTPCodes(t *testing.T) {
	for code, ready := range map[int]bool{200: true, 204: true, 299: true, 300: true, 302: true, 304: true, 399: true, 101: false, 400: false, 404: false, 500: false, 503: false} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			port := rawServer(t, func(c net.Conn) {
				readRequest(c)
				fmt.Fprintf(c, "HTTP/1.1 %d\r\n\r\n", code)
			})
			if ready {
				waitFor(t, check1("http://:"+port+"/", nil)).want(t, exitReady)
			} else {
				waitFor(t, check1("http://:"+port+"/", m{"timeout": "1s"})).want(t, exitNotReady, fmt.Sprintf("answered %d", code))
			}
		})
	}
}

func TestHTTPRequest(t *testing.T) {
	requests := make(chan string, 10)
	port := rawServer(t, func(c net.Conn) {
		requests <- readRequest(c)
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	})
	url := "http://127.0.0.1:" + port
	ask := func(path string, headers ...m) string {
		waitFor(t, check1(url+path, m{"headers": headers})).want(t, exitReady)
		return <-requests
	}
	wantRequest := func(got string, lines ...string) {
		t.Helper()
		if want := strings.Join(lines, "\r\n") + "\r\n\r\n"; got != want {
			t.Errorf("sent %q, not %q", got, want)
		}
	}
	host := "Host: 127.0.0.1:" + port
	const closes, agent, accept = "Connection: close", "User-Agent: kube-probe/sidecar-first", "Accept: */*"
	wantRequest(ask(""), "GET / HTTP/1.1", host, agent, accept, closes)
	wantRequest(ask("?q"), "GET /?q HTTP/1.1", host, agent, accept, closes)
	wantRequest(ask("//a/%zz"), "GET //a/%25zz HTTP/1.1", host, agent, accept, closes)
	wantRequest(ask("/ü"), "GET /%C3%BC HTTP/1.1", host, agent, accept, closes)
	wantRequest(ask("/", m{"name": "host", "value": "a.example"}, m{"name": "X-A", "value": "1"}, m{"name": "X-A", "value": "2"}),
		"GET / HTTP/1.1", "Host: a.example", agent, accept, "X-A: 1", "X-A: 2", closes)
	wantRequest(ask("/", m{"name": "user-agent", "value": "me"}, m{"name": "Accept", "value": ""}, m{"name": "Content-Length", "value": "9"}),
		"GET / HTTP/1.1", host, "User-Agent: me", closes)
}

func TestHTTPRedirects(t *testing.T) {
	mux := http.NewServeMux()
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	redirect := func(from, to string) { mux.Handle(from, http.RedirectHandler(to, 302)) }
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/no", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "a.example" {
			w.WriteHeader(400)
		}
	})
	redirect("/to-ok", "/ok")
	redirect("/to-no", "/no")
	redirect("/to-host", "host")
	redirect("/loop", "/loop")
	redirect("/away", "http://elsewhere.invalid/no")
	redirect("/name", "http://localhost:"+other+"/")
	redirect("/port", "http://127.0.0.1:"+other+"/")
	redirect("/scheme", "ftp://127.0.0.1/")
	redirect("/bad", "http://127.0.0.1:x/")
	mux.HandleFunc("/twice", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{"/ok", "/no"}
		w.WriteHeader(302)
	})
	port := serve(t, mux.ServeHTTP)
	for path, why := range map[string]string{
		"/to-ok": "", "/twice": "", "/away": "", "/name": "", "/port": "",
		"/to-no": "answered 500", "/loop": "redirects more than 10 times", "/scheme": "a scheme that is not http", "/bad": "not a URL",
	} {
		if why == "" {
			waitFor(t, check1("http://:"+port+path, nil)).want(t, exitReady)
		} else {
			waitFor(t, check1("http://:"+port+path, m{"timeout": "1s"})).want(t, exitNotReady, why)
		}
	}
	if n := elsewhere.Load(); n != 1 {
		t.Errorf("the other port was asked %d times: once for /port, and never for /name", n)
	}
	host := []m{{"name": "Host", "value": "a.example"}}
	waitFor(t, check1("http://:"+port+"/to-host", m{"headers": host})).want(t, exitReady)
}

func TestHTTPRedirectToHTTPS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	port := serve(t, http.RedirectHandler("https://127.0.0.1:"+portOf(s.Listener)+"/", 301).ServeHTTP)
	waitFor(t, check1("http://127.0.0.1:"+port, nil)).want(t, exitReady)
}

// Servers that do badly: none may hold the waiter, and each is told apart.
func TestHTTPBadServers(t *testing.T) {
	for name, c := range map[string]struct {
		why   string
		serve func(net.Conn)
	}{
		"hangs":      {"no answer within 100ms", func(c net.Conn) { io.Copy(io.Discard, c) }},
		"dribbles":   {"no answer within 100ms", dribble("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 1000))},
		"slow":       {"no answer within 100ms", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nX: y\r\n"); io.Copy(io.Discard, c) }},
		"closes":     {"closed the connection", func(c net.Conn) { readRequest(c) }},
		"half":       {"closed the connection", func(c net.Conn) { readRequest(c); io.WriteString(c, "HTTP/1.1 200 OK\r\nX: y") }},
		"resets":     {"connection reset", func(c net.Conn) { readRequest(c); c.(*net.TCPConn).SetLinger(0) }},
		"other":      {"not HTTP/1", func(c net.Conn) { readRequest(c); io.WriteString(c, "SSH-2.0-x\r\n\r\n") }},
		"endless":    {"", func(c net.Conn) { readRequest(c); endless(c, "HTTP/1.1 200 OK\r\nX: ") }},
		"informs":    {"", func(c net.Conn) { readRequest(c); endless(c, "HTTP/1.1 100 Continue\r\n\r\n") }},
		"no headers": {"answered 500", func(c net.Conn) { readRequest(c); io.WriteString(c, "HTTP/1.0 500 No\n\n") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := rawServer(t, c.serve)
			waitFor(t, check1("http://:"+port, m{"timeout": "1s", "attemptTimeout": "100ms"})).want(t, exitNotReady, "envoy (http://:"+port, c.why)
		})
	}
}

func dribble(text string) func(net.Conn) {
	return func(c net.Conn) {
		for i := range text {
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func endless(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func TestHTTPLargeAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"header":        "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<20) + "\r\n\r\n",
		"headers":       "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyyyyy\r\n", 1<<16) + "\r\n",
		"body":          "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + strings.Repeat("y", 1<<20),
		"informational": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			port := rawServer(t, func(c net.Conn) { readRequest(c); io.WriteString(c, text) })
			waitFor(t, check1("http://:"+port, nil)).want(t, exitReady)
		})
	}
}

func TestSuccessesInARow(t *testing.T) {
	var mu sync.Mutex
	codes, asked := []int{200, 503, 200, 200, 503, 200, 200, 200}, 0
	port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(codes[min(asked, len(codes)-1)])
		asked++
	})
	waitFor(t, check1("http://:"+port, m{"successes": 3})).want(t, exitReady)
	if asked != len(codes) {
		t.Errorf("asked %d times, not %d", asked, len(codes))
	}
}

// echoSecret gives back what it was sent wherever an answer has room for it.
func echoSecret(w http.ResponseWriter, r *http.Request) {
	conn, _, _ := w.(http.Hijacker).Hijack()
	defer conn.Close()
	secret := r.Header.Get("Authorization")
	fmt.Fprintf(conn, "HTTP/1.1 500 %s\r\nX: %s\r\n\r\n%s", secret, secret, secret)
}
