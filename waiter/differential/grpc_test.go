package differential

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func message(compressed byte, payload []byte) string {
	return string(append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(payload))), payload...))
}

func zipped(payload []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(payload)
	w.Close()
	return b.Bytes()
}

func TestGRPC(t *testing.T) {
	serving := message(0, []byte{8, 1})
	head := headers(0, ":status", "200", "content-type", "application/grpc")
	done := headers(ends, "grpc-status", "0")
	with := func(nameValues ...string) []frame {
		return []frame{settings, headers(0, append([]string{":status", "200"}, nameValues...)...), data(0, serving), done}
	}
	body := func(payload ...byte) []frame { return []frame{settings, head, data(0, message(0, payload)), done} }
	answers := map[string][]frame{
		"fine": {settings, head, data(0, serving), done}, "no settings": {head, data(0, serving), done}, "in bytes": {settings, head, data(0, serving[:1]), data(0, serving[1:4]), data(0, serving[4:]), done}, "no message": {settings, head, done}, "trailers only": {settings, headers(ends, ":status", "200", "content-type", "application/grpc", "grpc-status", "0")},
		"refused": {settings, headers(ends, ":status", "200", "content-type", "application/grpc", "grpc-status", "12", "grpc-message", "no%20health")}, "no end": {settings, head, data(0, serving)}, "ends without trailers": {settings, head, data(ends, serving)}, "two messages": {settings, head, data(0, serving+serving), done}, "one and a half": {settings, head, data(0, serving+"\x00"), done}, "half": {settings, head, data(0, serving[:6]), done},
		"status in headers": {settings, headers(0, ":status", "200", "content-type", "application/grpc", "grpc-status", "0"), data(0, serving), headers(ends, "a", "b")}, "trailers without status": {settings, head, data(0, serving), headers(ends, "a", "b")}, "trailers without end": {settings, head, data(0, serving), headers(0, "grpc-status", "0")}, "status 13": {settings, head, data(0, serving), headers(ends, "grpc-status", "13")}, "status 00": {settings, head, data(0, serving), headers(ends, "grpc-status", "00")}, "status word": {settings, head, data(0, serving), headers(ends, "grpc-status", "OK")}, "status large": {settings, head, data(0, serving), headers(ends, "grpc-status", "4294967296")}, "two statuses": {settings, head, data(0, serving), headers(ends, "grpc-status", "1", "grpc-status", "0")}, "status -0": {settings, head, data(0, serving), headers(ends, "grpc-status", "-0")}, "no status text": {settings, head, data(0, serving), headers(ends, "grpc-status", "")},
		"content type": with("content-type", "text/plain"), "none": with(), "proto": with("content-type", "application/grpc+proto"), "json": with("content-type", "application/grpc+json"), "charset": with("content-type", "application/grpc;charset=utf-8"), "web": with("content-type", "application/grpc-web"), "upper": with("content-type", "Application/grpc"), "two types": with("content-type", "text/plain", "content-type", "application/grpc"), "two types, other order": with("content-type", "application/grpc", "content-type", "text/plain"), "type plus": with("content-type", "application/grpc+"),
		"404 of gRPC": {settings, headers(0, ":status", "404", "content-type", "application/grpc"), data(0, serving), done}, "404": {settings, headers(ends, ":status", "404", "content-type", "text/html")}, "503": {settings, headers(0, ":status", "503")}, "hints": {settings, headers(0, ":status", "103"), head, data(0, serving), done}, "hints of gRPC": {settings, headers(0, ":status", "103", "content-type", "application/grpc"), head, data(0, serving), done}, "no http status": {settings, headers(0, "content-type", "application/grpc"), data(0, serving), done}, "hint that ends": {settings, headers(ends, ":status", "103")},
		"bad metadata": with("content-type", "application/grpc", "x-bin", "%%%"), "fine metadata": with("content-type", "application/grpc", "x-bin", "YWJj"), "padded metadata": with("content-type", "application/grpc", "x-bin", "YWI="), "bad metadata in trailers": {settings, head, data(0, serving), headers(ends, "grpc-status", "0", "x-bin", "*")}, "upper case": with("content-type", "application/grpc", "A", "b"),
		"huge headers": append(append([]frame{settings}, long(0, many(1000, 1000, ":status", "200", "content-type", "application/grpc")...)...), data(0, serving), done), "huge trailers": append([]frame{settings, head, data(0, serving)}, long(ends, many(1000, 1000, "grpc-status", "0")...)...), "40 MiB of trailers": append([]frame{settings, head, data(0, serving)}, long(ends, many(400, 100<<10, "grpc-status", "0")...)...),
		"goes away": {settings, goAway(0, 0)}, "goes away after this": {settings, goAway(1, 0), head, data(0, serving), done}, "goes away in the middle": {settings, head, goAway(1, 0), data(0, serving), done}, "reset": {settings, reset(1, 0)}, "reset at the end": {settings, head, data(0, serving), done, reset(1, 0)}, "ping": {settings, {6, 0, 0, make([]byte, 8)}, head, data(0, serving), done}, "half settings": {settings, {4, 0, 0, make([]byte, 5)}, head, data(0, serving), done},
		"unknown": body(), "not serving": body(8, 2), "service unknown": body(8, 3), "status 9": body(8, 9), "64 bits": body(8, 0x81, 0x80, 0x80, 0x80, 0x10), "11 bytes": body(8, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), "twice": body(8, 2, 8, 1), "twice, other order": body(8, 1, 8, 2), "cut": body(8), "field 0": body(0, 1, 8, 1), "unknown fields": body(0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 1, 2, 8, 1, 0x25, 1, 2, 3, 4), "unknown cut": body(8, 1, 0x11, 1), "wire type of a text": body(0x0a, 1, 1, 8, 1), "a group": body(8, 1, 0x13, 0x14), "end of a group": body(8, 1, 0x14), "wire type 6": body(8, 1, 0x16), "a large answer": {settings, head, data(0, message(0, append([]byte{8, 1, 0x1a, 0x80, 0x78}, make([]byte, 15360)...))), done},
		"very large": {settings, head, data(0, message(0, append([]byte{8, 1, 0x1a, 0xd0, 0x86, 0x3}, make([]byte, 50000)...))[:16000]), data(0, message(0, append([]byte{8, 1, 0x1a, 0xd0, 0x86, 0x3}, make([]byte, 50000)...))[16000:32000]), data(0, message(0, append([]byte{8, 1, 0x1a, 0xd0, 0x86, 0x3}, make([]byte, 50000)...))[32000:48000]), data(0, message(0, append([]byte{8, 1, 0x1a, 0xd0, 0x86, 0x3}, make([]byte, 50000)...))[48000:]), done},
		"HTTP/1":     nil,
	}
	for _, encoding := range []string{"", "gzip", "identity", "zstd", "deflate"} {
		for name, payload := range map[string]string{"plain": serving, "zipped": message(1, zipped([]byte{8, 1})), "zipped down": message(1, zipped([]byte{8, 2})), "marked": message(1, []byte{8, 1}), "marked 2": message(2, []byte{8, 1}), "zipped nothing": message(1, zipped(nil)), "cut": message(1, zipped([]byte{8, 1})[:20]), "empty": message(1, nil), "zipped twice": message(1, append(zipped([]byte{8}), zipped([]byte{1})...))} {
			extra := []string{":status", "200", "content-type", "application/grpc"}
			if encoding != "" {
				extra = append(extra, "grpc-encoding", encoding)
			}
			answers[fmt.Sprintf("%s as %q", name, encoding)] = []frame{settings, headers(0, extra...), data(0, payload), done}
		}
	}
	const metadata = "metadata of a gRPC answer (`…-bin`) that isn't base64"
	purposes := map[string]string{
		"very large": "a gRPC health message of more than 32 KiB", "one and a half": "up to four bytes after the gRPC message",
		"bad metadata": metadata, "bad metadata in trailers": metadata, "no http status": "a gRPC answer that comes without an HTTP status",
	}
	var questions []question
	for name, frames := range answers {
		questions = append(questions, question{name: name, scheme: "grpc", port: server(t, withFrames(frames)), purpose: purposes[name]})
	}
	compare(t, questions)
}

