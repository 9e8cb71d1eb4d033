// npm run notices: writes THIRD-PARTY-NOTICES, from what the bundler really puts in, Node and Go.
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { bundledComponents, goComponent, nodeComponent } from './shipped/components.ts'
import { notices, noticesFile } from './shipped/notices.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-notices-'))
try {
  writeFileSync(noticesFile, notices(bundledComponents(await bundle(folder)), nodeComponent(), goComponent()))
} finally {
  await rm(folder, { recursive: true })
}
