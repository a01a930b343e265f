import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Fault } from '@reeve/kit/fault.ts'
import {
  unbracketHost,
  newPolicyLookup,
  requireAllowedAddress,
  type AddressPolicy,
} from './address-policy.ts'
import { redactAddress, type ArtifactSource } from './source.ts'

export interface GitProxy {
  /** Makes git and the library under it use the proxy. */
  readonly environment: Readonly<Record<string, string>>
  /** The first address that was rejected, as the reason why git failed. */
  rejectedAddressFault(): Fault | undefined
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
  const expectedAuthorization = `Basic ${Buffer.from(`reeve:${password}`).toString('base64')}`
  const sockets = new Set<Socket>()
  let firstRejection: Fault | undefined
  const connectToHost = async (host: string, port: number): Promise<Socket> => {
    const describe = describeHost(source, host)
    try {
      return await connectChecked({ host, port, policy, describe })
    } catch (thrown) {
      if (thrown instanceof Fault) firstRejection ??= thrown
      throw thrown
    }
  }
  const server = createServer((incoming, response) => {
    if (incoming.headers['proxy-authorization'] !== expectedAuthorization)
      respondUnauthorized(response)
    else void forward(incoming, response, connectToHost)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (incoming.headers['proxy-authorization'] !== expectedAuthorization) socket.end(UNAUTHORIZED)
    else void tunnel(incoming.url ?? '', { socket, head, dial: connectToHost })
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
    rejectedAddressFault: () => firstRejection,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function describeHost(source: ArtifactSource, host: string): string {
  const address = redactAddress(source.address)
  const isSourceHost = URL.parse(source.address)?.hostname === host
  return `Artifact source ${address}${isSourceHost ? '' : ` leads to ${host}, which`}`
}

interface CheckedConnectionOptions {
  readonly host: string
  readonly port: number
  readonly policy: AddressPolicy
  readonly describe: string
}

/** A connection to an address that the policy allows. */
export async function connectChecked(options: CheckedConnectionOptions): Promise<Socket> {
  const { port, policy, describe: sourceDescription } = options
  const host = unbracketHost(options.host)
  requireAllowedAddress(host, policy, sourceDescription)
  const socket = connect({ host, port, lookup: newPolicyLookup(policy, sourceDescription) })
  await once(socket, 'connect')
  return socket
}

type ConnectToHost = (host: string, port: number) => Promise<Socket>

const UNAUTHORIZED =
  'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="reeve"\r\n' +
  'Content-Length: 0\r\nConnection: close\r\n\r\n'
const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

function respondUnauthorized(response: ServerResponse): void {
  response.writeHead(407, { 'proxy-authenticate': 'Basic realm="reeve"' }).end()
}

interface TunnelOptions {
  readonly socket: Duplex
  readonly head: Buffer
  readonly dial: ConnectToHost
}

async function tunnel(
  authority: string,
  { socket, head, dial: connectToHost }: TunnelOptions,
): Promise<void> {
  // A disconnected client only ends its own connection.
  socket.on('error', () => undefined)
  const url = URL.parse(`https://${authority}`)
  const upstream = url === null ? undefined : await tryConnect(connectToHost, url, 443)
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
  connectToHost: ConnectToHost,
): Promise<void> {
  const respondBadGateway = (): void => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  }
  const url = URL.parse(incoming.url ?? '')
  const isPlain = url !== null && url.protocol === 'http:'
  const socket = isPlain ? await tryConnect(connectToHost, url, 80) : undefined
  if (url === null || socket === undefined) {
    respondBadGateway()
    return
  }
  const headers = { ...incoming.headers }
  delete headers['proxy-authorization']
  delete headers['proxy-connection']
  socket.on('error', respondBadGateway)
  const method = incoming.method ?? 'GET'
  const outgoing = request(url, { method, headers, createConnection: () => socket })
  outgoing.on('error', respondBadGateway)
  outgoing.on('response', (upstreamResponse) => {
    response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers)
    upstreamResponse.pipe(response)
    upstreamResponse.on('error', respondBadGateway)
  })
  incoming.pipe(outgoing)
}

/** Connects, or returns undefined; the proxy records the reason. */
function tryConnect(
  connectToHost: ConnectToHost,
  url: URL,
  defaultPort: number,
): Promise<Socket | undefined> {
  return connectToHost(url.hostname, Number(url.port || defaultPort)).catch(() => undefined)
}
