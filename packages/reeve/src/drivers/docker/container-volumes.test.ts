import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aLaunch } from '../../../test/build/launch.ts'
import type { TaskLaunch } from '../../agent/index.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { containerSpec } from './container-spec.ts'
import { readDockerConfig } from './docker-config.ts'
import { DEFAULT_DOCKER_SETTINGS } from './docker-policy.ts'
import { getPath } from './engine-client.ts'

function hostConfigOf(launch: Partial<TaskLaunch>): unknown {
  const policy = {
    allowPrivileged: false,
    allowVolumes: true,
    allowHostNamespaces: false,
    allowCaps: DEFAULT_CAPS,
    pidsMax: 4_096,
  }
  const config = readDockerConfig({ image: 'box:1' })
  const given = { launch: aLaunch(launch), config, policy, coreCount: 4, binds: [] }
  const node = { settings: DEFAULT_DOCKER_SETTINGS, runtimes: [], agentId: 'agent-1' }
  return getPath(containerSpec({ ...given, ...node, networkContainer: undefined }), 'HostConfig')
}

const modes = [
  { propagation: undefined, readOnly: false, want: '/srv:/data' },
  { propagation: 'host-to-task', readOnly: false, want: '/srv:/data:rslave' },
  { propagation: 'bidirectional', readOnly: true, want: '/srv:/data:ro,rshared' },
] as const
for (const { propagation, readOnly, want } of modes)
  test(`container: a volume with propagation ${propagation ?? 'private'} is bound as ${want}`, () => {
    const mount = { hostPath: '/srv', taskPath: '/data', readOnly }
    const mounts = [propagation === undefined ? mount : { ...mount, propagation }]
    const binds = getPath(hostConfigOf({ mounts }), 'Binds')
    assert.ok(Array.isArray(binds) && binds.includes(want), JSON.stringify(binds))
  })

test('container: without reserved cores it runs on the shared ones', () => {
  const resources = { ...aLaunch({}).resources, sharedCores: [1, 3] }
  assert.equal(getPath(hostConfigOf({ resources }), 'CpusetCpus'), '1,3')
  const own = { ...resources, cores: [2] }
  assert.equal(getPath(hostConfigOf({ resources: own }), 'CpusetCpus'), '2')
})
