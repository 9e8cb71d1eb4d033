/** Every key that a configuration file may have, by the object that has it: the reader knows no others, and docs/configuration.md lists them all. */
export const configurationKeys = {
  '': [
    ...['apiVersion', 'kind', 'defaults', 'mode', 'invalid'],
    ...['kubernetesVersion', 'waiter', 'lock', 'injected', 'annotations', 'enforced', 'rules'],
  ],
  waiter: ['image', 'imagePullPolicy', 'delivery', 'mirrors'],
  defaults: [
    ...['check', 'timeout', 'onTimeout', 'gate', 'nativePosition', 'existingHook'],
    ...['startupProbe', 'lock', 'lockRestarts', 'end', 'endAppear'],
  ],
  lock: ['lease', 'runtimeClasses'],
  annotations: ['checks'],
  enforced: ['failurePolicy', 'inFront'],
  'enforced.inFront[]': ['container', 'image'],
  'rules[]': [
    ...['name', 'match', 'tier', 'check', 'timeout', 'onTimeout'],
    ...['gate', 'nativePosition', 'existingHook', 'startupProbe', 'lock', 'lockRestarts', 'end', 'endAppear'],
    ...['enforce', 'exempt', 'allowNatives'],
  ],
  'rules[].match': ['container', 'image', 'preset', 'podSelector', 'namespaceSelector'],
} as const
