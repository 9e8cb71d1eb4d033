import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Deployment, V1Node, V1Pod } from '@kubernetes/client-node'
import type { CertificateProblem } from '../../../certs/problems.ts'
import { told } from '../../../src/check/findings.ts'
import { readyEndpoints, judgeStatus as statusFindings } from '../../../src/check/installation/certificate.ts'
import { judgeExporter } from '../../../src/check/installation/exporter.ts'
import { idleAuto } from '../../../src/check/installation/lock.ts'
import { judgeNodes as nodeFindings } from '../../../src/check/installation/nodes.ts'
import { judgeReplicas as replicaFindings } from '../../../src/check/installation/replicas.ts'
import { judgeRefusal, judgeTrial as trialFindings } from '../../../src/check/installation/trial.ts'
import { judgePull } from '../../../src/check/installation/waiter-image.ts'
import { asking, installation, levels, patched, worded } from '../cluster.ts'

const judgeStatus = worded(statusFindings)
const judgeNodes = worded(nodeFindings)
const judgeReplicas = worded(replicaFindings)
const judgeTrial = worded(trialFindings)

describe('nodes', () => {
  const node = (kubeletVersion: string, containerRuntimeVersion = 'containerd://2.1.0', operatingSystem = 'linux') =>
    ({
      metadata: { name: 'n' },
      status: { nodeInfo: { kubeletVersion, containerRuntimeVersion, operatingSystem } },
    }) as V1Node
  const judge = (more: string, ...nodes: V1Node[]) => judgeNodes(nodes, installation(more).configuration)

  test('need new kubelets and runtimes for image volumes', () => {
    const images = 'waiter: {delivery: image-volume}\n'
    assert.deepEqual(levels(judge(images, node('v1.35.0'), node('v1.36.1', 'cri-o://1.31.0'))), ['ok'])
    assert.deepEqual(levels(judge(images, node('v1.34.4-gke.1'))), ['problem'])
    assert.deepEqual(levels(judge(images, node('v1.35.0', 'containerd://1.7.28'))), ['problem'])
    assert.deepEqual(levels(judge(images, node('v1.35.0', 'other://9'))), ['warning'])
    assert.deepEqual(levels(judge('', node('v1.29.0', 'containerd://1.6.20'))), ['ok'])
  })

  test('need 1.29 for native sidecars, by a rule too; Windows nodes run none', () => {
    assert.deepEqual(levels(judge('defaults: {gate: native}\n', node('v1.28.9'), node('v1.30.0'))), ['problem'])
    const rule = 'rules: [{name: a, tier: 1, match: {container: a}, gate: native}]\n'
    assert.deepEqual(levels(judge(rule, node('v1.28.9'))), ['problem'])
    assert.deepEqual(levels(judge(rule, node('v1.28.9', '', 'windows'), node('v1.29.0'))), ['ok'])
  })

  test('are not older than the configuration says', () => {
    assert.deepEqual(levels(judge('kubernetesVersion: "1.27"\n', node('v1.19.10-vk-azure-aci-1.4.8'))), ['ok'])
    assert.deepEqual(levels(judge('kubernetesVersion: "1.28"\n', node('v1.27.4'))), ['warning'])
    assert.deepEqual(levels(judge('kubernetesVersion: "1.36"\n', node('v1.36.0'))), ['ok'])
    assert.deepEqual(levels(judge('kubernetesVersion: "1.36"\n', node('v1.35.0'), node('v1.34.0'))), ['warning'])
  })
})

test('says whether auto locks pods, and if not, why', () => {
  const judge = (more: string, path = '/mutate/lock-by-name') => {
    const { configuration, mutating } = installation(more)
    const base = mutating.webhooks?.at(-1)?.clientConfig.service
    if (base) base.path = path
    const idle = idleAuto(configuration, mutating)
    return told(idle === undefined ? { kind: 'auto-locks' } : { kind: 'auto-idle', idle }).text
  }
  const version = 'kubernetesVersion: "1.36"\n'
  for (const path of [undefined, '/mutate/lock']) assert.match(judge(version, path), /^lock: auto locks the apps/)
  assert.match(judge(''), /locks nothing: the configuration has no kubernetesVersion$/)
  assert.match(judge('kubernetesVersion: "1.34"\n'), /kubernetesVersion is 1\.34, and the lock needs 1\.35$/)
  assert.match(judge(`${version}defaults: {lock: off}\n`), /the configuration says lock: off$/)
  assert.match(judge(version, '/mutate'), /the mutating webhook configuration is missing, or that of 0\.1$/)
})

