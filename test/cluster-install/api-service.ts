import { serveService } from './services.ts'

/** Pods reach the API server by its cluster IP. */
export function serveApi(): Promise<void> {
  serving ??= serveService('10.97.0.1', 443, () => ({ host: '127.0.0.1', port: 6443 }))
  return serving
}
let serving: Promise<void> | undefined
