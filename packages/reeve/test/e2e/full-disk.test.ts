import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { createClient } from '@reeve/sdk'
import type { Random } from '@reeve/kit/clock.ts'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import { until } from '../build/until.ts'
import { startAgent } from './program-process.ts'

const DISK_MB = 240
const WRITERS = 4
const VARIABLE_BYTES_MAX = 60_000
const experiment = Experiment.fromArguments()

/** A file system of its own, in memory. Only root may mount one. */
async function aSmallDisk(t: TestContext): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', directory])
  } catch {
    await rmdir(directory)
    return undefined
  }
  t.after(async () => {
    execFileSync('umount', ['-l', directory])
    await rmdir(directory)
  })
  return directory
}

async function startServer(t: TestContext, data: string) {
  const flags = ['--server', '--bind', '127.0.0.1', '--http-port', '0', '--data-dir', data]
  const agent = startAgent(t, flags, { environment: { REEVE_ACL: 'false' } })
  const address = await until('the server to listen', () => {
    if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
    return /(http:\/\/127\.0\.0\.1:\d+)/.exec(agent.output())?.[1]
  })
  const client = createClient({ address })
  const health = async () => {
    const answer = await fetch(`${address}/v1/agent/health?type=server`)
    return { status: answer.status, text: await answer.text() }
  }
  const put = async (path: string, bytes = 10) => {
    const body = JSON.stringify({ Path: path, Items: { value: 'x'.repeat(bytes) } })
    const answer = await fetch(`${address}/v1/var/${path}`, { method: 'PUT', body })
    return { status: answer.status, text: await answer.text() }
  }
  const metric = async (name: string) => {
    const text = await (await fetch(`${address}/v1/metrics?format=prometheus`)).text()
    return Number(new RegExp(`^service_${name} (.*)$`, 'm').exec(text)?.[1])
  }
  return { ...agent, address, client, health, put, metric }
}

function aJob(ID: string): Input<Job> {
  const Tasks = [{ Name: 'main', Driver: 'mock_driver' }]
  return { ID, TaskGroups: [{ Name: 'group', Tasks }] }
}

/** Takes all space that is left. */
async function fillDisk(directory: string): Promise<string> {
  const ballast = join(directory, 'server', `ballast-${randomUUID()}`)
  const { bavail, bsize } = await statfs(directory)
  await writeFile(ballast, Buffer.alloc(bavail * bsize, 1)).catch(() => undefined)
  return ballast
}

test('full disk', async (t) => {
  const data = await aSmallDisk(t)
  if (data === undefined)
    return t.skip(experiment.skipIf('this account may not mount a file system') || '')
  let server = await startServer(t, data)
  const reserve = join(data, 'server', 'storage', 'RESERVE')
  let ballast = ''

  await t.test(
    'full disk: a server reads, says why, and accepts deletes from its reserve',
    async () => {
      for (const path of ['kept', 'gone']) assert.equal((await server.put(path)).status, 200)
      const { client } = server
      await client.v1.registerJob({ body: { Job: aJob('filler') } })
      await until('the reserve', async () =>
        (await stat(reserve)).size > 10_000_000 ? true : undefined,
      )
      ballast = await fillDisk(data)
      const refused = await until('a write that is refused', async () => {
        const answer = await server.put('large', 60_000)
        return answer.status === 503 ? answer : undefined
      })
      assert.match(refused.text, /is full .* Free space on that disk/)
      assert.equal((await fetch(`${server.address}/v1/var/kept`)).status, 200)
      const health = await server.health()
      assert.equal(health.status, 500)
      assert.match(health.text, /is full/)
      assert.equal(await server.metric('storage_read_only'), 1)
      await until('a delete that is accepted', async () => {
        const answer = await fetch(`${server.address}/v1/var/gone`, { method: 'DELETE' })
        return answer.status === 204 || answer.status === 200 ? true : undefined
      })
      assert.equal((await fetch(`${server.address}/v1/var/gone`)).status, 404)
      assert.equal((await server.put('more')).status, 503)
      await assert.rejects(client.v1.registerJob({ body: { Job: aJob('more') } }), /503/)
      const params = { job_id: 'filler' }
      assert.notEqual((await client.v1.stopJob({ params })).data.EvalID, '')
      assert.equal((await client.v1.readJob({ params })).data.Stop, true)
      assert.match(server.output(), /accepts only reads and deletes until the disk has room/)
    },
  )

  await t.test('full disk: it accepts everything again once there is room', async () => {
    await rm(ballast)
    await until('a write that is accepted', async () => {
      return (await server.put('after')).status === 200 ? true : undefined
    })
    assert.equal((await server.health()).status, 200)
    assert.equal(await server.metric('storage_read_only'), 0)
    await until('a new reserve', async () =>
      (await stat(reserve).catch(() => undefined)) ? true : undefined,
    )
    assert.equal(await server.kill('SIGTERM'), 0)
  })

  await t.test('full disk: a server starts on it, with the space of the reserve', async () => {
    ballast = await fillDisk(data)
    server = await startServer(t, data)
    assert.equal((await fetch(`${server.address}/v1/var/after`)).status, 200)
    assert.equal((await fetch(`${server.address}/v1/var/gone`)).status, 404)
    assert.equal((await server.put('more')).status, 503)
    const deleted = await fetch(`${server.address}/v1/var/after`, { method: 'DELETE' })
    assert.ok(deleted.ok)
    await server.kill('SIGTERM')
  })

  await t.test('full disk: without a reserve it starts and reads', async () => {
    await rm(reserve, { force: true })
    await fillDisk(data)
    server = await startServer(t, data)
    assert.match(server.output(), /accepts only reads until it is restarted/)
    assert.equal((await fetch(`${server.address}/v1/var/kept`)).status, 200)
    assert.equal((await fetch(`${server.address}/v1/var/after`)).status, 404)
    assert.equal((await server.put('more')).status, 503)
    assert.equal((await server.health()).status, 500)
    await server.kill('SIGTERM')
  })

  await t.test('read-only disk: a server starts and reads, and says what to do', async () => {
    execFileSync('mount', ['-o', 'remount,ro', data])
    server = await startServer(t, data)
    assert.equal((await fetch(`${server.address}/v1/var/kept`)).status, 200)
    const refused = await server.put('more')
    assert.equal(refused.status, 503)
    assert.match(refused.text, /read-only.*repair and remount it/)
    await server.kill('SIGTERM')
    execFileSync('mount', ['-o', 'remount,rw', data])
  })

  // The parts above show the same step by step; the test suite has no time for more.
  if (!experiment.isLong) return
  await t.test('full disk: every acknowledged write is kept, also when it is killed', async () => {
    await rm(ballast, { force: true })
    for (const name of await readdir(join(data, 'server')))
      if (name.startsWith('ballast-')) await rm(join(data, 'server', name))
    const random = seededRandom(experiment.seed)
    const world = { data, random, kept: new Map<string, number>() }
    server = await startServer(t, data)
    for (let round = 0; experiment.hasTime(round, 1); round++)
      server = await fillUnderLoad(t, { ...world, server, round })
    await server.kill('SIGTERM')
  })
})

