import assert from 'node:assert/strict'
import { appendFile, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StreamFrame } from '@reeve/contract'
import { until } from '../build/until.ts'
import { aNodeWorld, shell } from './node-world.ts'

/** What has come of a body so far. */
function collect(response: IncomingMessage) {
  let text = ''
  let isOver = false
  response.on('data', (chunk: Buffer) => (text += chunk.toString()))
  response.on('end', () => (isOver = true))
  response.on('error', () => (isOver = true))
  return { text: () => text, isOver: () => isOver, destroy: () => response.destroy() }
}

/** Frames follow each other without a separator. */
function frames(text: string): readonly StreamFrame[] {
  return text === '' ? [] : JSON.parse(`[${text.replaceAll('}{', '},{')}]`)
}

function dataOf(all: readonly StreamFrame[]): string {
  return all.map((frame) => Buffer.from(frame.Data ?? '', 'base64').toString()).join('')
}

test('logs: both outputs are read, plain and framed, from the start and from the end', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const task = shell('echo out; echo err >&2; exit 0')
  const { id } = await run([task], { status: 'complete', job: { Type: 'batch' } })
  const logs = `/v1/client/fs/logs/${id}?task=web`
  const plain = await get(`${logs}&type=stdout&plain=true`)
  assert.deepEqual(plain, { status: 200, text: 'out\n', type: 'text/plain; charset=utf-8' })
  assert.equal((await get(`${logs}&type=stderr&plain=true`)).text, 'err\n')
  assert.equal((await get(`${logs}&type=stdout&plain=true&offset=1`)).text, 'ut\n')
  assert.equal((await get(`${logs}&type=stdout&plain=true&offset=2&origin=end`)).text, 't\n')
  assert.equal((await get(`${logs}&type=stdout&plain=true&offset=99`)).text, '')
  const framed = await get(`${logs}&type=stdout`)
  assert.equal(framed.type, 'application/json')
  assert.deepEqual(frames(framed.text), [
    {
      Offset: 4,
      Data: Buffer.from('out\n').toString('base64'),
      File: 'alloc/logs/web.stdout.0',
    },
  ])
  // The task is over, so following it ends.
  assert.equal((await get(`${logs}&type=stdout&plain=true&follow=true`)).text, 'out\n')
})

test('logs: a task that was not started has none', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const first = shell('sleep 300', {
    Name: 'first',
    Lifecycle: { Hook: 'prestart', Sidecar: false },
  })
  const { id } = await run([first, shell('echo never', { Name: 'second' })])
  const got = await get(`/v1/client/fs/logs/${id}?task=second&type=stdout`)
  assert.deepEqual(
    [got.status, got.text],
    [404, 'task "second" not started yet. No logs available'],
  )
})

test('logs: following crosses rotations and loses no byte', async (t) => {
  const { run, open } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const file = (n: number) => join(directory, `alloc/logs/web.stdout.${n}`)
  await writeFile(file(0), '')
  const response = await open(`/v1/client/fs/logs/${id}?task=web&type=stdout&follow=true`)
  assert.equal(response.statusCode, 200)
  const body = collect(response)
  // The test is the rotating writer: many small files, each ended before the next is begun.
  let wanted = ''
  for (let n = 0; n < 40; n++)
    for (let line = 0; line < 5; line++) {
      const text = `file ${n} line ${line}\n`
      await appendFile(file(n), text)
      wanted += text
    }
  await until('all lines', () => dataOf(frames(body.text())).length >= wanted.length || undefined)
  assert.equal(dataOf(frames(body.text())), wanted)
  const names = new Set(
    frames(body.text()).flatMap(({ File }) => (File === undefined ? [] : [File])),
  )
  assert.equal(names.size, 40)
  body.destroy()
})

test('logs: a reader that comes when the oldest files are gone begins with what is left', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  for (const n of [3, 4, 10])
    await writeFile(join(directory, `alloc/logs/web.stdout.${n}`), `${n}${n}\n`)
  await rm(join(directory, 'alloc/logs/web.stdout.0'))
  const logs = `/v1/client/fs/logs/${id}?task=web&type=stdout&plain=true`
  const all = (await get(logs)).text
  assert.equal(all, '33\n44\n1010\n')
  assert.equal((await get(`${logs}&offset=4`)).text, all.slice(4))
  assert.equal((await get(`${logs}&origin=end&offset=7`)).text, all.slice(-7))
  assert.equal((await get(`${logs}&origin=end&offset=700`)).text, all)
})

test('logs: links and pipes in the place of logs are passed over', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const logs = join(directory, 'alloc/logs')
  await rm(join(logs, 'web.stdout.0'))
  const { symlink } = await import('node:fs/promises')
  await symlink('/etc/passwd', join(logs, 'web.stdout.0'))
  await writeFile(join(logs, 'web.stdout.1'), 'own\n')
  const got = await get(`/v1/client/fs/logs/${id}?task=web&type=stdout&plain=true`)
  assert.equal(got.text, 'own\n')
})

