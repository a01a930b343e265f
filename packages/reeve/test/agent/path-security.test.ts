/**
 * Tasks plant links, pipes and devices, jobs name paths and archives that lead elsewhere. The agent
 * is root, so whatever follows one of them gives the machine away.
 */
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { AGENT_LIMITS } from '../../src/agent/limits.ts'
import { aTar, aZip } from '../build/archive.ts'
import { until } from '../build/until.ts'
import {
  eventsOf,
  noIsolation,
  RealCluster,
  textOf,
  WITHIN_MS,
  type AllocationRow,
} from './real-cluster.ts'

const STORY_MS_MAX = 300_000
const MARK = 'a text of the machine that no task and no caller may read'
/** How long a caller waits for an answer before it counts as held up. */
const ANSWER_MS_MAX = 20_000

interface Place {
  readonly cluster: RealCluster
  /** A directory outside of everything, in which nothing may appear. */
  readonly outside: string
}

/** By what each of them proves. They have jobs of their own on one node. */
const stories = new Map<string, (t: TestContext, place: Place) => Promise<void>>()

interface TaskFields {
  readonly Driver?: string
  readonly Templates?: readonly object[]
  readonly Artifacts?: readonly object[]
  readonly Lifecycle?: object
}

function aTask(name: string, script: string, fields: TaskFields = {}) {
  return {
    Name: name,
    Driver: 'exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Resources: { CPU: 1, MemoryMB: 64 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
    KillTimeout: 1e9,
    ...fields,
  }
}

function aGroup(name: string, tasks: readonly object[]) {
  return {
    Name: name,
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    ReschedulePolicy: { Attempts: 0, Unlimited: false },
    EphemeralDisk: { SizeMB: 20 },
    Tasks: [...tasks],
  }
}

/** A directory outside of everything, in which nothing may appear, with a file nobody may read. */
async function anOutside(cluster: RealCluster): Promise<string> {
  const path = join(cluster.directory, 'outside')
  await mkdir(path)
  await writeFile(join(path, 'file'), MARK)
  await chmod(path, 0o777)
  return path
}

/** Plants all it can; root on the machine itself, as raw_exec is, to be able to do the worst. */
const plant = (outside: string): string => `
cd $REEVE_ALLOC_DIR
ln -s ${outside}/file ../work/local/link
ln -s ${outside} ../work/local/dir
ln -s ../../../../../../../../../../../../${outside}/file ../work/local/climb
ln -s / ../work/local/root
ln -s /proc/self/root${outside}/file ../work/local/magic
ln -s ../../work/secrets data/secrets
echo hidden > ../work/secrets/key
mkfifo ../work/local/pipe; mknod ../work/local/zero c 1 5; mknod ../work/local/disk b 7 200
mkfifo logs/work.stdout.7; ln -s ${outside}/file logs/work.stderr.9; mkdir logs/other.stdout.0
ln -s ${outside}/file logs/linked.stdout.0
echo planted; exec sleep 1000`

