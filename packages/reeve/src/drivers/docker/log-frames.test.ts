import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { usageFromStats } from './docker-task.ts'
import { FrameReader, LineReader, type LogFrame } from './log-frames.ts'
import { parseImageReference } from './image-reference.ts'
import { LogCursor, LOG_START, parseEntry, sinceParameter } from './log-position.ts'

function encode({ stream, bytes }: LogFrame): Buffer {
  const head = Buffer.alloc(8)
  head[0] = stream === 'stdout' ? 1 : 2
  head.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([head, bytes])
}

const frame = fc.record({
  stream: fc.constantFrom('stdout' as const, 'stderr' as const),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
})

test('frames: cut anywhere, they come out as they went in', () => {
  fc.assert(
    fc.property(fc.array(frame), fc.array(fc.nat(20)), (frames, cuts) => {
      const reader = new FrameReader()
      let bytes = Buffer.concat(frames.map(encode))
      const found: LogFrame[] = []
      for (const cut of cuts) {
        found.push(...reader.read(bytes.subarray(0, cut)))
        bytes = bytes.subarray(cut)
      }
      found.push(...reader.read(bytes), ...reader.flush())
      assert.deepEqual(
        found.map(({ stream, bytes: piece }) => [stream, piece.toString('hex')]),
        frames.map(({ stream, bytes: piece }) => [stream, piece.toString('hex')]),
      )
    }),
  )
})

test('frames: a truncated frame returns the received part', () => {
  const reader = new FrameReader()
  const whole = encode({ stream: 'stderr', bytes: Buffer.from('abcdef') })
  assert.deepEqual(reader.read(whole.subarray(0, 11)), [])
  assert.deepEqual(reader.flush(), [{ stream: 'stderr', bytes: Buffer.from('abc') }])
})

test('lines: the log of a terminal comes line by line, the rest at the end', () => {
  const reader = new LineReader()
  const texts = (frames: readonly LogFrame[]): string[] => frames.map(({ bytes }) => String(bytes))
  assert.deepEqual(texts(reader.read(Buffer.from('a\nb'))), ['a\n'])
  assert.deepEqual(texts(reader.read(Buffer.from('c\n\nd'))), ['bc\n', '\n'])
  assert.deepEqual(texts(reader.flush()), ['d'])
})

const entries = [
  { text: '2026-01-02T03:04:05.000000006Z hi', ns: 6n, rest: 'hi' },
  { text: '2026-01-02T03:04:05.5Z hi', ns: 500_000_000n, rest: 'hi' },
  { text: '2026-01-02T04:04:05+01:00 hi', ns: 0n, rest: 'hi' },
  { text: 'no time here', ns: undefined, rest: 'no time here' },
]
const BASE_NS = BigInt(Date.parse('2026-01-02T03:04:05Z')) * 1_000_000n
for (const c of entries) {
  test(`log entries: ${c.text}`, () => {
    const { atNs, bytes } = parseEntry(Buffer.from(c.text))
    assert.equal(atNs, c.ns === undefined ? undefined : BASE_NS + c.ns)
    assert.equal(String(bytes), c.rest)
  })
}

test('log entries: each is written once after a repeated read, even with equal times', () => {
  const at = (ns: number, text: string): LogFrame => {
    const fraction = String(ns).padStart(9, '0')
    return { stream: 'stdout', bytes: Buffer.from(`2026-01-02T03:04:05.${fraction}Z ${text}`) }
  }
  const log = [at(1, 'a'), at(2, 'b'), at(2, 'c'), at(2, 'd'), at(3, 'e')]
  for (let cut = 0; cut <= log.length; cut += 1) {
    const first = new LogCursor(LOG_START)
    const before = log.slice(0, cut).map((one) => first.accept(one))
    const second = new LogCursor(first.position)
    const after = log.map((one) => second.accept(one))
    const text = [...before, ...after].map((bytes) => String(bytes ?? '')).join('')
    assert.equal(text, 'abcde')
  }
})

test('log entries: a repeated read starts just before the older of the two streams', () => {
  const mark = (atNs: string): { atNs: string; count: number } => ({ atNs, count: 1 })
  assert.equal(
    sinceParameter({ stdout: mark('7000000005'), stderr: mark('9000000000') }),
    '6.999000005',
  )
  assert.equal(sinceParameter({ stdout: mark('7000000005'), stderr: mark('0') }), '6.999000005')
  assert.equal(sinceParameter(LOG_START), '0.000000000')
})

test('log entries: what follows a new one is new, also when the clock was set back', () => {
  const at = (second: number): LogFrame => {
    const bytes = Buffer.from(`2026-01-02T03:04:0${second}Z ${second}`)
    return { stream: 'stdout', bytes }
  }
  const first = new LogCursor(LOG_START)
  for (const second of [4, 5]) first.accept(at(second))
  const second = new LogCursor(first.position)
  const accepted = [4, 5, 6, 1, 2].map((one) => String(second.accept(at(one)) ?? ''))
  assert.deepEqual(accepted, ['', '', '6', '1', '2'])
})

const images = [
  { image: 'box', want: ['box', 'latest', '', 'docker.io'] },
  { image: 'team/box:1.2', want: ['team/box', '1.2', '', 'docker.io'] },
  { image: 'reg.test:5000/a/b', want: ['reg.test:5000/a/b', 'latest', '', 'reg.test:5000'] },
  { image: 'localhost/a:x', want: ['localhost/a', 'x', '', 'localhost'] },
  {
    image: `a@sha256:${'0'.repeat(64)}`,
    want: ['a', '', `sha256:${'0'.repeat(64)}`, 'docker.io'],
  },
]
for (const c of images) {
  test(`image ${c.image.slice(0, 30)}`, () => {
    const { repository, tag, digest, registry } = parseImageReference(c.image)
    assert.deepEqual([repository, tag, digest, registry], c.want)
  })
}

for (const image of ['', 'A', 'a:', 'a b', 'a@sha256:1', '../a', 'a'.repeat(600), 'a@b@c']) {
  test(`image ${JSON.stringify(image.slice(0, 20))} is none`, () => {
    assert.throws(() => parseImageReference(image), { kind: 'task-config' })
  })
}

test('usage: both kinds of control groups, and engines that tell less', () => {
  const v1 = {
    usage: 100,
    max_usage: 150,
    stats: { total_rss: 60, total_cache: 40, total_swap: 5 },
  }
  const v2 = { usage: 100, stats: { anon: 60, file: 40 } }
  const bare = { usage: 100 }
  const memoryOf = (memory: object): readonly number[] => {
    const usage = usageFromStats({ memory_stats: memory }, 0).memory
    return [usage.rssBytes, usage.cacheBytes, usage.swapBytes, usage.maxUsageBytes]
  }
  assert.deepEqual(memoryOf(v1), [60, 40, 5, 150])
  assert.deepEqual(memoryOf(v2), [60, 40, 0, 100])
  assert.deepEqual(memoryOf(bare), [100, 0, 0, 100])
  assert.equal(usageFromStats(undefined, 7).atMs, 7)
})
