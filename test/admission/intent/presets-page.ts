// Renders docs/presets.md from the presets' data. A test fails if the page is stale, and updates it with UPDATE_GOLDEN=1.
import { formatCheck } from '../../../src/admission/check/grammar.ts'
import { type Preset, presets } from '../../../src/admission/intent/presets.ts'

export function presetsPage(): string {
  const rows = presets.map(
    ({ name, title, containers, check, tier, meshProxy }) =>
      `| [${title}](#${title.toLowerCase().replaceAll(' ', '-')}) | \`${name}\` | ${code(containers)} | ${code([formatCheck(check)])} | ${tier} | ${meshProxy ? 'yes' : 'no'} |`,
  )
  return `# Presets

<!-- Generated from src/admission/intent/presets.ts: UPDATE_GOLDEN=1 node --test test/admission/intent/presets.test.ts -->

A preset describes a well-known sidecar, so that a [rule](rules.md) can be two lines: which containers it has, how to find out that it is ready, and
when it starts. A rule's own \`container\`, \`image\`, \`tier\` and \`check\` win over the preset's.

| sidecar | preset | container | check | tier | mesh proxy |
|---|---|---|---|---|---|
${rows.join('\n')}

The order: once a mesh's init container has redirected a pod's traffic, no container reaches anything without the mesh's proxy, so the proxy
starts first. Then come the secrets, which the others may need, then what the app talks to. Dapr is last, because its components may use those.

If the check is \`probe\`, the endpoint is off by default or its port is configurable, and a fixed check could keep pods from ever starting. Then the
container's own startupProbe or readinessProbe decides. If it has neither, the sidecar starts in order but isn't waited for, and a warning says so. The
example then shows, commented out, the check to write once the sidecar is configured for it.

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
      : [`- **Existing hook**: one that runs ${code([ownHook.join(' ')])} already waits, so it is left as it is.`]),
    ...deadlocks.map(({ path, waitsFor, instead }) =>
      waitsFor === 'app'
        ? `- **Deadlock**: ${code([path])} only answers when the app is up, and the app waits for it. Use ${code([formatCheck(instead)])} instead. If its own probe asks it, sidecar-first does that by itself.`
        : `- **Not as a check**: ${code([path])} waits for more than the sidecar. If its own probe asks it, sidecar-first asks ${code([new URL(formatCheck(instead).replace('//:', '//localhost:')).pathname])} instead.`,
    ),
    ...traps.map((trap) => `- **Note**: ${trap}`),
    `- **Source**: <${source}>`,
  ]
  const example = ['rules:', `  - name: ${name}`, `    match: {preset: ${name}}`]
  if (explicit !== undefined) example.push(`    # check: ${formatCheck(explicit)}`)
  return [`## ${title}`, '', ...lines, '', '```yaml', ...example, '```'].join('\n')
}

const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ')
