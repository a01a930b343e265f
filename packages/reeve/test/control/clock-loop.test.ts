import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ClockLoop, DrainLoop, VariableLockLoop } from '../../src/control/index.ts'
import { isoFromMs, msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { WorkspaceRow } from '../../src/model/index.ts'
import { put, type Change, type Tables } from '../../src/state/index.ts'
import { createTestServer, type TestServer } from '../api/harness.ts'
import { aRollout, aRolloutServer, minutes } from '../api/rollout.ts'
import { aWorkspaceRow } from '../build/governance.ts'
import { aJob, anAllocation, anEvaluation, aNode } from '../build/index.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

interface World {
  readonly server: TestServer
  readonly loop: ClockLoop
  readonly warnings: string[]
  readonly write: (...changes: readonly Change[]) => Promise<void>
}

async function aWorld(t: TestContext, copiesGlobalTokens = false): Promise<World> {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  const { store, clock } = server.context
  const warnings: string[] = []
  const silent = (): void => undefined
  const warn = (_fields: object, message: string): void => void warnings.push(message)
  const log = { info: silent, warn, error: silent }
  return {
    server,
    warnings,
    loop: new ClockLoop({ store, clock, log, copiesGlobalTokens }),
    async write(...changes) {
      await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
    },
  }
}

const TOKEN = {
  AccessorID: '00000000-0000-4000-8000-000000000001',
  Name: 'pipeline',
  Type: 'client',
  Policies: ['deploy'],
  Roles: [],
  Global: false,
  Hash: '',
  SecretHash: 'hash',
  SealedSecret: 'sealed',
  CreateIndex: 0,
  ModifyIndex: 0,
} as const

/** A workspace that is destroyed after three days without a change. */
function anIdleWorkspace(latestChangeMs: number): WorkspaceRow {
  return aWorkspaceRow({
    id: 'ws-idle',
    organizationId: 'org-1',
    projectId: 'prj-1',
    latestChangeMs,
    autoDestroyActivityDuration: '3d',
    autoDestroyAtMs: latestChangeMs + 3 * DAY_MS,
    autoDestroyStatus: 'scheduled',
  })
}

/** A row for each stored time, as the clock of a server writes it, and how to read it back. */
const cases: readonly {
  readonly name: string
  readonly durationMs: number
  readonly rows: (nowMs: number) => readonly Change[]
  readonly dueMs: (tables: Tables) => number
}[] = [
  {
    name: 'evaluations.WaitUntil',
    durationMs: 30_000,
    rows: (nowMs) => [
      put(
        'evaluations',
        anEvaluation(aJob(), {
          ID: 'waiting',
          Status: 'pending',
          CreateTime: nsFromMs(nowMs),
          WaitUntil: isoFromMs(nowMs + 30_000),
        }),
      ),
    ],
    dueMs: ({ evaluations }) => Date.parse(evaluations.get('waiting').WaitUntil),
  },
  ...(['unknown', 'lost'] as const).map((Value) => ({
    name: `allocations.AllocStates of one that is ${Value}`,
    durationMs: 30_000,
    rows: (nowMs: number) => [
      put('jobs', aJob()),
      put(
        'evaluations',
        anEvaluation(aJob(), {
          ID: 'waiting',
          Status: 'pending',
          CreateTime: nsFromMs(nowMs),
          WaitUntil: isoFromMs(nowMs + 30_000),
        }),
      ),
      put(
        'allocations',
        anAllocation({
          ID: 'silent',
          ClientStatus: Value,
          FollowupEvalID: 'waiting',
          AllocStates: [{ Field: 'ClientStatus', Value, Time: isoFromMs(nowMs) }],
        }),
      ),
    ],
    dueMs: ({ allocations }: Tables) =>
      Date.parse(allocations.get('silent').AllocStates?.at(-1)?.Time ?? '') + 30_000,
  })),
  {
    name: 'jobs.NodeLosses',
    durationMs: 30_000,
    rows: (nowMs) => [
      put('jobs', {
        ...aJob(),
        NodeLosses: [
          {
            NodeID: 'lost',
            AllocID: 'lost',
            Time: nsFromMs(nowMs),
            RetryTime: nsFromMs(nowMs + 30_000),
            ProbeUntil: nsFromMs(nowMs + 80_000),
            CreateIndex: 1,
          },
        ],
      }),
    ],
    dueMs: ({ jobs }) => {
      const [loss] = [...jobs.rows()].flatMap(({ NodeLosses = [] }) => NodeLosses)
      const { Time = 0, RetryTime = 0, ProbeUntil = 0 } = loss ?? {}
      assert.deepEqual([RetryTime - Time, ProbeUntil - Time].map(msFromNs), [30_000, 80_000])
      return msFromNs(RetryTime)
    },
  },
  {
    name: 'nodes.DrainStrategy.ForceDeadline',
    durationMs: HOUR_MS,
    rows: (nowMs) => [
      put('nodes', {
        ...aNode({ ID: 'draining' }),
        SecretHash: 'hash',
        DrainStrategy: {
          Deadline: nsFromMs(HOUR_MS),
          IgnoreSystemJobs: false,
          ForceDeadline: isoFromMs(nowMs + HOUR_MS),
          StartedAt: isoFromMs(nowMs),
        },
      }),
    ],
    dueMs: ({ nodes }) => Date.parse(nodes.get('draining').DrainStrategy?.ForceDeadline ?? ''),
  },
  {
    name: 'acl_tokens.ExpirationTime',
    durationMs: 8 * HOUR_MS,
    rows: (nowMs) => [
      put('acl_tokens', {
        ...TOKEN,
        CreateTime: isoFromMs(nowMs),
        ExpirationTTL: '8h',
        ExpirationTime: isoFromMs(nowMs + 8 * HOUR_MS),
      }),
    ],
    dueMs: ({ acl_tokens }) => Date.parse(acl_tokens.get(TOKEN.AccessorID).ExpirationTime ?? ''),
  },
  {
    name: 'one_time_tokens.ExpiresAt',
    durationMs: 10 * MINUTE_MS,
    rows: (nowMs) => [
      put('one_time_tokens', {
        AccessorID: 'a',
        SecretHash: 'hash',
        ExpiresAt: isoFromMs(nowMs + 10 * MINUTE_MS),
        CreateIndex: 0,
        ModifyIndex: 0,
      }),
    ],
    dueMs: ({ one_time_tokens }) => Date.parse(one_time_tokens.get('a').ExpiresAt),
  },
  {
    name: 'node_join_tokens.ExpiresAt',
    durationMs: 8 * HOUR_MS,
    rows: (nowMs) => [
      put('node_join_tokens', {
        ID: 'join',
        NodeName: '',
        NodePool: '',
        CreatedBy: '',
        UsedBy: '',
        UsedAt: null,
        CreateTime: isoFromMs(nowMs),
        ExpiresAt: isoFromMs(nowMs + 8 * HOUR_MS),
        SecretHash: 'hash',
        CreateIndex: 0,
        ModifyIndex: 0,
      }),
    ],
    dueMs: ({ node_join_tokens }) => Date.parse(node_join_tokens.get('join').ExpiresAt),
  },
  {
    name: 'workspaces.autoDestroyAtMs',
    durationMs: 3 * DAY_MS,
    rows: (nowMs) => [put('workspaces', anIdleWorkspace(nowMs))],
    dueMs: ({ workspaces }) => workspaces.get('ws-idle').autoDestroyAtMs ?? 0,
  },
]
for (const { name, durationMs, rows, dueMs } of cases) {
  test(`clock loop: ${name} from a clock that was ahead is due after its duration`, async (t) => {
    const { server, loop, warnings, write } = await aWorld(t)
    const { clock, context } = server
    await write(...rows(clock.nowMs() + 365 * DAY_MS))
    loop.start()
    assert.equal(dueMs(context.store.tables), clock.nowMs() + durationMs)
    assert.match(warnings.join(), /clock was ahead.*time server/)
    loop.stop()
  })

  test(`clock loop: ${name} from a clock that was ahead between two checks is corrected`, async (t) => {
    const { server, loop, warnings, write } = await aWorld(t)
    const { clock, context } = server
    loop.start()
    clock.advance(10_500)
    clock.jump(MINUTE_MS)
    await write(...rows(clock.nowMs()))
    clock.jump(-MINUTE_MS)
    clock.advance(500)
    assert.equal(dueMs(context.store.tables) - clock.nowMs(), durationMs)
    assert.match(warnings.join(), /clock was ahead.*time server/)
    loop.stop()
  })

  for (const jumpMs of [DAY_MS, -DAY_MS])
    test(`clock loop: ${name} keeps what is left after a jump of ${jumpMs} ms`, async (t) => {
      const { server, loop, warnings, write } = await aWorld(t)
      const { clock, context } = server
      await write(...rows(clock.nowMs()))
      loop.start()
      assert.deepEqual(warnings, [])
      clock.advance(10_000)
      clock.jump(jumpMs)
      clock.advance(1_000)
      assert.equal(dueMs(context.store.tables) - clock.nowMs(), durationMs - 11_000)
      assert.match(warnings.join(), /clock of this server was set.*time server/)
      // The clock is set right: that is a jump too.
      clock.jump(-jumpMs)
      clock.advance(1_000)
      assert.equal(dueMs(context.store.tables) - clock.nowMs(), durationMs - 12_000)
      loop.stop()
    })
}

for (const { name, durationMs, rows, dueMs } of cases)
  test(`clock loop: ${name} keeps what is left when a small jump is set right`, async (t) => {
    const { server, loop, write } = await aWorld(t)
    const { clock, context } = server
    await write(...rows(clock.nowMs()))
    loop.start()
    clock.advance(15_000)
    for (const jumpMs of [5_000, -5_000]) {
      clock.jump(jumpMs)
      clock.advance(1_000)
    }
    assert.equal(dueMs(context.store.tables) - clock.nowMs(), durationMs - 17_000)
    loop.stop()
  })

for (const { name, durationMs, rows, dueMs } of cases)
  for (const jumpMs of [-DAY_MS, -10_000])
    test(`clock loop: ${name} written right after a jump of ${jumpMs} ms is not cut short`, async (t) => {
      const { server, loop, write } = await aWorld(t)
      const { clock, context } = server
      loop.start()
      clock.advance(10_500)
      clock.jump(jumpMs)
      await write(...rows(clock.nowMs()))
      clock.advance(500)
      assert.equal(dueMs(context.store.tables) - clock.nowMs(), durationMs - 500)
      loop.stop()
    })

test('clock loop: times that somebody named, and copies of global tokens, stay', async (t) => {
  const { server, loop, write } = await aWorld(t, true)
  const { clock, context } = server
  const farMs = clock.nowMs() + 365 * DAY_MS
  const token = { ...TOKEN, CreateTime: isoFromMs(farMs), ExpirationTime: isoFromMs(farMs) }
  await write(
    put('acl_tokens', { ...token, AccessorID: 'named', ExpirationTTL: '' }),
    put('acl_tokens', { ...token, AccessorID: 'copied', Global: true, ExpirationTTL: '1h' }),
    put('evaluations', anEvaluation(aJob(), { ID: 'now', WaitUntil: ZERO_TIME })),
    put('workspaces', { ...anIdleWorkspace(clock.nowMs()), autoDestroyAtMs: farMs }),
  )
  const { index } = context.store
  loop.start()
  clock.jump(-DAY_MS)
  clock.advance(1_000)
  assert.equal(context.store.index, index)
  loop.stop()
})

test('clock loop: a clock that runs slow or fast is no jump', async (t) => {
  const { server, loop, warnings } = await aWorld(t)
  loop.start()
  for (let second = 0; second < 600; second++) {
    server.clock.jump(100)
    server.clock.advance(1_000)
  }
  assert.deepEqual(warnings, [])
  loop.stop()
})

test('clock loop: a lock that is kept outlives a jump of the clock', async (t) => {
  const { server, loop } = await aWorld(t)
  const { clock, context } = server
  const body = { Lock: { TTL: '30s', LockDelay: '0s' } }
  const params = { path: 'leader' }
  await server.ok('writeVariable', { params, query: { 'lock-acquire': '' }, body })
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: silent }
  const locks = new VariableLockLoop({ ...context, log, checkClock: () => loop.check() })
  loop.start()
  locks.start()
  clock.jump(HOUR_MS)
  clock.advance(20_000)
  const [row] = context.store.tables.variable_locks.rows()
  assert.equal((row?.UntilMs ?? 0) - clock.nowMs(), 10_000)
  clock.advance(11_000)
  assert.deepEqual(
    Array.from(context.store.tables.variables.rows(), ({ Lock }) => Lock),
    [null],
  )
  loop.stop()
  locks.stop()
})

