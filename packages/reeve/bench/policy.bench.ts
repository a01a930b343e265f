/**
 * Policy evaluation: its cost on this thread and through the worker thread, cold and warm; and its
 * share of a registration, in particular without any policies. `node
 * packages/reeve/bench/policy.bench.ts [--quick]`
 */
import { setImmediate } from 'node:timers/promises'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { WorkerEngine } from '../src/judging/index.ts'
import { systemClock } from '../src/main/system.ts'
import {
  InProcessEngine,
  type PolicyInvocation,
  type JobInput,
  type JsonObject,
  type PolicyInput,
} from '../src/policy/index.ts'
import {
  Authenticator,
  NO_POLICIES,
  JobPolicyEvaluator,
  registerJob,
  type PolicySource,
} from '../src/workload/index.ts'
import { aGroup, aJob, aTask } from '../test/build/index.ts'
import { createTestServer } from '../test/api/harness.ts'
import { fixed, isQuick, printTable, rateOf, summary, timed, whole } from './measure.ts'
import { aPlan, jobPolicies, planPolicies, ROLES } from './policy-texts.ts'

const ROUNDS = isQuick ? 50 : 300
/** The CPU clock has a resolution of some milliseconds. */
const WORK_MS = isQuick ? 100 : 1_000
const LOOKS = 10_000
const RATE_MS = isQuick ? 300 : 3_000

const OPTIONS = {
  version: '0.0.0',
  time: { nowNs: 0n, zone: 'UTC', offsetSeconds: () => 0 },
  isCancelled: () => false,
  random: () => 0.5,
  offsetAt: createTimeZoneOffset(),
}

const JOB: JobInput = {
  kind: 'job',
  // Proof: a job in wire format is plain data.
  job: aJob({ groups: Array.from({ length: 3 }, (_, at) => group(at)) }) as unknown as JsonObject,
  existingJob: undefined,
  namespace: 'default',
  token: undefined,
  variables: new Map(),
}
const REQUEST: JobInput = {
  ...JOB,
  job: { User: 'alice', Action: 'write', Object: 'server123' },
}

function group(at: number) {
  return aGroup({ Name: `g${at}`, Count: 2, tasks: [aTask(), aTask({ Name: 'side' })] })
}

/** CPU milliseconds per warm call: other load on the machine does not count. */
function meanWork(work: () => void): number {
  const run = (untilMs: number): number => {
    const start = process.threadCpuUsage()
    for (let calls = 1; ; calls++) {
      work()
      const { user, system } = process.threadCpuUsage(start)
      const tookMs = (user + system) / 1_000
      if (tookMs >= untilMs) return tookMs / calls
    }
  }
  run(WORK_MS / 2)
  return run(WORK_MS)
}

interface Case {
  readonly name: string
  readonly subject: PolicyInput
  readonly policies: readonly PolicyInvocation[]
}

const CASES: readonly Case[] = [
  { name: 'job, 1 native policy', subject: JOB, policies: jobPolicies('native', 1) },
  { name: 'job, 20 native policies', subject: JOB, policies: jobPolicies('native', 20) },
  { name: 'job, 1 Rego policy', subject: JOB, policies: jobPolicies('opa', 1) },
  { name: 'job, 20 Rego policies', subject: JOB, policies: jobPolicies('opa', 20) },
  { name: 'roles, Rego', subject: REQUEST, policies: [ROLES] },
  { name: 'plan of 1,000, 10 native', subject: aPlan(1_000), policies: planPolicies('native', 10) },
  { name: 'plan of 1,000, 10 Rego', subject: aPlan(1_000), policies: planPolicies('opa', 10) },
]

await benchAsking()
await benchRegistration()

async function benchAsking(): Promise<void> {
  const rows: string[][] = []
  for (const one of CASES) rows.push(await askingRow(one))
  process.stdout.write(
    'microseconds for each policy (warm: work of this thread; others: time);\ncold: compiled first\n',
  )
  printTable(['', 'cold', 'warm', 'on its thread: cold', 'p50', 'p99'], rows)
}