describe('replicas', () => {
  const deployment = (replicas: number): V1Deployment => ({
    spec: { replicas, selector: {}, template: {} },
  })
  const replica = (name: string, ready: boolean, nodeName: string) =>
    ({
      metadata: { name },
      spec: { nodeName, containers: [] },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', message: 'not yet' }] },
    }) as V1Pod
  const judge = (wanted: number, pods: V1Pod[], nodes = 2) =>
    judgeReplicas(deployment(wanted), pods, nodes, 'sidecar-first')

  test('are ready and apart', () => {
    assert.deepEqual(levels(judge(2, [replica('a', true, 'n1'), replica('b', true, 'n2')])), ['ok'])
    assert.deepEqual(levels(judge(2, [replica('a', true, 'n1'), replica('b', true, 'n1')])), ['warning'])
    assert.deepEqual(levels(judge(2, [replica('a', true, 'n1'), replica('b', true, 'n1')], 1)), ['ok'])
  })

  test('are a warning where some are ready, a problem where none is', () => {
    assert.deepEqual(levels(judge(2, [replica('a', true, 'n1'), replica('b', false, 'n2')])), ['warning', 'warning'])
    const none = judge(1, [replica('a', false, 'n1')])
    assert.deepEqual(levels(none), ['problem', 'problem'])
    assert.match(none[1]?.text ?? '', /a is not ready: not yet/)
    assert.match(judge(0, [])[0]?.next ?? '', /kubectl scale/)
    assert.deepEqual(levels(judge(1, [replica('a', true, 'n1')])), ['warning'])
    assert.deepEqual(levels(judgeReplicas(undefined, [], 1, 'sidecar-first')), ['problem'])
  })
})

describe('a certificate that certs keeps', () => {
  const keeper = (ready: boolean) =>
    ({
      metadata: { name: 'certs-1' },
      status: {
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
        containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }],
      },
    }) as V1Pod
  const judge = (keepers: V1Pod[] | undefined, ...problems: CertificateProblem[]) =>
    judgeStatus({ phase: 'steady', problems }, keepers, 'sidecar-first')

  test('is sound without it for a while, which is a warning', () => {
    assert.deepEqual(levels(judge([keeper(true)])), ['ok'])
    assert.deepEqual(levels(judge([keeper(false)])), ['ok', 'warning'])
    assert.deepEqual(levels(judge(undefined)), ['ok'], 'a certificate of the user’s own')
    assert.match(judge([])[1]?.next ?? '', /^kubectl scale -n sidecar-first deployment\/sidecar-first-certs/)
  })

  test('is not mended by certs that does not run: then that comes first', () => {
    assert.match(judge([keeper(true)], { kind: 'leaf-missing' })[0]?.next ?? '', /kubectl logs/)
    const [first, second] = judge([keeper(false)], { kind: 'leaf-missing' })
    assert.match(first?.text ?? '', /certs-1 is not ready: ImagePullBackOff/)
    assert.doesNotMatch(second?.next ?? '', /kubectl logs/)
  })
})

describe('replicas that are not ready', () => {
  test('are not asked, though an EndpointSlice still has them: that would be said of every replica', () => {
    const endpoint = (pod: string) => ({ host: '10.0.0.1', port: 8443, pod })
    const pod = (name: string, status: string) =>
      ({ metadata: { name }, status: { conditions: [{ type: 'Ready', status }] } }) as V1Pod
    const both = [endpoint('a'), endpoint('b')]
    assert.deepEqual(readyEndpoints(both, [pod('a', 'True'), pod('b', 'False')]), [endpoint('a')])
    assert.deepEqual(readyEndpoints(both, []), [])
    const byAddress = { host: '10.0.0.1', port: 8443, pod: undefined }
    assert.deepEqual(readyEndpoints([byAddress], []), [byAddress], 'a webhook outside the cluster')
  })
})

describe('replicas that may not be asked', () => {
  test('are one warning for one missing right, and no fault of theirs', () => {
    const barred = (endpoint: string): CertificateProblem => ({
      kind: 'not-asked',
      endpoint,
      failure: 'forbidden',
      message: 'no',
    })
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } } as V1Pod
    const judged = (...problems: CertificateProblem[]) => judgeStatus({ phase: 'steady', problems }, [ready], 'here')
    assert.deepEqual(judged(barred('a'), barred('b')), [
      { code: 'SF727', level: 'warning', text: 'no replica was asked: no' },
    ])
    assert.deepEqual(levels(judged(barred('a'), { kind: 'leaf-missing' })), ['warning', 'problem'])
  })
})

test('a certificate that cert-manager keeps is judged without certs, which is not its to mend', () => {
  const judge = (...problems: CertificateProblem[]) =>
    judgeStatus({ phase: 'kept by cert-manager', problems }, [], 'sidecar-first')
  assert.deepEqual(levels(judge()), ['ok'])
  const [first, ...others] = judge({ kind: 'served-untrusted', endpoint: 'a' })
  assert.equal(first?.level, 'problem')
  assert.match(first?.next ?? '', /cert-manager/)
  assert.deepEqual(others, [])
  assert.equal(judge({ kind: 'endpoints-missing' })[0]?.next, 'see replicas')
})

