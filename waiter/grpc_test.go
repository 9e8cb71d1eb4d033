package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
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
		"http/1": {"not HTTP/2", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); io.Copy(io.Discard, c) }},
		"hangs":  {"no answer within 100ms", func(c net.Conn) { io.Copy(io.Discard, c) }},
		// What isn't read by then would make it a reset.
		"closes": {"closed the connection", func(c net.Conn) {
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			io.Copy(io.Discard, c)
		}},
		"reset": {"HTTP/2 error INTERNAL_ERROR", func(c net.Conn) {
			c.Write(frames("000000040000000000"))
			readCall(c)
			c.Write(frames("00000403000000000100000002"))
			io.Copy(io.Discard, c)
		}},
		"away": {"HTTP/2 error ENHANCE_YOUR_CALM", func(c net.Conn) {
			c.Write(frames("000000040000000000", "000008070000000000000000000000000b"))
			io.Copy(io.Discard, c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := rawServer(t, c.serve)
			attempt := "3s" // A machine that stands still answers late, too.
			if name == "hangs" {
				attempt = "100ms"
			}
			waitFor(t, check1("grpc://:"+port, m{"timeout": "3s", "attemptTimeout": attempt})).want(t, exitNotReady, c.why)
		})
	}
}

// readCall reads a call up to its empty message, with which its stream ends.
func readCall(c net.Conn) {
	one := make([]byte, 1)
	for read := []byte(nil); !bytes.HasSuffix(read, frames("0000050001000000010000000000")); read = append(read, one[0]) {
		if _, err := c.Read(one); err != nil {
			return
		}
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

func FuzzJudge(f *testing.F) {
	f.Add("0", "", "", isServing)
	f.Add("14", "50%25 %zz", "", []byte{})
	f.Add("0", "", "gzip", framed(1, gzipped([]byte{8, 1})))
	f.Add("0", "", "", framed(0, []byte{8, 1, 0x13, 0x14, 0x1a, 1, 2, 0x25, 1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, status, text, encoding string, data []byte) {
		judge(http.Header{"Grpc-Status": {status}, "Grpc-Message": {text}}, encoding, data)
	})
}
