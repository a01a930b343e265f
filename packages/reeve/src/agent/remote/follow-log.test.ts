import assert from 'node:assert/strict'
import { appendFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import type { FileSink } from './follow-file.ts'
import { followLog, RotatedLog } from './follow-log.ts'

/** Keeps all that comes; each piece may be made to wait. */
function aSink(wait: () => Promise<void> = () => Promise.resolve()) {
  let text = ''
  const sink: FileSink = {
    sendData: async (bytes) => {
      text += bytes.toString()
      await wait()
    },
    sendEvent: () => Promise.resolve(),
    sendHeartbeat: () => Promise.resolve(),
  }
  return { sink, text: () => text }
}

async function aLog(t: Parameters<typeof temporaryDirectory>[0]) {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'alloc/logs'), { recursive: true })
  const log = new RotatedLog(root, 'web.stdout', 'stdout')
  return { root, log, file: (n: number) => join(root, log.pathOf(n)) }
}

const FROM_START = { offset: 0, origin: 'start', follow: true, clock: systemClock } as const

test('follow log: while a writer rotates and removes, what is read has no hole inside a file', async (t) => {
  const { log, file } = await aLog(t)
  const { sink, text } = aSink(() => new Promise((resolve) => setImmediate(resolve)))
  let isOver = false
  const { signal } = new AbortController()
  const reading = followLog(log, { ...FROM_START, sink, signal, hasTaskEnded: () => isOver })
  const lines = Array.from({ length: 600 }, (_, n) => `${n}`)
  for (const [n, line] of lines.entries()) {
    await appendFile(file(Math.floor(n / 7)), `${line}\n`)
    if (n % 70 === 69) await rm(file(Math.floor(n / 7) - 5), { force: true })
  }
  isOver = true
  await reading
  const got = text().split('\n').slice(0, -1).map(Number)
  assert.equal(got.at(-1), 599)
  for (const [at, value] of got.entries()) {
    const before = got[at - 1] ?? -1
    // Whole files may be gone before they are read; never a part of one.
    assert.ok(value === before + 1 || value % 7 === 0, `${before} is followed by ${value}`)
  }
})

test('follow log: files of another task or kind are not of the row', async (t) => {
  const { root, log, file } = await aLog(t)
  await appendFile(file(2), 'own')
  for (const name of ['web.stdout.3', 'web.stdout.stderr.1', 'web.stdout.stdout.x', 'x.stdout.1'])
    await appendFile(join(root, 'alloc/logs', name), 'other')
  assert.deepEqual(await log.fileNumbers(), [2])
})

test('follow log: a log that has no file yet is waited for', async (t) => {
  const { log, file } = await aLog(t)
  const { sink, text } = aSink()
  let isOver = false
  const { signal } = new AbortController()
  const reading = followLog(log, { ...FROM_START, sink, signal, hasTaskEnded: () => isOver })
  await appendFile(file(0), 'hello')
  isOver = true
  await reading
  assert.equal(text(), 'hello')
})

test('follow log: a disconnect ends it', async (t) => {
  const { log, file } = await aLog(t)
  await appendFile(file(0), 'hello')
  const { sink } = aSink()
  const over = new AbortController()
  const options = { ...FROM_START, sink, signal: over.signal, hasTaskEnded: () => false }
  const reading = followLog(log, options)
  over.abort()
  await reading
})

const RESUMES = [
  { name: 'where it broke off', resume: { file: 1, offset: 2 }, want: '11223' },
  { name: 'after a file that was removed since', resume: { file: 0, offset: 9 }, want: 'xx11223' },
  { name: 'with nothing when all was read', resume: { file: 3, offset: 1 }, want: '' },
]
for (const { name, resume, want } of RESUMES) {
  test(`follow log: a reader is resumed ${name}`, async (t) => {
    const { log, file } = await aLog(t)
    const files = ['', 'xx11', '22', '3']
    for (const [n, text] of files.entries()) if (n > 0) await appendFile(file(n), text)
    const { sink, text } = aSink()
    const { signal } = new AbortController()
    await followLog(log, { ...FROM_START, resume, sink, signal, hasTaskEnded: () => true })
    assert.equal(text(), want)
  })
}
