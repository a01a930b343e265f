import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Fault } from '@reeve/kit/fault.ts'
import { hostOf, policyLookup, requireAllowed, type AddressPolicy } from './address-policy.ts'
import { redactAddress, type ArtifactSource } from './source.ts'

export interface GitProxy {
  /** Makes git and the library under it use the proxy. */
  readonly environment: Readonly<Record<string, string>>
  /** The first address that was rejected, as the reason why git failed. */
  refusal(): Fault | undefined
  close(): void
}

/**
 * An HTTP proxy for one clone. Git resolves names and follows redirects by itself, so only whoever
 * opens the connections for it can tell where they lead. TLS stays between git and the server. The
 * proxy listens on loopback with a random password, because other users of the machine could
 * connect too.
 */
export async function openGitProxy({
  policy,
  source,
}: {
  readonly policy: AddressPolicy
  readonly source: ArtifactSource
}): Promise<GitProxy> {
  const password = randomBytes(18).toString('hex')
  const wanted = `Basic ${Buffer.from(`reeve:${password}`).toString('base64')}`
  const sockets = new Set<Socket>()
  let refusal: Fault | undefined
  const dial = async (host: string, port: number): Promise<Socket> => {
    const describe = describeHost(source, host)
    try {
      return await connectChecked({ host, port, policy, describe })
    } catch (thrown) {
      if (thrown instanceof Fault) refusal ??= thrown
      throw thrown
    }
  }
  const server = createServer((incoming, response) => {
    if (incoming.headers['proxy-authorization'] !== wanted) rejectCaller(response)
    else void forward(incoming, response, dial)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (incoming.headers['proxy-authorization'] !== wanted) socket.end(UNAUTHORIZED)
    else void tunnel(incoming.url ?? '', { socket, head, dial })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const url = `http://reeve:${password}@127.0.0.1:${port}`
  return {
    environment: {
      http_proxy: url,
      https_proxy: url,
      all_proxy: url,
      no_proxy: '',
      GIT_HTTP_PROXY_AUTHMETHOD: 'basic',
    },
    refusal: () => refusal,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function describeHost(source: ArtifactSource, host: string): string {
  const shown = redactAddress(source.address)
  const isOwn = URL.parse(source.address)?.hostname === host
  return `Artifact source ${shown}${isOwn ? '' : ` leads to ${host}, which`}`
}

interface CheckedConnection {
  readonly host: string
  readonly port: number
  readonly policy: AddressPolicy
  readonly describe: string
}

/** A connection to an address that the policy allows. */
export async function connectChecked(wanted: CheckedConnection): Promise<Socket> {
  const { port, policy, describe } = wanted
  const host = hostOf(wanted.host)
  requireAllowed(host, policy, describe)
  const socket = connect({ host, port, lookup: policyLookup(policy, describe) })
  await once(socket, 'connect')
  return socket
}

type DialHost = (host: string, port: number) => Promise<Socket>

const UNAUTHORIZED =
  'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="reeve"\r\n' +
  'Content-Length: 0\r\nConnection: close\r\n\r\n'
const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

function rejectCaller(response: ServerResponse): void {
  response.writeHead(407, { 'proxy-authenticate': 'Basic realm="reeve"' }).end()
}

interface Tunnel {
  readonly socket: Duplex
  readonly head: Buffer
  readonly dial: DialHost
}

async function tunnel(authority: string, { socket, head, dial }: Tunnel): Promise<void> {
  // A caller that goes away ends its own connection only.
  socket.on('error', () => undefined)
  const url = URL.parse(`https://${authority}`)
  const upstream = url === null ? undefined : await dialOrNone(dial, url, 443)
  if (upstream === undefined) {
    socket.end(BAD_GATEWAY)
    return
  }
  upstream.on('error', () => socket.destroy())
  upstream.on('close', () => socket.destroy())
  socket.on('close', () => upstream.destroy())
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  upstream.write(head)
  socket.pipe(upstream)
  upstream.pipe(socket)
}

async function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  dial: DialHost,
): Promise<void> {
  const fail = (): void => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  }
  const url = URL.parse(incoming.url ?? '')
  const isPlain = url !== null && url.protocol === 'http:'
  const socket = isPlain ? await dialOrNone(dial, url, 80) : undefined
  if (url === null || socket === undefined) {
    fail()
    return
  }
  const headers = { ...incoming.headers }
  delete headers['proxy-authorization']
  delete headers['proxy-connection']
  socket.on('error', fail)
  const method = incoming.method ?? 'GET'
  const outgoing = request(url, { method, headers, createConnection: () => socket })
  outgoing.on('error', fail)
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
    answer.on('error', fail)
  })
  incoming.pipe(outgoing)
}

/** The caller learns only that there is no connection; the proxy keeps the reason. */
function dialOrNone(dial: DialHost, url: URL, defaultPort: number): Promise<Socket | undefined> {
  return dial(url.hostname, Number(url.port || defaultPort)).catch(() => undefined)
}
