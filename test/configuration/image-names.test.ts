import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import schema from '../../chart/values.schema.json' with { type: 'json' }
import { install } from '../../src/cli/install.ts'
import { imageForm } from '../../src/configuration/image-form.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { run } from '../cli/inside.ts'

const digest = `sha256:${'0a'.repeat(32)}`

test('what no kubelet can pull is no image, in the configuration and by a flag', async () => {
  const names = {
    good: [
      'waiter',
      'team/waiter:v1',
      'REGISTRY/waiter:0.1.0',
      'localhost:5000/a/b__c/d--e:V1.2_x',
      `r.io/w:1@${digest}`,
    ],
    bad: [
      'r/Waiter:1',
      'r.io/UPPER/x:1',
      'a:1:2',
      'a/b:',
      'a//b',
      'a b',
      '-a',
      'w@sha256:12',
      `w:${'1'.repeat(129)}`,
      'https://r.io/w',
    ],
  }
  for (const [kind, images] of Object.entries(names)) {
    for (const image of images) {
      const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter: {image: ${JSON.stringify(image)}}\n`
      assert.equal(readConfiguration(text, '0.1.0').ok, kind === 'good', image)
      for (const [flag, other] of [
        ['--image', '--waiter-image'],
        ['--waiter-image', '--image'],
      ] as const) {
        const { code, stderr } = await run(install, `${flag}=${image}`, `${other}=r/x:1`)
        assert.equal(code, kind === 'good' ? 0 : 2, image)
        if (kind === 'bad') assert.match(stderr, new RegExp(`${flag} takes the name of an image, such as \\S+, not "`))
      }
    }
  }
})

test('the chart and SidecarRollouts take the same names', async () => {
  for (const key of ['image', 'waiterImage'] as const)
    assert.equal(
      schema.properties[key].pattern,
      imageForm.source.replace(/^\^(.*)\$$/s, '^($1)?$').replaceAll('\\/', '/'),
    )
  const crd = parse(await readFile(join(import.meta.dirname, '../../manifests/rollouts/crd.yaml'), 'utf8'))
  const { spec } = crd.spec.versions[0].schema.openAPIV3Schema.properties
  assert.equal(spec.properties.image.pattern, imageForm.source.replaceAll('\\/', '/'))
})
