/**
 * The baseline: what this machine and `node:http` can do when a server does nothing else.
 *
 *   GET  /bytes/N        answers at once with N bytes
 *   POST /append/N       parses its body, appends N bytes to a file, answers when they are durable
 *   GET  /park           is held until a request for /release
 *   GET  /release/N      answers everything that is held with N bytes each
 *   GET  /parked         how many are held
 *   GET  /memory         resident bytes of this process
 *   GET  /stream         stays open; gets every line that is emitted
 *   GET  /emit/R/M/B     emits R lines of B bytes a second for M milliseconds; answers how many
 */
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { machineMs } from './measure.ts'

const bodies = new Map<number, Buffer>()
const held = new Set<ServerResponse>()
const streams = new Set<ServerResponse>()

const server = createServer((request, response) => void serve(request, response))
// Connections are idle while others are opened.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was taken')
  process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, what = '', ...given] = (request.url ?? '').split('/')
  const [amount = 0, ...rest] = given.map(Number)
  if (what === 'append') return await append(request, response, amount)
  if (what === 'park') return keep(held, response)
  if (what === 'stream') {
    keep(streams, response)
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    return
  }
  if (what === 'release') {
    for (const one of held) answer(one, bodyOf(amount))
    held.clear()
  }
  if (what === 'emit') {
    const [durationMs = 0, lineBytes = 0] = rest
    const count = await emit({ perSecond: amount, durationMs, lineBytes })
    answer(response, Buffer.from(String(count)))
  } else answer(response, what === 'bytes' ? bodyOf(amount) : figureOf(what))
}

const waiting: ServerResponse[] = []
let appended: Promise<FileHandle> | undefined
let isWriting = false

async function append(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: number,
): Promise<void> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  JSON.parse(text)
  waiting.push(response)
  if (isWriting) return
  isWriting = true
  appended ??= openNameless()
  const file = await appended
  // Requests that arrive during a write are written together with the next one.
  while (waiting.length > 0) {
    const batch = waiting.splice(0)
    await file.writev(batch.map(() => bodyOf(bytes)))
    await file.datasync()
    for (const one of batch) answer(one, bodyOf(0))
  }
  isWriting = false
}

/** An unlinked file, which disappears with the process. */
async function openNameless(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  const file = await open(join(directory, 'appended'), 'w')
  await rm(directory, { recursive: true })
  return file
}

interface Emission {
  readonly perSecond: number
  readonly durationMs: number
  readonly lineBytes: number
}

/** Each line contains its creation time, like the smallest event. */
async function emit({ perSecond, durationMs, lineBytes }: Emission): Promise<number> {
  const start = machineMs()
  let count = 0
  for (let nowMs = start; nowMs - start < durationMs; nowMs = machineMs()) {
    const due = Math.floor(((nowMs - start) / 1_000) * perSecond)
    if (count < due) {
      count++
      const line = `{"Description":"${machineMs()}","Filler":"`.padEnd(lineBytes, 'x')
      for (const stream of streams) stream.write(`${line}"}\n`)
    }
    if (count >= due) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return count
}

function keep(set: Set<ServerResponse>, response: ServerResponse): void {
  set.add(response)
  response.on('close', () => set.delete(response))
}

function figureOf(what: string): Buffer {
  const figure = what === 'memory' ? process.memoryUsage.rss() : held.size
  return Buffer.from(String(figure))
}

function answer(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}

function bodyOf(length: number): Buffer {
  const known = bodies.get(length)
  if (known !== undefined) return known
  const body = Buffer.alloc(length, 'x')
  bodies.set(length, body)
  return body
}
