import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import type { Client } from '@reeve/sdk'
import { aCommandLine, commandLineAt } from '../build/cli.ts'
import { shellTask } from '../build/cli-jobs.ts'
import { until } from '../build/until.ts'
import { startProgram } from '../e2e/program-process.ts'

const SOURCE = 'job "web" {}\n'

interface Content {
  readonly Index: number
  readonly Rows: number
  readonly Blobs: number
  readonly Tables: Readonly<Record<string, number>>
}

/** What people have put into the servers, with the indexes it has there. */
async function stateOf({ v1 }: Client) {
  const job = await v1.readJob({ params: { job_id: 'web' } })
  const source = await v1.readJobSubmission({ params: { job_id: 'web' }, query: { version: 0 } })
  const namespaces = await v1.listNamespaces()
  const variable = await v1.readVariable({ params: { path: 'apps/db' } })
  return [job, source, namespaces, variable].map(({ data }) => data)
}

test('operator snapshot', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--server'])
  await reeve.ok('namespace apply prod')
  await reeve.ok('var put apps/db password=hush')
  const Tasks = [shellTask('main', 'true')]
  const Job = { ID: 'web', Datacenters: ['nowhere'], TaskGroups: [{ Name: 'group', Tasks }] }
  const Submission = { Source: SOURCE, Format: 'hcl2' as const }
  const { data: made } = await reeve.client.v1.registerJob({ body: { Job, Submission } })
  await reeve.run(`eval status --monitor ${made.EvalID}`)
  const before = await stateOf(reeve.client)

  await t.test('save writes a file that is whole, and inspect tells what it holds', async () => {
    const said = await reeve.ok('operator snapshot save a.snapshot')
    const parts = /^Saved the state at index (\d+) \((\d+) rows, 1 blob, .*\) to a\.snapshot\.\n$/
    const [, index = '', rows = ''] = parts.exec(said) ?? []
    const { mode } = await stat(join(reeve.directory, 'a.snapshot'))
    assert.equal(mode & 0o777, 0o600)
    const shown = await reeve.ok('operator snapshot inspect a.snapshot')
    assert.match(shown, new RegExp(`\nIndex +=? ?${index}\nRows +=? ?${rows}\nBlobs +=? ?1\n`))
    assert.match(shown, /\nnamespaces +2\n/)
    const content: Content = JSON.parse(
      await reeve.ok('operator snapshot inspect --json a.snapshot'),
    )
    assert.equal(content.Tables['jobs'], 1)
    const text = await readFile(join(reeve.directory, 'a.snapshot'), 'utf8')
    assert.ok(!text.includes('hush'), 'secrets are sealed')
  })

  await t.test('save replaces nothing without being told to', async () => {
    assert.deepEqual(await reeve.run('operator snapshot save a.snapshot'), {
      code: 1,
      out: '',
      err:
        'reeve operator snapshot save: a.snapshot already exists.\n' +
        'Use --force to overwrite it.\n',
    })
    await reeve.ok('operator snapshot save --force a.snapshot')
    const missing = await reeve.run('operator snapshot save nowhere/a.snapshot')
    assert.equal(missing.code, 1)
  })

  await t.test('inspect refuses what is not whole', async () => {
    const text = await readFile(join(reeve.directory, 'a.snapshot'), 'utf8')
    const lines = text.trimEnd().split('\n')
    const damages = [
      ['cut', lines.slice(0, -1).join('\n'), /its end is missing/],
      ['changed', text.replace('"prod', '"prog'), /its checksum is another one/],
      ['longer', `${text}{"Blob":"x","Data":""}\n`, /something follows its end/],
      [
        'newer',
        text.replace('"Version":1', '"Version":9'),
        /is a snapshot of version 9; this is 1/,
      ],
      ['other', 'hello\n', /line 1: it is not a line of a snapshot/],
      ['empty', '', /it is empty/],
    ] as const
    for (const [name, damaged, says] of damages) {
      await writeFile(join(reeve.directory, name), damaged)
      const { code, err } = await reeve.run(`operator snapshot inspect ${name}`)
      assert.equal(code, 1, name)
      assert.match(err, says)
      const restored = await reeve.run(`operator snapshot restore --data-dir none ${name}`)
      assert.equal(restored.code, 1, name)
      assert.match(restored.err, says)
    }
    await assert.rejects(stat(join(reeve.directory, 'none')), 'nothing was begun')
    assert.equal((await reeve.run('operator snapshot inspect nothing')).code, 1)
  })

  await t.test('restore refuses content that no server could use, and writes nothing', async () => {
    const text = await readFile(join(reeve.directory, 'a.snapshot'), 'utf8')
    const lines = text.trimEnd().split('\n').slice(0, -1)
    const signed = (changed: readonly string[]) => {
      const body = `${changed.join('\n')}\n`
      const Checksum = `sha256:${createHash('sha256').update(body).digest('hex')}`
      return `${body}${JSON.stringify({ Blobs: 1, Checksum })}\n`
    }
    const change = (pattern: RegExp, to: string) => lines.map((line) => line.replace(pattern, to))
    const contents = [
      ['sound', signed(lines), undefined],
      ['endless', signed(change(/^\{"Index":\d+/, '{"Index":9007199254740992')), /the index 900/],
      ['job', signed(change(/(^\{"Row":\["jobs".*"Body":).*$/, '$1"{}"}')), /table jobs: its key/],
      [
        'null',
        signed(change(/(^\{"Row":\["namesp.*"Body":).*$/, '$1"null"}')),
        /not a JSON object/,
      ],
    ] as const
    for (const [name, content, says] of contents) {
      await writeFile(join(reeve.directory, name), content)
      const { code, err } = await reeve.run(
        `operator snapshot restore --data-dir of-${name} ${name}`,
      )
      assert.equal(code, says === undefined ? 0 : 1, err)
      if (says === undefined) continue
      assert.match(err, new RegExp(`: ${name} is not a valid snapshot: line \\d+: `))
      assert.match(err, says)
      await assert.rejects(stat(join(reeve.directory, `of-${name}`)), 'nothing was begun')
    }
  })

  await t.test('restore brings all of it into an empty data directory', async () => {
    const { code, out, err } = await reeve.run(
      'operator snapshot restore --data-dir second a.snapshot',
    )
    assert.equal(code, 0, err)
    assert.match(out, /^Restored \d+ rows into \S+second; its index is \d+\.\n$/)
    assert.match(err, /^Copy the sealing key of the old server to \S+sealing-key/)
    const directory = join(reeve.directory, 'second')
    const key = 'server/sealing-key'
    await copyFile(join(reeve.directory, 'data', key), join(directory, key))
    const second = await startProgram(t, directory, ['--server'])
    assert.deepEqual(await stateOf(second.client), before)
    const later = commandLineAt({ ...second, directory: reeve.directory })
    await later.ok('namespace apply later')
    const { data } = await second.client.v1.readNamespace({ params: { namespace_name: 'later' } })
    const content: Content = JSON.parse(
      await reeve.ok('operator snapshot inspect --json a.snapshot'),
    )
    assert.ok(data.CreateIndex > content.Index, 'the index goes on where it was')
    await later.ok('operator snapshot save b.snapshot')
  })

  await t.test('restore writes over nothing', async () => {
    await reeve.ok(['operator', 'snapshot', 'inspect', 'b.snapshot'])
    await reeve.run('operator snapshot restore --data-dir third b.snapshot')
    const again = await reeve.run('operator snapshot restore --data-dir third a.snapshot')
    assert.equal(again.code, 1)
    assert.match(
      again.err,
      /^reeve operator snapshot restore: \S+storage is not empty\. Nothing was changed\. /,
    )
    const locked = await reeve.run('operator snapshot restore --data-dir data a.snapshot')
    assert.equal(locked.code, 1)
  })

  await t.test('a restore that is killed leaves no state; the next one begins anew', async () => {
    const directory = join(reeve.directory, 'killed')
    const pipe = join(reeve.directory, 'pipe')
    await promisify(execFile)('mkfifo', [pipe])
    const restoring = reeve.start('operator snapshot restore --data-dir killed pipe')
    // Found to be whole; what it would be restored from never comes.
    await writeFile(pipe, await readFile(join(reeve.directory, 'a.snapshot')))
    const half = join(directory, 'server', 'storage.moving', 'FORMAT')
    await until('it to begin', () => stat(half).catch(() => undefined))
    restoring.kill('SIGKILL')
    await restoring.ended
    await assert.rejects(startProgram(t, directory, ['--server']), /holds half a state/)
    const again = await reeve.run('operator snapshot restore --data-dir killed a.snapshot')
    assert.equal(again.code, 0, again.err)
    await assert.rejects(startProgram(t, directory, ['--server']), /sealing-key is missing/)
    const key = 'server/sealing-key'
    await copyFile(join(reeve.directory, 'data', key), join(directory, key))
    const { client } = await startProgram(t, directory, ['--server'])
    const { data } = await client.v1.listNamespaces()
    assert.ok(data.some(({ Name }) => Name === 'prod'))
  })
})

test('operator snapshot save needs a management token', async (t) => {
  const reeve = await aCommandLine(t, ['--server', '--acl'])
  const { code, err } = await reeve.run('operator snapshot save a.snapshot')
  assert.equal(code, 5)
  assert.match(err, /^reeve operator snapshot save: Permission denied\n/)
  await assert.rejects(stat(join(reeve.directory, 'a.snapshot.part')))
})
