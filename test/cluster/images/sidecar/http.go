package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func serveHTTP(addresses string) {
	for _, address := range strings.Fields(addresses) {
		listener, err := net.Listen("tcp", address)
		must(err)
		go http.Serve(listener, routes())
	}
}

func serveHTTPS(address string) {
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{selfSigned()}})
	must(err)
	go http.Serve(listener, routes())
}

func routes() http.Handler {
	mux := http.NewServeMux()
	whenReady := func(pattern string, answer http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !ready.Load() {
				http.Error(w, "not ready", http.StatusServiceUnavailable)
				return
			}
			answer(w, r)
		})
	}
	ok := func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ready\n")) }
	whenReady("/ready", ok)
	for _, path := range strings.Fields(os.Getenv("PATHS")) {
		if path != "/ready" {
			whenReady(path, ok)
		}
	}
	if path := os.Getenv("ALIVE"); path != "" {
		mux.HandleFunc(path, ok)
	}
	if path, port, found := strings.Cut(os.Getenv("AFTER_APP"), " "); found {
		whenReady(path, func(w http.ResponseWriter, r *http.Request) {
			connection, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				http.Error(w, "the app doesn't listen", http.StatusInternalServerError)
				return
			}
			connection.Close()
			ok(w, r)
		})
	}
	whenReady("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(1500 * time.Millisecond)
		ok(w, r)
	})
	// A redirect within the host is followed to its end; one to another host counts as ready by itself.
	mux.Handle("/redirect", http.RedirectHandler("/ready", http.StatusFound))
	mux.Handle("/redirect-loop", http.RedirectHandler("/redirect-loop", http.StatusFound))
	whenReady("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
	})
	whenReady("/header", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Probe") != "yes" {
			http.Error(w, "X-Probe is missing", http.StatusForbidden)
			return
		}
		ok(w, r)
	})
	whenReady("/host", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "sidecar.example" {
			http.Error(w, "the host is "+r.Host, http.StatusMisdirectedRequest)
			return
		}
		ok(w, r)
	})
	// For an httpGet hook: any answer will do, and the log shows that it was asked.
	mux.HandleFunc("/hook", func(w http.ResponseWriter, r *http.Request) {
		mark("hook")
		http.Error(w, "hooks get any answer", http.StatusInternalServerError)
	})
	return mux
}

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(err)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}
}