func withFrames(frames []frame) func(net.Conn) {
	return func(c net.Conn) {
		if frames == nil {
			c.Read(make([]byte, 24))
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return
		}
		sends(c, frames...)
	}
}

func TestRandomGRPC(t *testing.T) {
	r := random(t)
	head := [][]string{{":status", "200", "content-type", "application/grpc"}, {":status", "200", "content-type", "application/grpc"}, {":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip"}, {":status", "200", "content-type", "application/json"}, {":status", "503", "content-type", "application/grpc"}}
	trailers := [][]string{{"grpc-status", "0"}, {"grpc-status", "0"}, {"grpc-status", "0", "grpc-message", "%"}, {"grpc-status", "14"}, {"a", "b"}}
	bodies := []string{message(0, []byte{8, 1}), message(0, []byte{8, 1}), message(0, []byte{8, 2}), message(1, zipped([]byte{8, 1})), ""}
	var questions []question
	for i := range 120 * rounds() {
		frames := randomFrames(r, head, trailers, bodies)
		questions = append(questions, question{name: fmt.Sprint(i, " ", text(frames)), scheme: "grpc", port: server(t, withFrames(frames))})
	}
	for i := range 120 * rounds() {
		payload := []byte{8, 1}
		for range r.IntN(4) {
			at := r.IntN(len(payload) + 1)
			payload = append(payload[:at:at], append([]byte{byte(r.IntN(256))}, payload[at:]...)...)
		}
		frames := []frame{settings, headers(0, ":status", "200", "content-type", "application/grpc"), data(0, message(0, payload)), headers(ends, "grpc-status", "0")}
		questions = append(questions, question{name: fmt.Sprintf("message %d %x", i, payload), scheme: "grpc", port: server(t, withFrames(frames))})
	}
	if ready := compare(t, questions); ready < len(questions)/10 {
		t.Errorf("only %d of %d answers were taken", ready, len(questions))
	}
}

