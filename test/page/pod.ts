/** A manifest that asks for these sidecars, of which only `proxy` is there. */
export const pod = (name: string, sidecars: string) => `kind: Pod
metadata:
  name: ${name}
  annotations:
    sidecar-first.dev/sidecars: ${sidecars}
spec:
  containers:
  - name: app
  - name: proxy
    readinessProbe: {tcpSocket: {port: 1}}
`
