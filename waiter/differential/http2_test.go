package differential

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	v1 "k8s.io/api/core/v1"
)

// A frame to send, whatever its rules are.
type frame struct {
	kind    http2.FrameType
	flags   http2.Flags
	stream  uint32
	payload []byte
}

func (f frame) bytes() []byte {
	n := len(f.payload)
	out := []byte{byte(n >> 16), byte(n >> 8), byte(n), byte(f.kind), byte(f.flags)}
	return append(binary.BigEndian.AppendUint32(out, f.stream), f.payload...)
}

const (
	ends       = http2.FlagHeadersEndStream
	endHeaders = http2.FlagHeadersEndHeaders
)

func fields(nameValues ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i < len(nameValues); i += 2 {
		e.WriteField(hpack.HeaderField{Name: nameValues[i], Value: nameValues[i+1]})
	}
	return b.Bytes()
}

func headers(flags http2.Flags, nameValues ...string) frame {
	return frame{http2.FrameHeaders, flags | endHeaders, 1, fields(nameValues...)}
}

func data(flags http2.Flags, text string) frame {
	return frame{http2.FrameData, flags, 1, []byte(text)}
}

// long is a block of headers over as many frames as it takes.
func long(flags http2.Flags, nameValues ...string) (frames []frame) {
	block, kind := fields(nameValues...), http2.FrameHeaders
	for ; len(block) > 16384; kind, flags, block = http2.FrameContinuation, 0, block[16384:] {
		frames = append(frames, frame{kind, flags, 1, block[:16384]})
	}
	return append(frames, frame{kind, flags | endHeaders, 1, block})
}

func many(n, size int, nameValues ...string) []string {
	for i := range n {
		nameValues = append(nameValues, fmt.Sprint("x-", i), strings.Repeat("y", size))
	}
	return nameValues
}

var (
	settings = frame{http2.FrameSettings, 0, 0, nil}
	goAway   = func(last, code uint32) frame {
		return frame{http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code)}
	}
	reset = func(stream, code uint32) frame {
		return frame{http2.FrameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, code)}
	}
)

// sends reads the request, so that none of what is sent comes too early, sends frames, and waits for the client to be done.
func sends(conn net.Conn, frames ...frame) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	var wire []byte
	for i, f := range frames {
		if i == 1 {
			// A client may wait for these settings before it asks.
			conn.Write(wire)
			wire = nil
			if framer := http2.NewFramer(io.Discard, conn); !asked(framer) {
				return
			}
		}
		wire = append(wire, f.bytes()...)
	}
	conn.Write(wire)
	io.Copy(io.Discard, conn)
}

func asked(framer *http2.Framer) bool {
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return false
		}
		if f.Header().StreamID == 1 && f.Header().Flags.Has(http2.FlagDataEndStream) {
			return true
		}
	}
}

