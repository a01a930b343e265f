import assert from 'node:assert/strict'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import type { Client } from '@reeve/sdk'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from '../e2e/program-process.ts'

const WITHIN_MS = 120_000

async function statusOf({ v1 }: Client, job_id: string): Promise<readonly string[]> {
  const { data } = await v1.listJobAllocations({ params: { job_id } })
  return data.map(({ ID, ClientStatus }) => `${ID} ${ClientStatus}`).toSorted()
}

async function variable({ v1 }: Client, path: string) {
  return await v1.readVariable({ params: { path } }).then(
    ({ data }) => data,
    () => undefined,
  )
}

/** Names of the namespaces, which tell the states of these tests apart. */
async function namespacesOf({ v1 }: Client): Promise<readonly string[]> {
  const { data } = await v1.listNamespaces()
  return data.map(({ Name }) => Name).toSorted()
}

test('operator snapshot restore on running servers', { timeout: 400_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  const { client } = reeve
  await reeve.ok('namespace apply kept')
  await reeve.ok('var put apps/db password=old')
  const [running = ''] = await runShellJob(t, client, { id: 'kept', script: 'sleep 3600' })
  const [stopped = ''] = await runShellJob(t, client, { id: 'stopped', script: 'sleep 3600' })
  const saved = await variable(client, 'apps/db')
  await reeve.ok('operator snapshot save a.snapshot')

  // All of this is undone.
  await reeve.ok('var put apps/db password=new')
  await reeve.ok('var put apps/later key=1')
  await reeve.ok('namespace apply later')
  await reeve.ok('namespace delete kept')
  await reeve.ok('job stop --purge --yes --detach stopped')
  await until(
    'the task to end',
    async () => (await statusOf(client, 'stopped')).every((line) => !line.endsWith('running')),
    WITHIN_MS,
  )
  const [later = ''] = await runShellJob(t, client, { id: 'later', script: 'sleep 3600' })
  const { data: before } = await client.v1.readAllocation({ params: { alloc_id: running } })

  await t.test('asks, and changes nothing unless it is confirmed', async () => {
    const { code, err } = await reeve.run('operator snapshot restore a.snapshot')
    assert.equal(code, 1)
    assert.match(err, /Replace the whole state of \S+ by the state at index \d+, saved at \S+\?/)
    assert.match(err, /Use --yes/)
    assert.ok((await namespacesOf(client)).includes('later'))
  })

  await t.test('rows are those of the snapshot, with their indexes', async () => {
    const stream = await client.open('streamEvents', { query: { topic: ['Job'] }, timeoutMs: 0 })
    const lines = linesOf(stream.data)
    const said = await reeve.ok('operator snapshot restore --yes a.snapshot')
    assert.match(said, /^Restored \d+ rows of the state at index \d+ on the running servers; /)
    assert.deepEqual(await variable(client, 'apps/db'), saved)
    assert.equal(await variable(client, 'apps/later'), undefined)
    assert.deepEqual(await namespacesOf(client), ['default', 'kept'])
    const { data: jobs } = await client.v1.listJobs()
    assert.deepEqual(jobs.map(({ ID }) => ID).toSorted(), ['kept', 'stopped'])
    assert.match(await lines, /"Closed":"a snapshot was restored; read the state again"/)
  })

  await t.test('nodes run what the snapshot says, and nothing else', async () => {
    await until(
      'the stopped allocation to run again, or a replacement of it',
      async () => (await statusOf(client, 'stopped')).some((line) => line.endsWith('running')),
      WITHIN_MS,
    )
    const { data: after } = await client.v1.readAllocation({ params: { alloc_id: running } })
    assert.equal(after.ClientStatus, 'running')
    assert.equal(after.TaskStates?.['main']?.StartedAt, before.TaskStates?.['main']?.StartedAt)
    assert.notEqual(stopped, '')
    await assert.rejects(client.v1.readAllocation({ params: { alloc_id: later } }))
  })

  await t.test('the audit log keeps what happened since the snapshot', async () => {
    const { data } = await client.v1.listAuditRecords()
    const routes = data.map(({ Route, Method }) => `${Method} ${Route}`)
    assert.ok(
      routes.some((one) => /PUT .*snapshot/.test(one)),
      routes.join('\n'),
    )
    assert.ok(
      routes.some((one) => /DELETE .*namespace/.test(one)),
      routes.join('\n'),
    )
  })

  await t.test('the servers go on: writes, placements, indexes', async () => {
    await reeve.ok('namespace apply after')
    const { data } = await client.v1.readNamespace({ params: { namespace_name: 'after' } })
    const { data: kept } = await client.v1.readNamespace({ params: { namespace_name: 'kept' } })
    assert.ok(data.CreateIndex > kept.ModifyIndex)
    await runShellJob(t, client, { id: 'after', script: 'sleep 3600' })
  })
})