stories.set(
  'file and log API: nothing that a task planted is followed, opened or waited for',
  async (_, { cluster, outside }) => {
    const work = aTask('work', plant(outside), { Driver: 'raw_exec' })
    await cluster.run({ ID: 'plant', TaskGroups: [aGroup('g', [work])] })
    const { ID } = await cluster.allocation('plant', 'running')
    const first = cluster.path(ID, 'alloc/logs/work.stdout.0')
    await until(
      'the task',
      async () => ((await textOf(first)).includes('planted') ? true : undefined),
      WITHIN_MS,
    )
    const ask = async (path: string): Promise<readonly [number, string]> => {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX)
      const response = await fetch(`${cluster.address}/v1/client/fs/${path}`, { signal })
      const body = response.body?.getReader()
      // What is followed does not end: its beginning, or its refusal, is enough.
      const piece = await body?.read()
      await body?.cancel()
      return [response.status, Buffer.from(piece?.value ?? []).toString()]
    }
    const paths = [
      'work/local/link',
      'work/local/dir/file',
      'work/local/climb',
      `work/local/root${outside}/file`,
      'work/local/magic',
      'work/local/../../../../../../outside/file',
      `../../../../outside/file`,
      'alloc/data/secrets/key',
      'work/secrets/key',
      'work/local/pipe',
      'work/local/zero',
      'work/local/disk',
      'alloc/logs/work.stdout.7',
      'alloc/logs/work.stderr.9',
    ]
    for (const call of ['cat', 'readat', 'stream']) {
      for (const path of paths) {
        const [status, text] = await ask(
          `${call}/${ID}?path=${encodeURIComponent(path)}&offset=0&limit=100`,
        )
        assert.ok([400, 403, 404].includes(status), `${call} ${path}: ${status} ${text}`)
        assert.doesNotMatch(text, new RegExp(`${MARK}|hidden`), `${call} ${path}`)
      }
    }
    for (const path of ['work/local/dir', 'work/local/root', 'alloc/data/secrets']) {
      const [status] = await ask(`ls/${ID}?path=${encodeURIComponent(path)}`)
      assert.equal(status, 403, path)
    }
    for (const [task, type] of [
      ['work', 'stderr'],
      ['work', 'stdout'],
      ['other', 'stdout'],
      ['linked', 'stdout'],
      ['../../work/local/link', 'stdout'],
      ['../local/link%00', 'stdout'],
    ]) {
      const [, text] = await ask(`logs/${ID}?task=${task}&type=${type}&plain=true`)
      assert.doesNotMatch(text, new RegExp(MARK), `${task} ${type}`)
    }
    assert.equal(cluster.node.child.exitCode, null)
  },
)