test('stream: a file is followed as it grows, is cut short, and goes', async (t) => {
  const { run, open } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const path = join(directory, 'web/local/data')
  await writeFile(path, 'one')
  const body = collect(await open(`/v1/client/fs/stream/${id}?path=web/local/data`))
  const data = () => dataOf(frames(body.text()))
  await until('the beginning', () => data() === 'one' || undefined)
  await appendFile(path, ' two')
  await until('what was added', () => data() === 'one two' || undefined)
  await truncate(path, 0)
  const events = () => frames(body.text()).flatMap(({ FileEvent: event }) => event ?? [])
  await until('that it was cut', () => events().includes('file truncated') || undefined)
  await appendFile(path, '!')
  await until('what came after', () => data() === 'one two!' || undefined)
  await rename(path, `${path}.old`)
  await until('the end', () => body.isOver() || undefined)
  assert.deepEqual(events(), ['file truncated', 'file deleted'])
  const last = frames(body.text()).find((frame) => frame.FileEvent === 'file deleted')
  assert.equal(last?.File, 'web/local/data')
})

test('stream: without follow it ends with the file, and a heartbeat keeps a quiet one alive', async (t) => {
  const { run, get, open } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  await writeFile(join(directory, 'web/local/data'), 'some data')
  const path = `/v1/client/fs/stream/${id}?path=web/local/data`
  assert.equal(dataOf(frames((await get(`${path}&follow=false`)).text)), 'some data')
  assert.equal(dataOf(frames((await get(`${path}&follow=false&origin=end&offset=4`)).text)), 'data')
  const body = collect(await open(path))
  await until('a heartbeat', () => body.text().includes('{}') || undefined)
  body.destroy()
})

test('job logs: all allocations are merged by line, and those to come are followed', async (t) => {
  const { run, get, open, server } = await aNodeWorld(t)
  const task = (n: number) => shell(`echo first ${n}; printf last; sleep 300`)
  const job = { ID: 'merged/job' }
  const one = await run([task(1)], { job })
  const path = '/v1/job/merged%2Fjob/logs'
  const plain = await until('both lines', async () => {
    const got = await get(`${path}?type=stdout`)
    return got.text.includes('last') ? got : undefined
  })
  assert.deepEqual(plain, {
    status: 200,
    text: 'first 1\nlast\n',
    type: 'text/plain; charset=utf-8',
  })
  const prefix = `${one.id.slice(0, 8)} web: `
  const got = await get(`${path}?prefix=true&task=web`)
  assert.equal(got.text, `${prefix}first 1\n${prefix}last\n`)
  const body = collect(await open(`${path}?follow=true&prefix=true`))
  await until('the first lines', () => body.text().includes('first 1') || undefined)
  const two = await run([task(2)], { job })
  // The reader looks again a while after allocations changed.
  await until('the new allocation', () => {
    server.clock.advance(300)
    return body.text().includes(`${two.id.slice(0, 8)} web: first 2\n`) || undefined
  })
  await server.ok('stopJob', { params: { job_id: job.ID } })
  await until('the end of the job', () => {
    server.clock.advance(300)
    return body.isOver() || undefined
  })
  assert.ok(body.text().endsWith(`${two.id.slice(0, 8)} web: last\n`))
  assert.deepEqual((await get('/v1/job/nothing/logs')).text, 'job not found')
  assert.equal((await get(`${path}?type=stdin`)).status, 400)
  const { status, text } = await get(`${path}?task=wbe`)
  assert.deepEqual({ status, text }, { status: 400, text: 'unknown task name "wbe"' })
})

test('logs: a reader that stops costs the node a bounded amount, and others go on', async (t) => {
  const { run, open, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const big = join(directory, 'web/local/big')
  await truncate(big, 0).catch(() => writeFile(big, ''))
  await truncate(big, 512 * 1024 * 1024)
  const before = process.memoryUsage().rss
  const stopped = await Promise.all(
    Array.from({ length: 4 }, () => open(`/v1/client/fs/cat/${id}?path=web/local/big`)),
  )
  for (const response of stopped) response.pause()
  // Others are served meanwhile, through the same node and the same server.
  await writeFile(join(directory, 'web/local/small'), 'small')
  for (let i = 0; i < 50; i++)
    assert.equal((await get(`/v1/client/fs/cat/${id}?path=web/local/small`)).text, 'small')
  const grownMB = (process.memoryUsage().rss - before) / 1024 / 1024
  assert.ok(grownMB < 200, `${grownMB} MB for four readers of 512 MB each`)
  for (const response of stopped) response.destroy()
  assert.ok((await readdir(join(directory, 'web/local'))).includes('big'))
})
