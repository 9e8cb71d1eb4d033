import type { Endpoint } from './cluster.ts'
import { type CertificateProblem, notAsked } from './problems.ts'

/** What an endpoint shows in a handshake (PEM). @throws ClusterError if it can't be asked */
export type Ask = (endpoint: Endpoint) => Promise<string | undefined>

/** What an endpoint shows, or why there is nothing. */
type Answer = { readonly endpoint: string } & ({ readonly pem: string } | { readonly problem: CertificateProblem })

export const answersOf = (endpoints: readonly Endpoint[], ask: Ask): Promise<Answer[]> =>
  Promise.all(
    endpoints.map(async (each): Promise<Answer> => {
      const endpoint = `${each.pod ?? each.host}:${each.port}`
      try {
        const pem = await ask(each)
        return pem === undefined ? { endpoint, problem: { kind: 'no-handshake', endpoint } } : { endpoint, pem }
      } catch (error) {
        return { endpoint, problem: notAsked(endpoint, error) }
      }
    }),
  )
