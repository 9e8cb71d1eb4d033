import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { scanHtml } from '../../src/scan/html.ts'
import { withoutIgnored } from '../../src/scan/ignore.ts'
import { scanJson } from '../../src/scan/json.ts'
import type { Picture } from '../../src/scan/report.ts'
import { scanText } from '../../src/scan/text.ts'
import { now, pod, proxy, runs, survey } from './pods.ts'

const hostile = `<script>alert("1")</script>'\u001b[31m\u202e&`
const found = survey([
  pod(hostile, [runs(hostile, 1), runs('istio-proxy', 5)], {
    containers: [{ name: hostile, image: hostile }, proxy],
    metadata: { namespace: hostile, labels: {}, ownerReferences: [] },
  }),
])
const [workload] = found.workloads
const pictures: Picture[] = workload
  ? [
      {
        of: workload,
        pod: hostile,
        bars: [{ label: hostile, segments: [{ from: 0, until: 5, doing: 'early' }], note: hostile }],
      },
    ]
  : []
const page = scanHtml(found, { pictures, now, version: '1.0.0' })

test('a page to hand around shows hostile names as text, and may load and run nothing', () => {
  assert.equal(workload?.owner.name, hostile)
  assert.ok(page.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39; [31m &amp;'))
  assert.doesNotMatch(page, /<script|[^\P{Cc}\n]|\p{Bidi_Control}/u)
  const [, style = ''] = /<style>(.*)<\/style>/s.exec(page) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  assert.ok(page.includes(`<meta http-equiv="Content-Security-Policy" content="${policy}">`), 'the policy')
  assert.doesNotMatch(page, /(?:src|href|style)=|url\(|@import|https?:/)
})

test('a terminal is shown hostile names without what it would obey', () => {
  const look = { width: 100, color: false, unicode: true, terminal: true }
  const text = scanText(found, look, { all: false, pictures })
  assert.doesNotMatch(text, /[^\P{Cc}\n]|\p{Bidi_Control}/u)
  assert.match(text, /started like this:/)
})

test('a picture without the events of its pod says so, on a page and in a terminal', () => {
  const crowded = pictures.map((each): Picture => ({ ...each, crowded: true }))
  const look = { width: 100, color: false, unicode: true, terminal: true }
  const limited = /started (?:like this )?by its status alone, since there are more than 500 events about it:/
  assert.match(scanText(found, look, { all: false, pictures: crowded }), limited)
  assert.match(scanHtml(found, { pictures: crowded, now, version: '1.0.0' }), limited)
})

test('a pod with hundreds of sidecars fills no terminal and no page', () => {
  const sidecars = Array.from({ length: 500 }, (_, index) => ({ ...proxy, name: `proxy-${index}` }))
  const statuses = [runs('app', 1), ...sidecars.map(({ name }) => runs(name, 5))]
  const crowd = survey([pod('web-1', statuses, { containers: [{ name: 'app', image: 'app' }, ...sidecars] })])
  const look = { width: 100, color: false, unicode: true, terminal: true }
  const text = scanText(crowd, look, { all: false, pictures: [] })
  assert.ok(text.split('\n').length < 60, text)
  const html = scanHtml(crowd, { pictures: [], now, version: '1.0.0' })
  assert.ok((html.match(/<dt>/g) ?? []).length < 60)
  for (const shown of [text, html]) assert.equal(shown.match(/and 480 more; -o json has them all/g)?.length, 2)
  assert.equal(JSON.parse(scanJson(crowd)).workloads[0].seen.length, 500)
})

test('what is sure, probable and unknown are apart in JSON, each with its code', () => {
  const { counts, workloads } = JSON.parse(scanJson(found))
  assert.deepEqual([counts.sure, counts.probable, counts.unguarded], [1, 0, 1])
  const [{ sidecars, seen, mend }] = workloads
  assert.deepEqual([sidecars[0].today.code, sidecars[0].today.kind], ['SF901', 'unguarded'])
  assert.deepEqual([seen[0].certainty, seen[0].code, seen[0].some, seen[0].all], ['sure', 'SF911', 1, 1])
  assert.deepEqual(mend.lines, [{ key: 'sidecar-first.dev/sidecars', value: 'istio-proxy' }])
})

test('an ignored code is in no output, and what is sure stays with the line that would mend it', () => {
  const heard = withoutIgnored(found, new Set(['SF901']))
  const text = scanText(heard, { width: 100, color: false, unicode: true, terminal: true }, { all: true, pictures: [] })
  for (const output of [text, scanJson(heard), scanHtml(heard, { pictures: [], now, version: '1.0.0' })]) {
    assert.doesNotMatch(output, /SF901/)
    assert.match(output, /SF911/)
    assert.match(output, /istio-proxy/)
  }
  assert.match(text, /, 1 with a known sidecar, none of them unguarded; 1 shows harm/)
  assert.match(text, /would {5}sidecar-first\.dev\/sidecars: istio-proxy/)
})