// grpc-go's own server.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error)
}

func (h health) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	status, err := h.check(ctx)
	return &grpc_health_v1.HealthCheckResponse{Status: status}, err
}

func TestGRPCServers(t *testing.T) {
	const up = grpc_health_v1.HealthCheckResponse_SERVING
	var questions []question
	add := func(name string, check func(context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error)) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		if check != nil {
			grpc_health_v1.RegisterHealthServer(s, health{check: check})
		}
		go s.Serve(l)
		t.Cleanup(s.Stop)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		questions = append(questions, question{name: name, scheme: "grpc", port: port, path: "my.Service"})
	}
	add("no health service", nil)
	add("serving", func(context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) { return up, nil })
	add("not serving", func(context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING, nil
	})
	add("compresses", func(ctx context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		grpc.SetSendCompressor(ctx, "gzip")
		return up, nil
	})
	add("huge metadata", func(ctx context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		pairs := metadata.MD{}
		for i := range 300 {
			pairs.Set(fmt.Sprint("x-", i), strings.Repeat("y", 10000))
		}
		grpc.SetHeader(ctx, pairs)
		grpc.SetTrailer(ctx, pairs)
		return up, nil
	})
	add("an error", func(context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		return up, status.Error(codes.Unavailable, "50% – not yet")
	})
	add("hangs", func(ctx context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		<-ctx.Done()
		return up, ctx.Err()
	})
	compare(t, questions)
}
