import type { Command } from './terminal/command.ts'

/** By their names. */
export type Known = Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>>

function command<N extends string>(name: N, summary: string, module: () => Promise<Readonly<Record<N, Command>>>) {
  return [name, { summary, load: async () => (await module())[name] }] as const
}

/** Every command, by its name; one is loaded only when it is called. */
export const commands: Known = Object.fromEntries([
  command('scan', 'find the apps that start before their sidecars, in any cluster', () => import('./cli/scan.ts')),
  command('try', "show what it would do to a live workload's start, and at what cost", () => import('./cli/try.ts')),
  command('serve', 'answer admission requests and previews', () => import('./cli/serve.ts')),
  command(
    'preview',
    'show what the webhook would do to manifests, without a cluster',
    () => import('./cli/preview.ts'),
  ),
  command('inject', 'print the patched manifests', () => import('./cli/inject.ts')),
  command('install', 'print or apply the manifests; wait until a pod is patched', () => import('./cli/install.ts')),
  command(
    'uninstall',
    'remove it from a cluster, the webhook configurations first',
    () => import('./cli/uninstall.ts'),
  ),
  command('check', 'examine an installation, or why a pod was patched or was not', () => import('./cli/check.ts')),
  command(
    'timeline',
    "show a pod's start as a chart: what waited for what, and how long",
    () => import('./cli/timeline.ts'),
  ),
  command('rollout', 'upgrade a sidecar in place, a few pods at a time', () => import('./cli/rollout.ts')),
  command('rollouts', 'run the controller behind rollout', () => import('./cli/rollouts.ts')),
  command('starts', 'count how pods start, for Prometheus', () => import('./cli/starts.ts')),
  command('certs', "keep the webhook's certificate and caBundle valid", () => import('./cli/certs.ts')),
  command('explain', 'say what the code of a message means, and what to do', () => import('./cli/explain.ts')),
  command('config', 'check a configuration file, print its webhook configurations', () => import('./cli/config.ts')),
  command(
    'completion',
    'make a shell complete commands, flags, namespaces and pods',
    () => import('./cli/completion.ts'),
  ),
])

/** What `sidecar-first --help` prints. */
export const help = `Makes a pod's sidecars ready before its app starts.

Usage: sidecar-first COMMAND [flags]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}\n`)
  .join('')}
  --help, --version; each command has its own --help
`
