import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOG_BACKLOG_CHARS_MAX, LOG_BATCH_CHARS_MAX, LogBacklog, type LogFeed } from './log-feed.ts'

const EVERYTHING = { level: 'debug', json: false } as const

function aFeed() {
  const readers = new Set<(text: string) => void>()
  const feed: LogFeed = {
    follow(_selection, line) {
      readers.add(line)
      return () => void readers.delete(line)
    },
    droppedLine: (count) => `${count} dropped\n`,
  }
  const write = (text: string): void => {
    for (const reader of readers) reader(text)
  }
  return { feed, write, readers }
}

test('log backlog: lines arrive in order, as one text', async () => {
  const { feed, write } = aFeed()
  const backlog = new LogBacklog(feed, EVERYTHING)
  write('a\n')
  write('b\n')
  assert.equal(await backlog.take(), 'a\nb\n')
})

test('log backlog: a reader waits for the next line', async () => {
  const { feed, write } = aFeed()
  const backlog = new LogBacklog(feed, EVERYTHING)
  const taken = backlog.take()
  write('a\n')
  assert.equal(await taken, 'a\n')
})

test('log backlog: closing ends a waiting read and stops following', async () => {
  const { feed, readers } = aFeed()
  const backlog = new LogBacklog(feed, EVERYTHING)
  const taken = backlog.take()
  backlog.close()
  assert.equal(await taken, undefined)
  assert.equal(await backlog.take(), undefined)
  assert.equal(readers.size, 0)
})

test('log backlog: lines that a slow reader has no room for are dropped and counted', async () => {
  const { feed, write } = aFeed()
  const backlog = new LogBacklog(feed, EVERYTHING)
  const line = `${'x'.repeat(1_023)}\n`
  const kept = LOG_BACKLOG_CHARS_MAX / line.length
  for (let count = 0; count < kept + 7; count += 1) write(line)
  let text = ''
  while (!text.endsWith('dropped\n')) text += (await backlog.take()) ?? ''
  assert.equal(text, `${line.repeat(kept)}7 dropped\n`)
  write('after\n')
  assert.equal(await backlog.take(), 'after\n')
})

test('log backlog: a batch has a bounded length, and a longer line is dropped', async () => {
  const { feed, write } = aFeed()
  const backlog = new LogBacklog(feed, EVERYTHING)
  const half = 'x'.repeat(LOG_BATCH_CHARS_MAX / 2)
  write(half)
  write(half)
  write(half)
  write('y'.repeat(LOG_BATCH_CHARS_MAX + 1))
  assert.equal((await backlog.take())?.length, LOG_BATCH_CHARS_MAX)
  assert.equal(await backlog.take(), half)
  assert.equal(await backlog.take(), '1 dropped\n')
})
