package main

import (
	"encoding/json"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// standFor makes this program behave as the one whose name it was called by (see ../known.ts) does with these arguments: when it is ready it listens
// where that one listens, and answers what that one answers. It ends the process where that one would only do something and end.
func standFor(program string, args []string) {
	after("READY_AFTER", "3s")
	switch program {
	case "pilot-agent":
		if word(args, 0) != "proxy" {
			os.Exit(0) // istio-iptables
		}
		serveAt(":15021", "/healthz/ready")
	case "linkerd2-proxy":
		serveAt(":4191", "/ready")
	case "kuma-dp", "envoy":
		serveAt(":9901", "/ready")
	case "consul-dataplane":
		// The inbound port of the pod's first service, and those after it for the others.
		admin, err := strconv.Atoi(flagOf(args, "envoy-admin-bind-port", "19000"))
		must(err)
		os.Setenv("TCP", ":"+strconv.Itoa(admin+1000))
	case "init":
		os.Exit(0)
	case "vault":
		standForVault()
	case "cloud-sql-proxy":
		standForCloudSQL(args)
	case "cloud_sql_proxy":
		standForCloudSQL1(args)
	case "otelcol":
		config := os.Getenv("OTEL_CONFIG")
		if file, found := strings.CutPrefix(flagOf(args, "config", ""), "/"); found {
			text, err := os.ReadFile("/" + file)
			must(err)
			config = string(text)
		}
		if strings.Contains(config, "health_check") {
			host := "localhost"
			if strings.Contains(config, "0.0.0.0:13133") {
				host = ""
			}
			serveAt(host+":13133", "/")
		}
	case "fluent-bit":
		serveAt(":2020", "/api/v1/health")
	case "daprd":
		http, public := flagOf(args, "dapr-http-port", "3500"), flagOf(args, "dapr-public-port", "3501")
		serveAt("127.0.0.1:"+http+" :"+public, "/v1.0/healthz/outbound")
		// Ready for callers only once the app listens.
		os.Setenv("AFTER_APP", "/v1.0/healthz "+flagOf(args, "app-port", "8080"))
	case "app":
		mark("started")
		accept(net.Listen("tcp", ":8080"))
		select {}
	case "job":
		mark("started")
		time.Sleep(time.Second)
		os.Exit(0)
	default:
		log.Fatalf("nobody knows how to stand in for %q", program)
	}
}

// standsFor tells whether the name is one of those.
func standsFor() (program string, yes bool) {
	program = filepath.Base(os.Args[0])
	return program, program != "entrypoint"
}

func serveAt(address, path string) {
	os.Setenv("HTTP", address)
	os.Setenv("PATHS", path)
}

func after(name, value string) {
	if os.Getenv(name) == "" {
		os.Setenv(name, value)
	}
}

// standForVault renders what the injector's configuration names; in the init container it ends then.
func standForVault() {
	var config struct {
		ExitAfterAuth bool `json:"exit_after_auth"`
		Template      []struct{ Destination string }
	}
	text, err := os.ReadFile("/home/vault/config.json")
	must(err)
	must(json.Unmarshal(text, &config))
	var files []string
	for _, each := range config.Template {
		files = append(files, each.Destination)
	}
	if config.ExitAfterAuth {
		for _, file := range files {
			must(os.WriteFile(file, nil, 0o644))
		}
		mark("ready")
		os.Exit(0)
	}
	os.Setenv("FILE", strings.Join(files, " "))
}

// standForCloudSQL never answers /readiness: a database is in maintenance.
func standForCloudSQL(args []string) {
	os.Setenv("TCP", "127.0.0.1:"+flagOf(args, "port", "5432"))
	if hasFlag(args, "health-check") || os.Getenv("CSQL_PROXY_HEALTH_CHECK") == "true" {
		after("CSQL_PROXY_HTTP_PORT", "9090")
		after("CSQL_PROXY_HTTP_ADDRESS", "localhost")
		os.Setenv("ALIVE", "/liveness")
		port := flagOf(args, "http-port", os.Getenv("CSQL_PROXY_HTTP_PORT"))
		serveAt(flagOf(args, "http-address", os.Getenv("CSQL_PROXY_HTTP_ADDRESS"))+":"+port, "/startup")
	}
}

// standForCloudSQL1 is the first version, whose flags differ.
func standForCloudSQL1(args []string) {
	for _, instance := range strings.Split(flagOf(args, "instances", os.Getenv("INSTANCES")), ",") {
		if _, place, found := strings.Cut(instance, "=tcp:"); found {
			host, port, err := net.SplitHostPort(place)
			if err != nil {
				host, port = "127.0.0.1", place
			}
			os.Setenv("TCP", net.JoinHostPort(host, port))
		}
	}
	if hasFlag(args, "use_http_health_check") {
		os.Setenv("ALIVE", "/liveness")
		serveAt(":"+flagOf(args, "health_check_port", "8090"), "/startup")
	}
}

func word(args []string, at int) string {
	if at < len(args) {
		return args[at]
	}
	return ""
}

func hasFlag(args []string, name string) bool { return flagOf(args, name, "absent") != "absent" }

func flagOf(args []string, name, otherwise string) string {
	for at, arg := range args {
		given := strings.TrimLeft(arg, "-")
		if given == arg {
			continue
		}
		if key, value, found := strings.Cut(given, "="); key == name && found {
			return value
		}
		if given == name {
			return word(args, at+1)
		}
	}
	return otherwise
}
