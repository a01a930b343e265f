/**
 * The baseline: what this machine and `node:http` can do when a server does nothing else.
 *
 *   GET  /bytes/N        answers at once with N bytes
 *   GET  /park           is held until somebody asks for /release
 *   GET  /release/N      answers everything that is held with N bytes each
 *   GET  /parked         how many are held
 *   GET  /memory         resident bytes of this process
 *   GET  /stream         stays open; gets every line that /publish says
 *   POST /publish        writes its body to every stream
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

const bodies = new Map<number, Buffer>()
const held = new Set<ServerResponse>()
const streams = new Set<ServerResponse>()

const server = createServer((request, response) => void serve(request, response))
// Connections wait while others are opened.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was taken')
  process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, what = '', amount = '0'] = (request.url ?? '').split('/')
  if (what === 'park') return keep(held, response)
  if (what === 'stream') {
    keep(streams, response)
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    return
  }
  if (what === 'release') {
    for (const one of held) answer(one, bodyOf(Number(amount)))
    held.clear()
  }
  if (what === 'publish') {
    const line = await text(request)
    for (const stream of streams) stream.write(line)
  }
  answer(response, what === 'bytes' ? bodyOf(Number(amount)) : figureOf(what))
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