describe('the pod that tries to pull', () => {
  const waiter = {
    image: 'waiter:1',
    imagePullPolicy: 'IfNotPresent',
    delivery: 'init-container',
    mirrors: [],
  } as const
  const judge = (status: object, events: object[] = []) => {
    const pod = { spec: { nodeName: 'n1', containers: [] }, status } as V1Pod
    return [told(judgePull({ pod, events: events as never }, waiter, 'sidecar-first'))]
  }
  const waiting = (reason: string, message = '') => ({
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason, message } } }],
  })

  test('says whether a registry was asked', () => {
    const [pulled] = judge({ phase: 'Succeeded' }, [{ reason: 'Pulled', message: 'Successfully pulled image' }])
    assert.match(pulled?.text ?? '', /was pulled by the node n1/)
    const [there] = judge({ phase: 'Succeeded' }, [{ reason: 'Pulled', message: 'already present on machine' }])
    assert.match(there?.text ?? '', /no registry was asked/)
  })

  test('says why it could not', () => {
    const failed = { reason: 'Failed', message: 'Failed to pull image "waiter:1": not found' }
    const [finding] = judge(waiting('ImagePullBackOff', 'Back-off'), [failed])
    assert.equal(finding?.level, 'problem')
    assert.match(finding?.text ?? '', /n1 can't run waiter:1: ImagePullBackOff: Failed to pull image/)
    assert.deepEqual(levels(judge(waiting('ContainerCreating'))), ['warning'])
    const terminated = { exitCode: 127, reason: 'StartError', message: 'exec format error' }
    const [ended] = judge({ phase: 'Failed', containerStatuses: [{ state: { terminated } }] })
    assert.match(ended?.text ?? '', /ended with exit code 127: exec format error/)
  })
})

describe('the dry run', () => {
  const { configuration } = installation()
  const tried = (version: string) =>
    judgeTrial(
      patched(
        {
          ...asking('x'),
          spec: { containers: [{ name: 'app' }, { name: 'sidecar' }] },
          metadata: {
            annotations: { 'sidecar-first.dev/sidecars': 'sidecar', 'check.sidecar-first.dev/sidecar': 'tcp://:1' },
          },
        },
        configuration,
      ),
      { namespace: 'shop', version, mode: 'enforce' },
    )

  test('tells a patched pod from one that came back as it was', () => {
    assert.deepEqual(levels(tried('1.0.0')), ['ok'])
    assert.deepEqual(levels(tried('2.0.0')), ['ok', 'warning'])
    const options = { namespace: 'shop', version: '1', mode: 'enforce' } as const
    assert.deepEqual(levels(judgeTrial(asking('x'), options)), ['problem'])
    assert.deepEqual(levels(judgeTrial(asking('x'), { ...options, mode: 'observe' })), ['ok'])
  })

  test("tells our outage from another's refusal", () => {
    const down = 'failed calling webhook "pods.sidecar-first.dev": connection refused'
    assert.equal(told(judgeRefusal({ message: down }, 'shop')).level, 'problem')
    assert.equal(told(judgeRefusal({ message: 'exceeded quota' }, 'shop')).level, 'warning')
  })
})

test('the exporter of starts runs once, in the version of the replicas, and with the rights it needs', () => {
  const deployment = (image: string, replicas = 1): V1Deployment => ({
    spec: { replicas, selector: {}, template: { spec: { containers: [{ name: 'x', image }] } } },
  })
  const pod = (status: string, message?: string): V1Pod => ({
    metadata: { name: 'starts-x' },
    status: { conditions: [{ type: 'Ready', status, ...(message && { message }) }] },
  })
  const sound = { deployment: deployment('a:2'), server: deployment('a:2', 2), pods: [pod('True')], lacking: [] }
  const judge = (more: Partial<Parameters<typeof judgeExporter>[0]> = {}) =>
    judgeExporter({ ...sound, ...more }, 'ns').map((finding) => {
      const { level, text, next = '' } = told(finding)
      return `${level} ${text}; ${next}`
    })
  const again = 'sidecar-first install --apply --starts, with your flags'
  assert.deepEqual(judge(), ['ok sidecar-first-starts counts how pods start; '])
  assert.deepEqual(judge({ deployment: deployment('a:2', 0), pods: [] }), [
    'warning deployment/sidecar-first-starts has no pod: no starts are counted; kubectl scale -n ns deployment/sidecar-first-starts --replicas=1',
  ])
  assert.deepEqual(judge({ pods: [pod('False', 'no node fits')] }), [
    'warning starts-x is not ready: no node fits: no starts are counted; kubectl describe pod -n ns -l app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=starts',
  ])
  assert.deepEqual(judge({ deployment: deployment('a:1', 2), lacking: ['list events', 'watch events'] }), [
    'warning 2 replicas of sidecar-first-starts count each start as often; kubectl scale -n ns deployment/sidecar-first-starts --replicas=1',
    `warning sidecar-first-starts runs a:1, the replicas a:2; ${again}`,
    `warning the account of sidecar-first-starts may not list events, watch events; ${again}`,
  ])
  assert.deepEqual(judge({ server: undefined }).length, 1)
})
