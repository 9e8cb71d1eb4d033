// Writes docs/presets.md from the presets' own data; a test fails when the page is stale, and refreshes it with UPDATE_GOLDEN=1.
import { formatCheck } from '../src/admission/check.ts'
import { type Preset, presets } from '../src/admission/presets.ts'

export function presetsPage(): string {
  const rows = presets.map(
    ({ name, title, containers, check, tier, meshProxy }) =>
      `| [${title}](#${title.toLowerCase().replaceAll(' ', '-')}) | \`${name}\` | ${code(containers)} | ${code([formatCheck(check)])} | ${tier} | ${meshProxy ? 'yes' : 'no'} |`,
  )
  return `# Presets

<!-- Generated from src/admission/presets.ts: UPDATE_GOLDEN=1 node --test test/admission/presets.test.ts -->

What we know of the sidecars people run, so that a [rule](rules.md) can be two lines: which containers, what ready means, and in which
order. A rule's own \`container\`, \`image\`, \`tier\` and \`check\` win over the preset's.

| sidecar | preset | container | check | tier | mesh proxy |
|---|---|---|---|---|---|
${rows.join('\n')}

Why this order: once a mesh's init container has redirected a pod's traffic, nobody reaches anything without its proxy, so it goes first.
Then the secrets, which the others may need; then what the app talks to; Dapr last, as its components may reach out through those.

Where the check is \`probe\`, the endpoint is off by default or its port is somebody's choice, and a fixed check would keep pods from ever
starting: the container's own startupProbe or readinessProbe decides. Where it has neither, it is started in order but not waited for, and
the answer says so; the line that is commented out in the example is the check to write then, once the sidecar is configured for it.

${presets.map(section).join('\n\n')}
`
}

function section(preset: Preset): string {
  const { name, title, containers, images, ready, explicit, ownHook, deadlocks, traps, source } = preset
  const lines = [
    `- **Container**: ${code(containers)}; image ${code(images)}`,
    `- **Ready when** ${ready}.`,
    ...(ownHook === undefined
      ? []
      : [`- **Waits by itself** with a hook that runs ${code([ownHook.join(' ')])}: left as it is.`]),
    ...deadlocks.map(
      ({ path, instead }) => `- **Deadlock**: ${code([path])} waits for the app; use ${code([formatCheck(instead)])}.`,
    ),
    ...traps.map((trap) => `- **Trap**: ${trap}`),
    `- **Source**: <${source}>`,
  ]
  const example = ['rules:', `  - name: ${name}`, `    match: {preset: ${name}}`]
  if (explicit !== undefined) example.push(`    # check: ${formatCheck(explicit)}`)
  return [`## ${title}`, '', ...lines, '', '```yaml', ...example, '```'].join('\n')
}

const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ')
