/** The manifest of the examples: the sidecar is listed last. */
export const sampleManifest = `apiVersion: v1
kind: Pod
metadata:
  name: sample
  annotations:
    sidecar-first.dev/sidecars: proxy
spec:
  containers:
    - name: app
      image: app:1
    - name: proxy
      image: proxy:1
      readinessProbe:
        httpGet: {path: /ready, port: 15021}
`