type Server = Awaited<ReturnType<typeof startServer>>

interface FullDiskRound {
  readonly data: string
  readonly server: Server
  readonly random: Random
  readonly round: number
  /** The size of every acknowledged variable, by its path. */
  readonly kept: Map<string, number>
}

/** The disk fills up while clients write; the server then dies, or lives on. Returns who serves. */
async function fillUnderLoad(t: TestContext, one: FullDiskRound): Promise<Server> {
  const { data, server, random, round, kept } = one
  const below = (max: number): number => Math.floor(random.next() * max)
  let isFull = false
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !isFull; n++) {
      const [path, bytes] = [`round${round}/${writer}/${n}`, 1 + below(VARIABLE_BYTES_MAX)]
      const { status } = await server.put(path, bytes)
      if (status === 200) kept.set(path, bytes)
      else isFull = true
    }
  }
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, n) => write(n)))
  const before = below(20)
  await until('some writes', () => (kept.size >= before ? true : undefined))
  const ballast = await fillDisk(data)
  await writing
  experiment.count('full disks')
  await assertKept(server, kept)
  await deleteSome(server, kept, random)
  const isKilled = round % 2 === 0
  if (isKilled) {
    await server.kill('SIGKILL')
    experiment.count('kills on a full disk')
  }
  await rm(ballast)
  const next = isKilled ? await startServer(t, data) : server
  await until('a write that is accepted', async () =>
    (await next.put('after')).status === 200 ? true : undefined,
  )
  await assertKept(next, kept)
  // The next round fills the disk with its own.
  for (const path of kept.keys()) await deleteVariable(next, path)
  kept.clear()
  return next
}

async function deleteSome(
  server: Server,
  kept: Map<string, number>,
  random: Random,
): Promise<void> {
  for (const path of [...kept.keys()].slice(0, 3 + Math.floor(random.next() * 10))) {
    // A delete while the reserve is being released is retried.
    await until('a delete that is accepted', async () =>
      (await deleteVariable(server, path)) ? true : undefined,
    )
    kept.delete(path)
    experiment.count('deletes on a full disk')
  }
}

async function deleteVariable({ address }: Server, path: string): Promise<boolean> {
  const answer = await fetch(`${address}/v1/var/${path}`, { method: 'DELETE' })
  return answer.ok
}

async function assertKept({ address }: Server, kept: Map<string, number>): Promise<void> {
  for (const [path, bytes] of kept) {
    const answer = await fetch(`${address}/v1/var/${path}`)
    assert.equal(answer.status, 200, `${path} was acknowledged`)
    // A variable as it is read.
    const { Items } = (await answer.json()) as { Items: { value: string } }
    assert.equal(Items.value.length, bytes, path)
  }
  experiment.count('acknowledged writes checked', kept.size)
}