/** Serves archives under their names. */
async function anArchiveServer(
  t: TestContext,
  files: Readonly<Record<string, Buffer>>,
): Promise<string> {
  const server = createServer((request, response) => {
    const bytes = files[(request.url ?? '').slice(1)]
    response.writeHead(bytes === undefined ? 404 : 200).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  // Listening on an address: it has one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const MEGABYTE = 1024 * 1024
const BOMB_MEGABYTES = AGENT_LIMITS.decompressionRatioExemptBytes / MEGABYTE + 4
const MADE_FILES = 2_000
/** What a tar archive ends with. */
const END_BYTES = 1_024
const zeros = (megabytes: number): string => '\0'.repeat(megabytes * MEGABYTE)

function hostileArchives(outside: string): Readonly<Record<string, Buffer>> {
  const through = [
    { path: 'out', type: '2', target: outside },
    { path: 'out/made', text: 'x' },
  ]
  return {
    'climbs.tar': aTar([{ path: '../../../../../outside/made', text: 'x' }]),
    'absolute.tar': aTar([{ path: `${outside}/made`, text: 'x' }]),
    'link.tar.gz': gzipSync(aTar(through)),
    'hardlink.tar': aTar([{ path: 'taken', type: '1', target: `${outside}/file` }]),
    'device.tar': aTar([{ path: 'device', type: '3' }]),
    'pipe.tar': aTar([{ path: 'pipe', type: '6' }]),
    'climbs.zip': aZip([{ path: '../../../../../outside/made', text: 'x' }]),
    'link.zip': aZip([
      { path: 'out', text: outside, mode: 0o120777 },
      { path: 'out/made', text: 'x' },
    ]),
    'bomb.tar.gz': gzipSync(aTar([{ path: 'bomb', text: zeros(BOMB_MEGABYTES) }])),
    'bomb.zip': aZip([{ path: 'bomb', text: zeros(BOMB_MEGABYTES) }]),
    'lies.tar': aTar([{ path: 'lies', text: 'x', size: 2 ** 32 }]),
    'many.tar.gz': gzipSync(tarOfMany()),
  }
}

/** A file too many: some are made and must go again, the rest is as cheap as a sender has it. */
function tarOfMany(): Buffer {
  const made = aTar(Array.from({ length: MADE_FILES }, (_, n) => ({ path: `f${n}` })))
  const [files, end] = [made.subarray(0, -END_BYTES), made.subarray(-END_BYTES)]
  const again = aTar([{ path: './', type: '5' }]).subarray(0, -END_BYTES)
  const left = AGENT_LIMITS.unpackedFilesMax + 1 - MADE_FILES
  return Buffer.concat([files, ...Array.from({ length: left }, () => again), end])
}

/** Every group failed, and says so of the task `work`. */
async function untilRefused(
  cluster: RealCluster,
  job: string,
  count: number,
): Promise<readonly AllocationRow[]> {
  return await cluster.allocations(job, 'all to fail', (rows) => {
    return rows.length === count && rows.every(({ ClientStatus }) => ClientStatus === 'failed')
  })
}

const started = (row: AllocationRow): boolean => eventsOf(row, 'work').includes('Started')

stories.set(
  'artifacts: an archive that leads out, holds devices or swells is refused as a whole',
  async (t, { cluster, outside }) => {
    const archives = hostileArchives(outside)
    const address = await anArchiveServer(t, archives)
    const names = Object.keys(archives)
    const groups = names.map((name, n) => {
      const Artifacts = [{ GetterSource: `${address}/${name}`, RelativeDest: 'local/got' }]
      return aGroup(`g${n}`, [aTask('work', 'sleep 1000', { Artifacts })])
    })
    const destinations = ['../../../../outside', '/../../outside', 'local/../../../../outside']
    const escapes = destinations.map((RelativeDest, n) => {
      const Artifacts = [{ GetterSource: `${address}/pipe.tar`, RelativeDest }]
      return aGroup(`e${n}`, [aTask('work', 'sleep 1000', { Artifacts })])
    })
    await cluster.run({ ID: 'archives', Type: 'batch', TaskGroups: groups })
    const rows = await untilRefused(cluster, 'archives', groups.length)
    for (const row of rows) {
      const name = names[Number(row.TaskGroup.slice(1))] ?? ''
      const events = row.TaskStates?.['work']?.Events ?? []
      const failure = events.find(({ Type }) => Type === 'Failed Artifact Download')
      assert.ok(failure !== undefined, `${name}: ${events.map(({ Type }) => Type).join(', ')}`)
      assert.equal(started(row), false, name)
      // Nothing half unpacked is left for a later task either.
      const left = await readdir(cluster.path(row.ID, 'work/local'))
      assert.deepEqual(
        left.filter((entry) => entry !== 'got'),
        [],
        name,
      )
    }
    // Refused when it is registered, or else by the agent.
    for (const group of escapes) {
      const job = { ID: `job-${group.Name}`, Type: 'batch', TaskGroups: [group] }
      const refusal = await cluster.run(job).then(() => undefined, String)
      if (refusal !== undefined) assert.match(refusal, /escape|outside|out of/i)
      else assert.equal(started(await cluster.allocation(job.ID, 'failed')), false)
    }
    assert.deepEqual(await readdir(outside), ['file'])
  },
)

const PRESTART = { Hook: 'prestart', Sidecar: false }

stories.set(
  'templates and artifacts: what another task planted leads nowhere',
  async (t, place) => {
    const { cluster, outside } = place
    const address = await anArchiveServer(t, { 'good.tar': aTar([{ path: 'made', text: 'x' }]) })
    const planted = `ln -s ${outside} /alloc/data/dir; ln -s ${outside}/file /alloc/data/file
ln -s ../../../../../../outside /alloc/data/climb; mkfifo /alloc/data/pipe`
    const written = (DestPath: string) => ({ Templates: [{ EmbeddedTmpl: 'x', DestPath }] })
    const source = (SourcePath: string) => ({ Templates: [{ SourcePath, DestPath: 'local/got' }] })
    const included = (path: string) => ({
      Templates: [{ EmbeddedTmpl: `{{ file "${path}" }}`, DestPath: 'local/got' }],
    })
    const fetched = (RelativeDest: string) => ({
      Artifacts: [{ GetterSource: `${address}/good.tar`, RelativeDest }],
    })
    const cases: readonly (readonly [string, TaskFields])[] = [
      ['a template to a linked directory', written('/alloc/data/dir/made')],
      ['a template to a climbing link', written('/alloc/data/climb/made')],
      ['a source that is a link', source('/alloc/data/file')],
      ['a source behind a linked directory', source('/alloc/data/dir/file')],
      ['a source that is a pipe', source('/alloc/data/pipe')],
      ['an artifact to a linked directory', fetched('/alloc/data/dir')],
      ['an artifact below a climbing link', fetched('/alloc/data/climb/deep')],
      ['a file in a template that is a link', included('/alloc/data/file')],
      ['a file in a template by climbing', included('../../../../../outside/file')],
    ]
    const groups = cases.map(([, fields], n) =>
      aGroup(`g${n}`, [
        aTask('plant', planted, { Lifecycle: PRESTART }),
        aTask('work', 'cat /local/got; exit 3', fields),
      ]),
    )
    await cluster.run({ ID: 'linked', Type: 'batch', TaskGroups: groups })
    const rows = await untilRefused(cluster, 'linked', groups.length)
    for (const row of rows) {
      const name = cases[Number(row.TaskGroup.slice(1))]?.[0] ?? ''
      assert.equal(started(row), false, name)
      assert.doesNotMatch(
        await textOf(cluster.path(row.ID, 'work/local/got')),
        new RegExp(MARK),
        name,
      )
    }
    assert.deepEqual(await readdir(outside), ['file'])
  },
)

stories.set(
  'templates: a link that a task put in the way of its own template is not followed at the next start',
  async (_, { cluster, outside }) => {
    const script = `rm -rf /local/made; ln -s ${outside} /local/made; exit 4`
    const Templates = [{ EmbeddedTmpl: 'x', DestPath: 'local/made/deep/file' }]
    const group = {
      ...aGroup('g', [aTask('work', script, { Templates })]),
      RestartPolicy: { Attempts: 1, Mode: 'fail', Delay: 1e6, Interval: 600e9 },
    }
    await cluster.run({ ID: 'again', Type: 'batch', TaskGroups: [group] })
    await cluster.allocation('again', 'failed')
    assert.deepEqual(await readdir(outside), ['file'])
  },
)

stories.set(
  'tasks named like directories of the system are refused or have a place of their own',
  async (_, { cluster }) => {
    for (const name of ['alloc', '.', '..', 'a/b', '../../x', '.hidden', '', 'x\0y']) {
      const job = { ID: 'named', Type: 'batch', TaskGroups: [aGroup('g', [aTask(name, 'true')])] }
      const refusal = await cluster.run(job).then(() => undefined, String)
      if (refusal !== undefined) continue
      const failed = await cluster.allocation('named', 'failed')
      assert.ok(!eventsOf(failed, name).includes('Started'), name)
      await cluster.client.v1.stopJob({ params: { job_id: 'named' }, query: { purge: true } })
    }
    const names = ['usr', 'etc', 'proc', 'dev', 'secrets', 'private', 'logs', 'root']
    const script = 'echo mine > /local/own; ls /usr/bin/env; cat /local/own'
    const groups = names.map((name, n) => aGroup(`g${n}`, [aTask(name, script)]))
    await cluster.run({ ID: 'system', Type: 'batch', TaskGroups: groups })
    const rows = await cluster.allocations(
      'system',
      'all ends',
      (all) =>
        all.length === names.length && all.every(({ ClientStatus }) => ClientStatus === 'complete'),
    )
    for (const row of rows) {
      const name = names[Number(row.TaskGroup.slice(1))] ?? ''
      assert.equal(await cluster.log(row.ID, name), '/usr/bin/env\nmine\n')
      assert.equal(await textOf(cluster.path(row.ID, name, 'local/own')), 'mine\n')
    }
  },
)

test('paths and archives that lead elsewhere', { skip: noIsolation }, async (t) => {
  const cluster = await RealCluster.open(t)
  const place = { cluster, outside: await anOutside(cluster) }
  for (const [name, story] of stories)
    await t.test(name, { timeout: STORY_MS_MAX }, (own) => story(own, place))
  assert.equal(cluster.node.child.exitCode, null)
})
