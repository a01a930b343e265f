import type { Input, Job, TaskGroup } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { RandomStream } from './random-stream.ts'

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
export function makeJob(random: RandomStream, id: string): Input<Job> {
  const kind = id.split('-')[0] ?? ''
  const type = kind === 'periodic' || kind === 'parameterized' ? 'batch' : kind
  const groups = random.chance(0.75) ? ['a'] : ['a', 'b']
  return {
    ID: id,
    Type: type,
    Priority: random.choose(20, 50, 50, 80),
    Datacenters: random.chance(0.8) ? ['*'] : ['dc1'],
    ...(random.chance(0.1) ? { NodePool: 'all' } : {}),
    ...(random.chance(0.15) ? { Constraints: [constraint(random)] } : {}),
    ...(random.chance(0.25) && (type === 'service' || type === 'batch')
      ? { Spreads: [{ Attribute: '${meta.rack}', Weight: 50 }] }
      : {}),
    ...(kind === 'periodic'
      ? {
          Periodic: {
            Spec: random.choose('* * * * *', '*/2 * * * *'),
            SpecType: 'cron',
            ProhibitOverlap: random.chance(0.5),
          },
        }
      : {}),
    ...(kind === 'parameterized' ? { ParameterizedJob: { Payload: 'optional' } } : {}),
    TaskGroups: groups.map((name) => makeGroup(random, type, name)),
  }
}

function constraint(random: RandomStream) {
  return random.choose(
    { LTarget: '${node.class}', RTarget: 'large', Operand: '=' },
    { LTarget: '${meta.rack}', RTarget: 'r3', Operand: '!=' },
  )
}

function makeGroup(random: RandomStream, type: string, name: string): Input<TaskGroup> {
  const isScheduledOnce = type === 'service' || type === 'batch'
  return {
    Name: name,
    ...(isScheduledOnce ? { Count: random.between(0, 5) } : {}),
    ...(isScheduledOnce && random.chance(0.1)
      ? { Constraints: [{ Operand: 'distinct_hosts', LTarget: '', RTarget: 'true' }] }
      : {}),
    ...(type === 'service' || type === 'system' ? { Update: makeUpdate(random, type) } : {}),
    ...(type === 'service' ? { Migrate: makeMigrate(random) } : {}),
    ...(isScheduledOnce ? { ReschedulePolicy: makeReschedule(random) } : {}),
    ...(isScheduledOnce && random.chance(0.2) ? { Disconnect: makeDisconnect(random) } : {}),
    EphemeralDisk: { SizeMB: random.choose(200, 300) },
    RestartPolicy: makeRestart(random),
    ...(random.chance(0.3) ? { Networks: [makeNetwork(random)] } : {}),
    Tasks: [
      {
        Name: 'main',
        Driver: 'mock',
        Config: {},
        // The change that most new versions make.
        Env: { VERSION: String(random.between(1, 4)) },
        Resources: makeResources(random),
      },
    ],
  }
}

function makeUpdate(random: RandomStream, type: string) {
  const Canary = type === 'service' && random.chance(0.3) ? random.between(1, 2) : 0
  return {
    MaxParallel: random.choose(1, 1, 2, 3, 0),
    Canary,
    AutoPromote: Canary > 0 && random.chance(0.5),
    AutoRevert: random.chance(0.3),
    HealthCheck: 'task_states',
    MinHealthyTime: nsFromMs(random.choose(0, 1_000, 3_000)),
    HealthyDeadline: nsFromMs(20_000),
    ProgressDeadline: nsFromMs(random.choose(0, 40_000, 60_000)),
  }
}

/** Mostly no restarts: failures on a node then reach the scheduler. */
function makeRestart(random: RandomStream) {
  return {
    Attempts: random.choose(0, 0, 0, 1),
    Delay: nsFromMs(2_000),
    Interval: nsFromMs(600_000),
    Mode: 'fail',
  }
}

function makeMigrate(random: RandomStream) {
  return {
    MaxParallel: random.choose(1, 2),
    HealthCheck: 'task_states',
    MinHealthyTime: nsFromMs(random.choose(0, 2_000)),
    HealthyDeadline: nsFromMs(20_000),
  }
}

function makeReschedule(random: RandomStream) {
  if (random.chance(0.2)) return { Attempts: 0, Unlimited: false, Interval: 0 }
  const delays = {
    Delay: nsFromMs(5_000),
    DelayFunction: random.choose('constant', 'exponential', 'fibonacci'),
    MaxDelay: nsFromMs(30_000),
  }
  return random.chance(0.6)
    ? { ...delays, Attempts: 0, Unlimited: true, Interval: 0 }
    : { ...delays, Attempts: random.between(1, 3), Unlimited: false, Interval: nsFromMs(600_000) }
}

function makeDisconnect(random: RandomStream) {
  return {
    LostAfter: nsFromMs(random.choose(30_000, 60_000)),
    Replace: random.chance(0.6),
    Reconcile: random.choose('best_score', 'keep_original', 'keep_replacement', 'longest_running'),
  }
}

function makeNetwork(random: RandomStream) {
  const port = random.chance(0.4)
    ? { ReservedPorts: [{ Label: 'http', Value: random.choose(8_080, 8_081) }] }
    : { DynamicPorts: [{ Label: 'http' }] }
  return { Mode: 'host', ...port }
}

function makeResources(random: RandomStream) {
  const MemoryMB = random.choose(64, 256, 512, 1_024)
  const Devices = random.chance(0.05) ? [{ Name: 'gpu', Count: 1 }] : null
  if (random.chance(0.1)) return { Cores: 1, MemoryMB, Devices }
  return { CPU: random.choose(100, 300, 700, 1_500), MemoryMB, Devices }
}
