import { HOST_NETWORK, type TaskLaunch } from '../../src/agent/index.ts'
import { allocationId } from './agent.ts'

/** The smallest launch: no output, no volumes, the machine's own network. */
export function aLaunch(fields: Partial<TaskLaunch> = {}): TaskLaunch {
  const taskDir = fields.taskDir ?? '/nowhere'
  return {
    handle: {
      driver: 'mock',
      id: 'start-1',
      allocationId: allocationId(1),
      task: 'web',
      dir: '/nowhere/records',
      bootId: 'boot',
    },
    identity: {
      namespace: 'default',
      jobId: 'shop',
      jobName: 'shop',
      group: 'front',
      nodeId: 'node-1',
      nodeName: 'n1',
    },
    config: {},
    env: {},
    user: '',
    taskDir,
    allocDir: `${taskDir}/alloc`,
    localDir: `${taskDir}/local`,
    secretsDir: `${taskDir}/secrets`,
    resources: { cpuMHz: 100, cpuFraction: 0.1, cores: [], memoryMB: 64, memoryMaxMB: 0 },
    logs: undefined,
    mounts: [],
    network: HOST_NETWORK,
    ...fields,
  }
}
