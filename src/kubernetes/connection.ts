import { createConfiguration, type KubeConfig, ServerConfiguration } from '@kubernetes/client-node'

const callTimeout = 10_000

/**
 * The client configuration. One connection pool for all calls: by itself, KubeConfig makes a new one, with a TLS handshake,
 * for each.
 * @param timeout of one call, in ms
 * @param heard is told the API server's clock (ms) with each answer
 */
export function connection(
  kubeconfig: KubeConfig,
  { timeout = callTimeout, heard }: { timeout?: number | undefined; heard?: (date: number) => void } = {},
) {
  const server = kubeconfig.getCurrentCluster()?.server
  if (server === undefined) throw new Error('the kubeconfig names no cluster')
  let dispatcher: ReturnType<Parameters<KubeConfig['applySecurityAuthentication']>[0]['getDispatcher']>
  return createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: {
      default: {
        getName: () => 'kubeconfig',
        async applySecurityAuthentication(context) {
          await kubeconfig.applySecurityAuthentication(context)
          dispatcher ??= context.getDispatcher()
          if (dispatcher) context.setDispatcher(dispatcher)
        },
      },
    },
    promiseMiddleware: [
      {
        async pre(context) {
          context.setSignal(AbortSignal.timeout(timeout))
          return context
        },
        async post(context) {
          const date = Date.parse(context.headers.date ?? '')
          if (!Number.isNaN(date)) heard?.(date)
          return context
        },
      },
    ],
  })
}