func TestHTTP2(t *testing.T) {
	fine := headers(ends, ":status", "200")
	head := headers(0, ":status", "200")
	answers := map[string][]frame{
		"fine": {settings, fine}, "no settings": {fine}, "settings with an ack": {{http2.FrameSettings, 1, 0, nil}, fine}, "settings cut": {{http2.FrameSettings, 0, 0, make([]byte, 5)}, fine}, "settings on a stream": {{http2.FrameSettings, 0, 1, nil}, fine},
		"body": {settings, head, data(0, "abc"), data(ends, "d")}, "empty data": {settings, head, data(0, ""), data(ends, "")}, "body without end": {settings, head, data(0, "abc")}, "large body without end": {settings, head, data(0, strings.Repeat("y", 11<<10))},
		"length": {settings, headers(0, ":status", "200", "content-length", "3"), data(ends, "abc")}, "short": {settings, headers(0, ":status", "200", "content-length", "4"), data(ends, "abc")}, "too long": {settings, headers(0, ":status", "200", "content-length", "2"), data(ends, "abc")},
		"no body for its length": {settings, headers(ends, ":status", "200", "content-length", "3")}, "two lengths": {settings, headers(0, ":status", "200", "content-length", "3", "content-length", "4"), data(ends, "abc")}, "bad length": {settings, headers(0, ":status", "200", "content-length", "x"), data(ends, "abc")},
		"trailers": {settings, head, data(0, "abc"), headers(ends, "a", "b")}, "trailers without end": {settings, head, data(0, "abc"), headers(0, "a", "b"), data(ends, "")}, "trailers with status": {settings, head, data(0, "abc"), headers(ends, ":status", "200")}, "upper case in trailers": {settings, head, headers(ends, "A", "b")},
		"hints": {settings, headers(0, ":status", "103"), headers(0, ":status", "100"), fine}, "hint that ends": {settings, headers(ends, ":status", "103")}, "switch": {settings, headers(0, ":status", "101"), fine}, "data behind a hint": {settings, headers(0, ":status", "103"), data(0, "x"), fine},
		"padded": {settings, {http2.FrameHeaders, ends | endHeaders | http2.FlagHeadersPadded, 1, append(append([]byte{3}, fields(":status", "200")...), 0, 0, 0)}}, "padded too much": {settings, {http2.FrameHeaders, ends | endHeaders | http2.FlagHeadersPadded, 1, []byte{9, 0x88}}},
		"priority": {settings, {http2.FrameHeaders, ends | endHeaders | http2.FlagHeadersPriority, 1, append(make([]byte, 5), 0x88)}}, "priority cut": {settings, {http2.FrameHeaders, ends | endHeaders | http2.FlagHeadersPriority, 1, []byte{0, 0}}},
		"padded data": {settings, headers(0, ":status", "200", "content-length", "1"), {http2.FrameData, ends | http2.FlagDataPadded, 1, []byte{2, 'x', 0, 0}}},
		"no status":   {settings, headers(ends, "a", "b")}, "two": {settings, headers(ends, ":status", "200", ":status", "200")}, "late": {settings, headers(ends, "a", "b", ":status", "200")}, "a request's": {settings, headers(ends, ":status", "200", ":path", "/")}, "unknown": {settings, headers(ends, ":status", "200", ":x", "/")}, "word": {settings, headers(ends, ":status", "ok")},
		"upper case": {settings, headers(ends, ":status", "200", "A", "b")}, "space": {settings, headers(ends, ":status", "200", "a b", "b")}, "no name": {settings, headers(ends, ":status", "200", "", "b")}, "colon": {settings, headers(ends, ":status", "200", "a:b", "b")}, "line break": {settings, headers(ends, ":status", "200", "a", "b\nc")}, "connection": {settings, headers(ends, ":status", "200", "connection", "close")},
		"table index 0": {settings, {http2.FrameHeaders, ends | endHeaders, 1, []byte{0x88, 0x80}}}, "index 62": {settings, {http2.FrameHeaders, ends | endHeaders, 1, []byte{0x88, 0xbe}}}, "block cut": {settings, {http2.FrameHeaders, ends | endHeaders, 1, []byte{0x88, 0x00, 0x05, 'a'}}}, "empty block": {settings, {http2.FrameHeaders, ends | endHeaders, 1, nil}},
		"goes away": {settings, goAway(0, 0)}, "goes away with an error": {settings, goAway(0, 11)}, "goes away after this": {settings, goAway(1, 0), fine}, "goes away, error, after this": {settings, goAway(1, 2), fine}, "goes away at last": {settings, head, goAway(1, 0), data(ends, "x")}, "goes away much later": {settings, goAway(1<<31-1, 0), fine}, "half a goodbye": {settings, {http2.FrameGoAway, 0, 0, []byte{0}}, fine},
		"reset": {settings, reset(1, 2)}, "refused": {settings, reset(1, 7)}, "reset in the body": {settings, head, data(0, "abc"), reset(1, 0)}, "reset of another": {settings, reset(3, 0), fine}, "reset of none": {settings, reset(0, 0), fine},
		"ping": {settings, {http2.FramePing, 0, 0, make([]byte, 8)}, fine}, "bad ping": {settings, {http2.FramePing, 0, 0, make([]byte, 7)}, fine}, "ping of a stream": {settings, {http2.FramePing, 0, 1, make([]byte, 8)}, fine}, "window": {settings, {http2.FrameWindowUpdate, 0, 0, []byte{0, 0, 0, 1}}, fine}, "an unknown frame": {settings, {99, 0xff, 7, []byte("x")}, fine},
		"push": {settings, {http2.FramePushPromise, endHeaders, 1, []byte{0, 0, 0, 2, 0x82}}, fine}, "another stream's": {settings, {http2.FrameHeaders, ends | endHeaders, 3, fields(":status", "200")}, fine}, "data first": {settings, data(0, "x"), fine}, "data of another": {settings, head, {http2.FrameData, 0, 3, []byte("x")}, data(ends, "")}, "continued first": {settings, {http2.FrameContinuation, endHeaders, 1, []byte{0x88}}},
		"in frames": append([]frame{settings}, long(ends, many(20, 2000, ":status", "200")...)...), "interrupted": {settings, {http2.FrameHeaders, ends, 1, []byte{0x88}}, {http2.FramePing, 0, 0, make([]byte, 8)}, {http2.FrameContinuation, endHeaders, 1, nil}}, "continued": {settings, {http2.FrameHeaders, ends, 1, []byte{0x00, 0x01}}, {http2.FrameContinuation, 0, 1, nil}, {http2.FrameContinuation, endHeaders, 1, []byte{'a'}}}, "2 MiB of headers": append([]frame{settings}, long(ends, many(20, 100<<10, ":status", "200")...)...), "24 MiB of headers": append([]frame{settings}, long(ends, many(240, 100<<10, ":status", "200")...)...),
		"a large frame": {settings, head, data(ends, strings.Repeat("y", 16385))}, "headers after the end": {settings, fine, fine}, "HTTP/1": nil,
	}
	for _, code := range []string{"000", "099", "199", "204", "304", "302", "399", "400", "503", "600", "1000", "-1", "20", "+200"} {
		answers["code "+code] = []frame{settings, headers(ends, ":status", code)}
	}
	var questions []question
	for name, frames := range answers {
		questions = append(questions, question{name: name, scheme: "https", port: overTLS(t, frames)})
	}
	compare(t, questions)
}

