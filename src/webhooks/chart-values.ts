import type { Configuration } from '../admission/intent/configuration.ts'
import { writeYaml } from '../kubernetes/yaml.ts'
import { configurationHash, type WebhookOptions, webhookConfigurations } from './configurations.ts'

/**
 * The Helm chart's values for a configuration: its text, and the webhooks that go with it. The chart refuses them beside another text, mode or
 * namespace.
 */
export function chartValues(configuration: Configuration, text: string, options: WebhookOptions): string {
  // In the chart's ConfigMap it ends with one newline, and that text is what the server reads.
  const written = `${text.replace(/\n+$/, '')}\n`
  const { mutating, validating } = webhookConfigurations(configuration, written, options)
  const values = {
    mode: options.mode,
    waiterImage: configuration.waiter.image,
    configuration: written,
    webhooks: {
      mode: options.mode,
      namespace: options.namespace,
      hash: configurationHash(written),
      mutating: mutating.webhooks,
      validating: validating.webhooks,
    },
  }
  return writeYaml(values)
}
