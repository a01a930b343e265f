import type { Input, Job, TaskGroup } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { Draws } from './draws.ts'

/** The jobs of a world: a few names of each type, registered repeatedly. */
export const JOB_NAMES = [
  'service-1',
  'service-2',
  'service-3',
  'service-4',
  'batch-1',
  'batch-2',
  'system-1',
  'sysbatch-1',
  'periodic-1',
  'parameterized-1',
] as const

/** Creates a new version of a job, as a user might submit it. */
export function makeJob(draws: Draws, id: string): Input<Job> {
  const kind = id.split('-')[0] ?? ''
  const type = kind === 'periodic' || kind === 'parameterized' ? 'batch' : kind
  const groups = draws.chance(0.75) ? ['a'] : ['a', 'b']
  return {
    ID: id,
    Type: type,
    Priority: draws.choose(20, 50, 50, 80),
    Datacenters: draws.chance(0.8) ? ['*'] : ['dc1'],
    ...(draws.chance(0.1) ? { NodePool: 'all' } : {}),
    ...(draws.chance(0.15) ? { Constraints: [constraint(draws)] } : {}),
    ...(draws.chance(0.25) && (type === 'service' || type === 'batch')
      ? { Spreads: [{ Attribute: '${meta.rack}', Weight: 50 }] }
      : {}),
    ...(kind === 'periodic'
      ? {
          Periodic: {
            Spec: draws.choose('* * * * *', '*/2 * * * *'),
            SpecType: 'cron',
            ProhibitOverlap: draws.chance(0.5),
          },
        }
      : {}),
    ...(kind === 'parameterized' ? { ParameterizedJob: { Payload: 'optional' } } : {}),
    TaskGroups: groups.map((name) => makeGroup(draws, type, name)),
  }
}

function constraint(draws: Draws) {
  return draws.choose(
    { LTarget: '${node.class}', RTarget: 'large', Operand: '=' },
    { LTarget: '${meta.rack}', RTarget: 'r3', Operand: '!=' },
  )
}

function makeGroup(draws: Draws, type: string, name: string): Input<TaskGroup> {
  const isScheduledOnce = type === 'service' || type === 'batch'
  return {
    Name: name,
    ...(isScheduledOnce ? { Count: draws.between(0, 5) } : {}),
    ...(isScheduledOnce && draws.chance(0.1)
      ? { Constraints: [{ Operand: 'distinct_hosts', LTarget: '', RTarget: 'true' }] }
      : {}),
    ...(type === 'service' || type === 'system' ? { Update: makeUpdate(draws, type) } : {}),
    ...(type === 'service' ? { Migrate: makeMigrate(draws) } : {}),
    ...(isScheduledOnce ? { ReschedulePolicy: makeReschedule(draws) } : {}),
    ...(isScheduledOnce && draws.chance(0.2) ? { Disconnect: makeDisconnect(draws) } : {}),
    EphemeralDisk: { SizeMB: draws.choose(200, 300) },
    RestartPolicy: makeRestart(draws),
    ...(draws.chance(0.3) ? { Networks: [makeNetwork(draws)] } : {}),
    Tasks: [
      {
        Name: 'main',
        Driver: 'mock',
        Config: {},
        // The change that most new versions make.
        Env: { VERSION: String(draws.between(1, 4)) },
        Resources: makeResources(draws),
      },
    ],
  }
}

function makeUpdate(draws: Draws, type: string) {
  const Canary = type === 'service' && draws.chance(0.3) ? draws.between(1, 2) : 0
  return {
    MaxParallel: draws.choose(1, 1, 2, 3, 0),
    Canary,
    AutoPromote: Canary > 0 && draws.chance(0.5),
    AutoRevert: draws.chance(0.3),
    HealthCheck: 'task_states',
    MinHealthyTime: nsFromMs(draws.choose(0, 1_000, 3_000)),
    HealthyDeadline: nsFromMs(20_000),
    ProgressDeadline: nsFromMs(draws.choose(0, 40_000, 60_000)),
  }
}

/** Mostly no restarts: failures on a node then reach the scheduler. */
function makeRestart(draws: Draws) {
  return {
    Attempts: draws.choose(0, 0, 0, 1),
    Delay: nsFromMs(2_000),
    Interval: nsFromMs(600_000),
    Mode: 'fail',
  }
}

function makeMigrate(draws: Draws) {
  return {
    MaxParallel: draws.choose(1, 2),
    HealthCheck: 'task_states',
    MinHealthyTime: nsFromMs(draws.choose(0, 2_000)),
    HealthyDeadline: nsFromMs(20_000),
  }
}

function makeReschedule(draws: Draws) {
  if (draws.chance(0.2)) return { Attempts: 0, Unlimited: false, Interval: 0 }
  const delays = {
    Delay: nsFromMs(5_000),
    DelayFunction: draws.choose('constant', 'exponential', 'fibonacci'),
    MaxDelay: nsFromMs(30_000),
  }
  return draws.chance(0.6)
    ? { ...delays, Attempts: 0, Unlimited: true, Interval: 0 }
    : { ...delays, Attempts: draws.between(1, 3), Unlimited: false, Interval: nsFromMs(600_000) }
}

function makeDisconnect(draws: Draws) {
  return {
    LostAfter: nsFromMs(draws.choose(30_000, 60_000)),
    Replace: draws.chance(0.6),
    Reconcile: draws.choose('best_score', 'keep_original', 'keep_replacement', 'longest_running'),
  }
}

function makeNetwork(draws: Draws) {
  const port = draws.chance(0.4)
    ? { ReservedPorts: [{ Label: 'http', Value: draws.choose(8_080, 8_081) }] }
    : { DynamicPorts: [{ Label: 'http' }] }
  return { Mode: 'host', ...port }
}

function makeResources(draws: Draws) {
  const MemoryMB = draws.choose(64, 256, 512, 1_024)
  const Devices = draws.chance(0.05) ? [{ Name: 'gpu', Count: 1 }] : null
  if (draws.chance(0.1)) return { Cores: 1, MemoryMB, Devices }
  return { CPU: draws.choose(100, 300, 700, 1_500), MemoryMB, Devices }
}
