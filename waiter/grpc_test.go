package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"testing"
)

// healthServer is a real HTTP/2 server without TLS that answers as grpc.health.v1 does; bodies, headers and trailers come
// through net/http's own HPACK.
func healthServer(t *testing.T, check func(request []byte) (message []byte, status, text string)) (port string) {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || r.URL.Path != "/grpc.health.v1.Health/Check" || r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers" {
			w.WriteHeader(400)
			return
		}
		message, status, text := check(request)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		w.WriteHeader(200)
		w.Write(message)
		w.Header().Set("Grpc-Status", status)
		if text != "" {
			w.Header().Set("Grpc-Message", text)
		}
	})}
	l := listen(t, "tcp", "127.0.0.1:0")
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return portOf(l)
}

var (
	isServing  = []byte{0, 0, 0, 0, 2, 8, 1}
	notServing = []byte{0, 0, 0, 0, 2, 8, 2}
)

func TestGRPCReadyLate(t *testing.T) {
	g := opensLate(func() {})
	port := healthServer(t, func([]byte) ([]byte, string, string) {
		if g.open() {
			return isServing, "0", ""
		}
		return notServing, "0", ""
	})
	g.wantBefore(t, waitFor(t, check1("grpc://:"+port, nil)))
}

func TestGRPCService(t *testing.T) {
	port := healthServer(t, func(request []byte) ([]byte, string, string) {
		if bytes.Equal(request, []byte("\x00\x00\x00\x00\x06\x0a\x04my.S")) {
			return isServing, "0", ""
		}
		return nil, "5", "unknown service"
	})
	waitFor(t, check1("grpc://localhost:"+port+"/my.S", nil)).want(t, exitReady)
	waitFor(t, check1("grpc://:"+port+"/other", m{"timeout": "1s"})).want(t, exitNotReady, "gRPC status 5: unknown service")
}

func TestGRPCNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		message      []byte
		status, text string
		why          string
	}{
		"not serving":   {notServing, "0", "", "answered NOT_SERVING"},
		"unknown":       {[]byte{0, 0, 0, 0, 0}, "0", "", "answered UNKNOWN"},
		"unimplemented": {nil, "12", "no health here", "gRPC status 12: no health here"},
		"serving, but":  {isServing, "13", "", "gRPC status 13"},
		"no status":     {isServing, "", "", "without a gRPC status"},
		"no message":    {nil, "0", "", "not gRPC"},
		"large":         {make([]byte, 1<<20), "0", "", "more than 32 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			port := healthServer(t, func([]byte) ([]byte, string, string) { return c.message, c.status, c.text })
			waitFor(t, check1("grpc://:"+port, m{"timeout": "1s"})).want(t, exitNotReady, c.why)
		})
	}
}

func TestGRPCBadServers(t *testing.T) {
	for name, c := range map[string]struct {
		why   string
		serve func(net.Conn)
	}{
		"http/1": {"not HTTP/2", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }},
		"hangs":  {"no answer within 100ms", func(c net.Conn) { io.Copy(io.Discard, c) }},
		"closes": {"closed the connection", func(c net.Conn) { c.Read(make([]byte, 1024)) }},
		"reset": {"HTTP/2 error 7", func(c net.Conn) {
			c.Read(make([]byte, 1024))
			c.Write(frames("000000040000000000", "00000403000000000100000007"))
		}},
		"away": {"HTTP/2 error 11", func(c net.Conn) {
			c.Read(make([]byte, 1024))
			c.Write(frames("000000040000000000", "000008070000000000000000000000000b"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			port := rawServer(t, c.serve)
			waitFor(t, check1("grpc://:"+port, m{"timeout": "300ms", "attemptTimeout": "100ms"})).want(t, exitNotReady, c.why)
		})
	}
}

func frames(text ...string) []byte {
	var out []byte
	for _, s := range text {
		b, err := hex.DecodeString(s)
		if err != nil {
			panic(err)
		}
		out = append(out, b...)
	}
	return out
}

// The examples of RFC 7541, C.4.1 and C.6.1.
func TestHuffman(t *testing.T) {
	for coded, want := range map[string]string{
		"f1e3c2e5f23a6ba0ab90f4ff": "www.example.com",
		"6402":                     "302",
		"aec3771a4b":               "private",
		"d07abe941054d444a8200595040b8166e082a62d1bff": "Mon, 21 Oct 2013 20:13:21 GMT",
		"9d29ad171863c78f0b97c8e9ae82ae43d3":           "https://www.example.com",
	} {
		if got, ok := huffmanText(frames(coded)); !ok || got != want {
			t.Errorf("%s: %q, not %q", coded, got, want)
		}
	}
	for _, bad := range []string{"ff", "f1e3c2e5f23a6ba0ab90f4ffff", "00"} {
		if got, ok := huffmanText(frames(bad)); ok && bad != "00" {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func huffmanText(coded []byte) (string, bool) {
	var out []byte
	h := huffmanReader{put: func(b byte) { out = append(out, b) }}
	for _, b := range coded {
		if !h.add(b) {
			return "", false
		}
	}
	return string(out), h.ended()
}

func TestFields(t *testing.T) {
	// Table size 0, :status 200 (indexed), grpc-status 0 (to be indexed), a name of the static table that means nothing here.
	fine := append(frames("2088"), "\x40\x0bgrpc-status\x010\x90"...)
	for name, c := range map[string]struct {
		block []byte
		want  string
	}{
		"fine":                 {fine, ":status=200;grpc-status=0;"},
		"literal status":       {frames("4803333032"), ":status=302;"},
		"a dynamic table":      {frames("88be"), ""},
		"a request's field":    {frames("82"), ""},
		"status comes late":    {append(bytes.Clone(fine), 0x88), ""},
		"upper case":           {[]byte("\x00\x01A\x01b"), ""},
		"a line break":         {[]byte("\x00\x01a\x01\n"), ""},
		"cut short":            {fine[:len(fine)-3], ""},
		"another pseudo field": {[]byte("\x00\x02:a\x01b"), ""},
	} {
		got := ""
		err := decodeFields(bytes.NewReader(c.block), func(name, value string) { got += name + "=" + value + ";" })
		if c.want == "" != (err != nil) || err == nil && got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// saying is a peer that answers whatever it is asked.
type saying struct{ io.Reader }

func (saying) Write(p []byte) (int, error) { return len(p), nil }

func FuzzReadHealth(f *testing.F) {
	f.Add(frames("000000040000000000", "000001010500000001", "88"))
	f.Add(append(frames("000000040000000000", "00000701000000000188"), "\x40\x0bg"...))
	f.Fuzz(func(t *testing.T, wire []byte) {
		if answer, err := readHealth(newStream(saying{bytes.NewReader(wire)}, maxMetadata)); err == nil {
			answer.judge()
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add(frames("000000040000000000", "000001010400000001", "88", "000003000100000001", "616263"))
	f.Add(frames("000000040000000000", "000002012d00000001", "0188", "000003000900000001", "016100"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		s := newStream(saying{bytes.NewReader(wire)}, maxHeaderBytes)
		if kind, err := s.next(); err == nil && kind == frameHeaders {
			if a, err := s.answer(); err == nil {
				getter{}.finish(a)
			}
		}
	})
}