func overTLS(t *testing.T, frames []frame) (port string) {
	return secureServer(t, []string{"h2"}, func(c *tls.Conn, _ net.Conn) {
		if frames == nil {
			says(ok + "\r\n")(c)
			return
		}
		sends(c, frames...)
	})
}

// Frames in a random order, most of them in a sensible one.
func randomFrames(r *rand.Rand, head, trailers [][]string, bodies []string) []frame {
	frames := []frame{settings}
	noise := func() {
		others := []frame{{http2.FramePing, 0, 0, make([]byte, 8)}, {http2.FrameWindowUpdate, 0, 1, []byte{0, 0, 1, 0}}, settings, goAway(1, 0), {77, 0, 0, nil}, {http2.FramePriority, 0, 1, make([]byte, 5)}}
		if r.IntN(3) == 0 {
			frames = append(frames, others[r.IntN(len(others))])
		}
	}
	flag := func(one int) http2.Flags {
		if r.IntN(one) == 0 {
			return ends
		}
		return 0
	}
	noise()
	for range r.IntN(5) / 3 {
		frames = append(frames, headers(flag(10), ":status", "103"))
	}
	frames = append(frames, long(flag(6), head[r.IntN(len(head))]...)...)
	noise()
	for range r.IntN(3) {
		frames = append(frames, data(flag(4), bodies[r.IntN(len(bodies))]))
		noise()
	}
	switch r.IntN(4) {
	case 0:
		frames = append(frames, reset(1, r.Uint32N(14)))
	default:
		frames = append(frames, headers(flag(1), trailers[r.IntN(len(trailers))]...))
	}
	return frames
}

func TestRandomHTTP2(t *testing.T) {
	r := random(t)
	head := [][]string{{":status", "200"}, {":status", "200", "content-length", "3"}, {":status", "204"}, {":status", "302", "location", "http://elsewhere.invalid"}, {":status", "200", "content-length", "x"}, {":status", "500"}, {":status", "200", "A", "b"}}
	trailers := [][]string{{"a", "b"}, {"a", "b"}, {":status", "200"}, {"A", "b"}}
	var questions []question
	for i := range 120 * rounds() {
		frames := randomFrames(r, head, trailers, []string{"abc", "", "a"})
		questions = append(questions, question{name: fmt.Sprint(i, " ", text(frames)), scheme: "https", port: overTLS(t, frames)})
	}
	if ready := compare(t, questions); ready < len(questions)/10 {
		t.Errorf("only %d of %d answers were taken", ready, len(questions))
	}
}

func text(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%v:%x:%x ", f.kind, uint8(f.flags), f.payload)
	}
	return fmt.Sprintf("%.240s", strings.ReplaceAll(b.String(), "(", "<"))
}

// What a real server sees over HTTP/2 must be the same but for the program's name.
func TestHTTP2Requests(t *testing.T) {
	header := func(name, value string) v1.HTTPHeader { return v1.HTTPHeader{Name: name, Value: value} }
	var questions []question
	var seen []*sync.Map
	for _, path := range []string{"/x?y=z", "//u:p@h/y", "ready", "/a b", "/*"} {
		for _, headers := range [][]v1.HTTPHeader{
			nil, {header("Host", "a.example")}, {header("User-Agent", "x"), header("user-agent", "y")}, {header("User-Agent", "")}, {header("Accept", ""), header("Accept", "x")}, {header("Connection", "close")}, {header("X-A", "1"), header("x-a", " 2")},
			{header("Content-Length", "5")}, {header("Trailer", "X")}, {header("Keep-Alive", "1")}, {header("Proxy-Connection", "1")}, {header("Cookie", "a=b; c=d")}, {header("TE", "trailers")}, {header("Expect", "100-continue")}, {header("X-A", strings.Repeat("y", 18000))},
		} {
			all := &sync.Map{}
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got := fmt.Sprint(r.Proto, " ", r.Host, " ", r.RequestURI, " ", r.Header)
				all.Store(regexp.MustCompile(`kube-probe/[^\]]*`).ReplaceAllString(got, ""), true)
			}))
			s.EnableHTTP2 = true
			s.StartTLS()
			t.Cleanup(s.Close)
			_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
			questions = append(questions, question{name: fmt.Sprintf("%s with %.200q", path, headers), scheme: "https", port: port, path: path, headers: headers})
			seen = append(seen, all)
		}
	}
	compare(t, questions)
	for i, q := range questions {
		var all []string
		seen[i].Range(func(request, _ any) bool { all = append(all, short(request.(string))); return true })
		if len(all) > 1 {
			t.Errorf("%s is asked differently:\n%s", q.name, strings.Join(all, "\n"))
		}
	}
}
