// What every test process does first.
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { runs } from './runs.ts'

fc.configureGlobal(runs(100))

// Stripping types takes longer than most commands run, so Node keeps the result, for each of its versions. The processes that a test starts
// find the same folder.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