async function askingRow({ name, subject, policies }: Case): Promise<string[]> {
  const judge = new InProcessEngine()
  const rounds = subject.kind === 'plan' ? Math.ceil(ROUNDS / 30) : ROUNDS
  const ask = (): void => {
    const said = judge.evaluate(subject, policies, OPTIONS)
    const failed = said.find(({ status }) => status !== 'passed')
    if (failed !== undefined) throw new Error(`${name}: ${JSON.stringify(failed)}`)
  }
  const start = performance.now()
  ask()
  const cold = performance.now() - start
  const warm = meanWork(ask)
  const thread = new WorkerEngine({ clock: systemClock, version: '0.0.0' })
  // Excludes starting the thread, which only the first registration pays.
  await thread.evaluate(REQUEST, [ROLES], { tenant: 'bench' })
  const onThread: number[] = []
  for (let round = 0; round <= rounds; round++) {
    onThread.push(await timed(() => thread.evaluate(subject, policies, { tenant: 'bench' })))
  }
  await thread.stop()
  const micros = (ms = 0): string => fixed((ms * 1_000) / policies.length)
  const there = summary(onThread.slice(1), 1)
  return [
    name,
    micros(cold),
    micros(warm),
    micros(onThread[0]),
    micros(there.p50),
    micros(there.p99),
  ]
}

/** A source with this number of policies for the namespace `default`. */
function sourceOf(policies: readonly PolicyInvocation[]): PolicySource {
  const codes = new Map(policies.map(({ policy }) => [policy.name, policy.code]))
  const set = {
    id: 'polset-bench',
    name: 'bench',
    organizationId: 'org-bench',
    overridable: false,
    secrets: [],
    policies: policies.map(({ policy: { name, kind, query }, params }) => ({
      id: name,
      name,
      kind,
      query,
      level: kind === 'opa' ? ('mandatory' as const) : ('hard-mandatory' as const),
      description: null,
      codeHash: name,
      params,
    })),
  }
  return {
    hasPolicies: () => true,
    policySetsFor: (namespace) => (namespace === 'default' ? [set] : []),
    organizationOf: () => undefined,
    requiresComment: () => false,
    readCode: async (codeHash) => codes.get(codeHash),
  }
}

async function benchRegistration(): Promise<void> {
  const thread = new WorkerEngine({ clock: systemClock, version: '0.0.0' })
  const guards = [
    ['no policy anywhere', NO_POLICIES],
    ['policies of other namespaces', { ...NO_POLICIES, hasPolicies: () => true }],
    ['1 native policy', sourceOf(jobPolicies('native', 1))],
    ['20 native policies', sourceOf(jobPolicies('native', 20))],
    ['20 Rego policies', sourceOf(jobPolicies('opa', 20))],
  ] as const
  const rows: string[][] = []
  for (const [name, source] of guards) {
    const guard = new JobPolicyEvaluator({ source, engine: thread })
    const lookNs = lookCost(guard)
    const { perSecond, p50, p99 } = await registrationRate(guard)
    rows.push([name, fixed(lookNs), whole(perSecond), fixed(p50), fixed(p99)])
  }
  await thread.stop()
  process.stdout.write('registrations in memory, one after the other; look: nanoseconds to see\n')
  process.stdout.write('whether there are policies\n')
  printTable(['', 'look ns', 'per second', 'p50 ms', 'p99 ms'], rows)
}

function lookCost(guard: JobPolicyEvaluator): number {
  const look = (): void => {
    let sets = 0
    for (let i = 0; i < LOOKS; i++) sets += guard.policySetsFor('default').length
    if (sets < 0) throw new Error('the loop is not to be left out')
  }
  return (meanWork(look) * 1_000_000) / LOOKS
}

async function registrationRate(guard: JobPolicyEvaluator) {
  const server = await createTestServer({ aclEnabled: false })
  const context = { ...server.context, jobPolicies: guard }
  const caller = new Authenticator(context).authenticate(undefined)
  if (!caller.ok) throw new Error(caller.error.message)
  let at = 0
  const register = async (): Promise<void> => {
    const Job = { ...JOB.job, ID: `job-${at++ % 100}` }
    const request = {
      body: { Job },
      queryNamespace: '',
      queryRegion: '',
      pathJobId: undefined,
      origin: { tenant: 'bench', nextTurn: () => setImmediate() },
    }
    const written = await registerJob(context, { ...caller.value, by: 'system' }, request)
    if (!written.ok) throw new Error(written.error.message)
  }
  for (let i = 0; i < 100; i++) await register()
  const rate = await rateOf(RATE_MS, register)
  await server.close()
  return rate
}
