import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HostVolumeInput, MadeVolume, NodeRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, newHostVolume, refusal, type Refusal } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import {
  VolumeWriteQueue,
  Authenticator,
  deleteHostVolume,
  writeHostVolume,
  type HostVolumeDeps,
} from '../../src/workload/index.ts'
import { anId } from '../build/index.ts'
import { until } from '../build/until.ts'
import { putNode } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

const NODE = anId('node', 1)
const ATTRIBUTES = { 'plugins.host_volume.mkdir.version': '1.0.0' }
const SILENT = refusal('node-silent', 'the node did not answer in time')
const MADE: Result<MadeVolume, Refusal> = ok({ path: '/made', bytes: 0 })

interface Asked {
  readonly verb: string
  readonly parameters: Readonly<Record<string, string>>
  readonly deadlineMs: number | undefined
  readonly answer: (answer: Result<MadeVolume, Refusal>) => void
}

/** A server with one node, whose answers the test gives. */
async function aVolumeHost() {
  const server = await createTestServer({ aclEnabled: false })
  const { context } = server
  const { store } = context
  await putNode(server, { ID: NODE, Attributes: ATTRIBUTES })
  const authenticated = new Authenticator(context).authenticate(undefined)
  assert.ok(authenticated.ok)
  const caller = { ...authenticated.value, by: 'system' } as const
  const asked: Asked[] = []
  const ask = (_nodeId: string, request: NodeRequest, deadlineMs?: number) =>
    new Promise<Result<MadeVolume, Refusal>>((answer) => {
      const parameters = 'volume' in request ? request.volume.parameters : {}
      asked.push({ verb: request.verb, parameters, deadlineMs, answer })
    })
  const gateway = { request: ask, open: () => assert.fail('no stream is opened') }
  const host: HostVolumeDeps = {
    context,
    gateway,
    writeQueue: new VolumeWriteQueue(),
    requestVolume: ask,
  }
  const rows = () => [...store.tables.host_volumes.rows()]
  return {
    context,
    rows,
    verbs: () => asked.map(({ verb }) => verb),
    question: (at: number) => until(`question ${at}`, () => asked[at], 20_000),
    write: (input: HostVolumeInput) => writeHostVolume(host, caller, { input, origin: 'created' }),
    remove: (id: string, force = false) =>
      deleteHostVolume(host, caller, { namespace: 'default', id, force }),
    /** The node reports the volume to the servers. */
    reports: async (id: string): Promise<void> => {
      const HostVolumes = { data: { Name: 'data', Path: '/made', ReadOnly: false, ID: id } }
      await putNode(server, { ID: NODE, Attributes: ATTRIBUTES, HostVolumes })
      const [row] = rows()
      assert.ok(row !== undefined)
      const changes = () => [put('host_volumes', { ...row, State: 'ready' as const })]
      await store.commit({ by: 'system', cause: undefined, changes }).durable
    },
  }
}

type World = Awaited<ReturnType<typeof aVolumeHost>>

async function aVolume({ write, question }: World): Promise<string> {
  const created = write({ Name: 'data' })
  ;(await question(0)).answer(MADE)
  const written = await created
  assert.ok(written.ok)
  return written.value.volume.ID
}

test('there are as many volumes as the limit, and none more', async () => {
  const { context, write, question, rows } = await aVolumeHost()
  const stored = Array.from({ length: LIMITS.hostVolumesMax - 1 }, (_, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    return put('host_volumes', newHostVolume({ Name: `v${index}` }, { id, origin: 'created' }))
  })
  const changes = () => stored
  await context.store.commit({ by: 'system', cause: undefined, changes }).durable
  const last = write({ Name: 'last' })
  ;(await question(0)).answer(MADE)
  assert.ok((await last).ok)
  const past = await write({ Name: 'past' })
  const message = 'the limit of 100000 host volumes is reached: delete unused volumes'
  assert.equal(past.ok ? '' : past.error.message, message)
  assert.equal(rows().length, LIMITS.hostVolumesMax)
})

test('a creation that is undone leaves no row, though the node reported the volume', async () => {
  const { write, question, rows, reports } = await aVolumeHost()
  const created = write({ Name: 'data' })
  const create = await question(0)
  await reports(rows()[0]?.ID ?? '')
  create.answer(err(SILENT))
  const undo = await question(1)
  assert.equal(undo.verb, 'delete-volume')
  // It may wait for the creation, and then for its own plugin.
  assert.ok((undo.deadlineMs ?? 0) > LIMITS.volumePluginTimeoutMs)
  undo.answer(MADE)
  assert.deepEqual(await created, err(SILENT))
  assert.deepEqual(rows(), [])
})

test('a change is stored though the node reports the volume meanwhile', async () => {
  const world = await aVolumeHost()
  const { write, question, rows, reports } = world
  const ID = await aVolume(world)
  const changed = write({ ID, Parameters: { mode: '0700' } })
  const change = await question(1)
  await reports(ID)
  change.answer(MADE)
  assert.ok((await changed).ok)
  const [row] = rows()
  assert.deepEqual([row?.Parameters, row?.State], [{ mode: '0700' }, 'ready'])
})

test('writes of one volume are made one after the other', async () => {
  const world = await aVolumeHost()
  const { write, remove, question, verbs, rows } = world
  const ID = await aVolume(world)
  const changed = write({ ID, Parameters: { mode: '0700' } })
  const change = await question(1)
  const removed = remove(ID)
  // Another volume does not wait.
  const other = write({ Name: 'other' })
  const createOther = await question(2)
  assert.deepEqual(verbs(), ['create-volume', 'create-volume', 'create-volume'])
  createOther.answer(MADE)
  assert.ok((await other).ok)
  change.answer(MADE)
  assert.ok((await changed).ok)
  const removal = await question(3)
  assert.equal(removal.verb, 'delete-volume')
  const late = write({ ID, Parameters: { mode: '0711' } })
  removal.answer(MADE)
  assert.ok((await removed).ok)
  const refused = await late
  assert.equal(refused.ok ? '' : refused.error.code, 'host-volume-not-found')
  assert.deepEqual(
    rows().map(({ Name }) => Name),
    ['other'],
  )
})

test('few writes of one volume wait', async () => {
  const world = await aVolumeHost()
  const ID = await aVolume(world)
  const writes = Array.from({ length: 9 }, (_, at) =>
    world.write({ ID, Parameters: { mode: `07${at}0` } }),
  )
  const refused = await writes[8]
  assert.equal(refused?.ok === false && refused.error.code, 'host-volume-changed')
  for (let at = 0; at < 8; at++) (await world.question(at + 1)).answer(MADE)
  assert.ok((await Promise.all(writes.slice(0, 8))).every(({ ok: isOk }) => isOk))
  // Nothing is left of them: another one runs.
  const after = world.write({ ID, Parameters: { mode: '0700' } })
  ;(await world.question(9)).answer(MADE)
  assert.ok((await after).ok)
})