async function linesOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of chunks) text += Buffer.from(chunk).toString('utf8')
  return text
}

test('a snapshot of other servers', { timeout: 300_000 }, async (t) => {
  const source = await aCommandLine(t, ['--server'])
  for (let at = 0; at < 25; at++) await source.ok(`namespace apply n${at}`)
  await source.ok('operator snapshot save a.snapshot')
  const file = join(source.directory, 'a.snapshot')
  const text = await readFile(file, 'utf8')

  await t.test('its index may be ahead of the index of the servers', async () => {
    const directory = await temporaryDirectory(t)
    await mkdir(join(directory, 'server'))
    const key = join('server', 'sealing-key')
    await copyFile(join(source.directory, 'data', key), join(directory, key))
    const first = await startProgram(t, directory, ['--server'])
    const { data } = await first.client.v1.restoreSnapshot({ body: text })
    assert.ok(data.Index > data.SnapshotIndex)
    const names = await namespacesOf(first.client)
    assert.equal(names.length, 26)
    await first.kill('SIGKILL')
    const again = await startProgram(t, directory, ['--server'])
    assert.deepEqual(await namespacesOf(again.client), names)
  })

  await t.test('secrets of another key, damage and other files are rejected', async () => {
    await source.ok('var put apps/db password=hush')
    await source.ok('operator snapshot save b.snapshot')
    const sealed = await readFile(join(source.directory, 'b.snapshot'), 'utf8')
    const target = await aCommandLine(t, ['--server'])
    const cases = [
      [sealed, /secrets of the snapshot were sealed with another key/],
      [text.replace('"n1"', '"m1"'), /The body is not a valid snapshot: line \d+: row "m1"/],
      [text.slice(0, -20), /The body is not a/],
      ['hello\n', /line 1: it is not a line of a snapshot\. Nothing was changed\./],
      ['', /it is empty\. Nothing was changed\./],
    ] as const
    const before = await namespacesOf(target.client)
    for (const [body, says] of cases)
      await assert.rejects(target.client.v1.restoreSnapshot({ body }), says)
    assert.deepEqual(await namespacesOf(target.client), before)
    const path = join(target.directory, 'b.snapshot')
    await copyFile(join(source.directory, 'b.snapshot'), path)
    const { code, err } = await target.run('operator snapshot restore --yes b.snapshot')
    assert.deepEqual([code, /another key/.test(err)], [1, true], err)
  })

  await t.test('it needs a management token', async () => {
    const target = await aCommandLine(t, ['--server', '--acl'])
    await writeFile(join(target.directory, 'a.snapshot'), text)
    const { code, err } = await target.run('operator snapshot restore --yes a.snapshot')
    assert.equal(code, 5)
    assert.match(err, /^reeve operator snapshot restore: Permission denied\n/)
  })
})

test(
  'a server killed during a restore has the old state or the new one',
  { timeout: 400_000 },
  async (t) => {
    const directory = await temporaryDirectory(t)
    let server = await startProgram(t, directory, ['--server'])
    const snapshots: Record<string, string> = {}
    const { data: empty } = await server.client.open('saveSnapshot')
    const none = await linesOf(empty)
    for (const name of ['a', 'b']) {
      await server.client.v1.restoreSnapshot({ body: none })
      for (let at = 0; at < 60; at++) {
        const Submission = { Source: 'x'.repeat(200_000), Format: 'hcl2' as const }
        const Job = {
          ID: `${name}${at}`,
          Datacenters: ['nowhere'],
          TaskGroups: [{ Name: 'group', Tasks: [shellTask('main', 'true')] }],
        }
        await server.client.v1.registerJob({ body: { Job, Submission } })
      }
      const { data } = await server.client.open('saveSnapshot')
      snapshots[name] = await linesOf(data)
    }
    const seen = new Set<string>()
    for (let round = 0; round < 6; round++) {
      const name = round % 2 === 0 ? 'a' : 'b'
      const startedMs = performance.now()
      const restoring = server.client.v1.restoreSnapshot({ body: snapshots[name] ?? '' }).then(
        () => 'done',
        () => 'cut off',
      )
      // Between nothing received and everything written.
      await until('the moment', async () => performance.now() - startedMs > round * 50)
      await server.kill('SIGKILL')
      const ended = await restoring
      server = await startProgram(t, directory, ['--server'])
      const { data: jobs } = await server.client.v1.listJobs()
      const groups = new Set(jobs.map(({ ID }) => ID.slice(0, 1)))
      assert.deepEqual([groups.size, jobs.length], [1, 60], 'one of the two states, and all of it')
      if (ended === 'done') assert.ok(groups.has(name), 'what was acknowledged is there')
      seen.add(ended)
    }
    assert.ok(seen.size > 0)
  },
)
