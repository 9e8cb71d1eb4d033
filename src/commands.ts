import type { Command } from './terminal/command.ts'

/** Every command, by its name; one is loaded only when it is called. */
export const commands: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>> = {
  scan: {
    summary: 'find the apps that start before their sidecars, in any cluster',
    load: () => import('./cli/scan.ts').then(({ scan }) => scan),
  },
  serve: {
    summary: 'answer admission requests and previews',
    load: () => import('./cli/serve.ts').then(({ serve }) => serve),
  },
  preview: {
    summary: 'show what the webhook would do to manifests, without a cluster',
    load: () => import('./cli/preview.ts').then(({ preview }) => preview),
  },
  inject: {
    summary: 'print the patched manifests',
    load: () => import('./cli/inject.ts').then(({ inject }) => inject),
  },
  install: {
    summary: 'print or apply the manifests; wait until a pod is patched',
    load: () => import('./cli/install.ts').then(({ install }) => install),
  },
  uninstall: {
    summary: 'remove it from a cluster, the webhook configurations first',
    load: () => import('./cli/uninstall.ts').then(({ uninstall }) => uninstall),
  },
  check: {
    summary: 'examine an installation, or why a pod was patched or was not',
    load: () => import('./cli/check.ts').then(({ check }) => check),
  },
  timeline: {
    summary: "show a pod's start as a chart: what waited for what, and how long",
    load: () => import('./cli/timeline.ts').then(({ timeline }) => timeline),
  },
  rollout: {
    summary: 'upgrade a sidecar in place, a few pods at a time',
    load: () => import('./cli/rollout.ts').then(({ rollout }) => rollout),
  },
  rollouts: {
    summary: 'run the controller behind rollout',
    load: () => import('./cli/rollouts.ts').then(({ rollouts }) => rollouts),
  },
  starts: {
    summary: 'count how pods start, for Prometheus',
    load: () => import('./cli/starts.ts').then(({ starts }) => starts),
  },
  certs: {
    summary: "keep the webhook's certificate and caBundle valid",
    load: () => import('./cli/certs.ts').then(({ certs }) => certs),
  },
  explain: {
    summary: 'say what the code of a message means, and what to do',
    load: () => import('./cli/explain.ts').then(({ explain }) => explain),
  },
  config: {
    summary: 'check a configuration file, print its webhook configurations',
    load: () => import('./cli/config.ts').then(({ config }) => config),
  },
  completion: {
    summary: 'make a shell complete commands, flags, namespaces and pods',
    load: () => import('./cli/completion.ts').then(({ completion }) => completion),
  },
}

/** What `sidecar-first --help` prints. */
export const help = `Makes a pod's sidecars ready before its app starts.

Usage: sidecar-first COMMAND [flags]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}\n`)
  .join('')}
  --help, --version; each command has its own --help
`
