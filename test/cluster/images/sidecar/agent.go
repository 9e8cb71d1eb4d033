package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
)

// serveAgent is a stand-in for Istio's pilot-agent, which asks the probes of the pod's other containers that the injector has rewritten:
// ISTIO_KUBE_APP_PROBERS maps /app-health/NAME/readyz to the probe that was there. It answers from the agent's own start.
func serveAgent(address string) {
	var probes map[string]struct {
		HTTPGet struct {
			Path string
			Port int
		}
	}
	must(json.Unmarshal([]byte(os.Getenv("ISTIO_KUBE_APP_PROBERS")), &probes))
	listener, err := net.Listen("tcp", address)
	must(err)
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe, known := probes[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", probe.HTTPGet.Port, probe.HTTPGet.Path))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.Body.Close()
		w.WriteHeader(response.StatusCode)
	}))
}