test('clock loop: a row that changes right after a jump does not fail a deployment', async (t) => {
  const { server, loop } = await aWorld(t)
  const { clock } = server
  const rollout = await aRolloutServer(server, true, () => loop.check())
  loop.start()
  await rollout.run(aRollout({ update: { ProgressDeadline: minutes(10) } }))
  const [first, second] = rollout.live()
  await rollout.pass(500)
  clock.jump(DAY_MS)
  await rollout.report(first ?? assert.fail(), 'running')
  await rollout.pass(200)
  assert.equal(rollout.latest().Status, 'running')
  await rollout.report(second ?? assert.fail(), 'running')
  await rollout.pass(10 * MINUTE_MS)
  assert.equal(rollout.latest().Status, 'failed')
  loop.stop()
})

test('clock loop: a row that changes right after a jump does not end a drain', async (t) => {
  const { server, loop, write } = await aWorld(t)
  const { clock, context } = server
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: silent }
  const drains = new DrainLoop({ ...context, log, checkClock: () => loop.check() })
  const [job, node] = [aJob({ Type: 'batch' }), aNode({ ID: 'draining' })]
  const DrainStrategy = {
    Deadline: nsFromMs(HOUR_MS),
    IgnoreSystemJobs: false,
    ForceDeadline: isoFromMs(clock.nowMs() + HOUR_MS),
    StartedAt: isoFromMs(clock.nowMs()),
  }
  const row = { ...node, SecretHash: 'hash', DrainStrategy }
  await write(put('jobs', job), put('nodes', row))
  await write(put('allocations', anAllocation({ job, NodeID: node.ID })))
  loop.start()
  drains.start()
  clock.advance(500)
  clock.jump(DAY_MS)
  await write(put('nodes', { ...row, StatusDescription: 'changed' }))
  clock.advance(200)
  assert.notEqual(context.store.tables.nodes.get(node.ID).DrainStrategy, null)
  clock.advance(HOUR_MS)
  assert.equal(context.store.tables.nodes.get(node.ID).DrainStrategy, null)
  loop.stop()
  drains.stop()
})
