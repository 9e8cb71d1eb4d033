package main

import (
	"io"
	"net"
	"net/http"
)

// What grpc.health.v1 says, in the two messages it needs: HealthCheckRequest{service = 1}, HealthCheckResponse{status = 1}.
const (
	serving    = 1
	notServing = 2
	notFound   = "5"
)

// serveGRPC answers grpc.health.v1.Health/Check over cleartext HTTP/2.
func serveGRPC(address string) {
	listener, err := net.Listen("tcp", address)
	must(err)
	server := &http.Server{Handler: http.HandlerFunc(checkHealth), Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(listener)
}

func checkHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/grpc.health.v1.Health/Check" {
		http.NotFound(w, r)
		return
	}
	frame, err := io.ReadAll(io.LimitReader(r.Body, 1024))
	if err != nil || len(frame) < 5 {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	service := ""
	if message := frame[5:]; len(message) > 2 {
		service = string(message[2:]) // past the field's tag and its length
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	if service != "" && service != "sidecar" {
		w.Header().Set("Grpc-Status", notFound)
		return
	}
	status := byte(notServing)
	if ready.Load() {
		status = serving
	}
	w.Write([]byte{0, 0, 0, 0, 2, 8, status})
	w.Header().Set("Grpc-Status", "0")
}
