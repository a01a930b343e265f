import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { Fault } from '@reeve/kit/fault.ts'
import { PHASE_REJECTED, type PhaseClient } from './phase-client.ts'
import { TOOL_RESPONSE_HEADERS, TOOL_SERVICES } from '../compat/tool/index.ts'

/** Server and token of the remote states that the configuration of a run reads. */
export interface GatewayInput {
  readonly client: PhaseClient
  readonly organization: string
  /** Host names and ports by which configurations name the server. */
  readonly hosts: readonly string[]
}

/**
 * Answers the requests with which the tool reads the state of other workspaces, on the loopback
 * interface of the task. The tool receives a token that opens nothing else: neither the API nor the
 * state of its own workspace can be reached with it. A request with another token was configured by
 * a user and is passed on to the server.
 */
export class RemoteStateGateway {
  readonly #input: GatewayInput
  readonly #token = randomBytes(32).toString('base64url')
  readonly #server: Server

  constructor(input: GatewayInput) {
    this.#input = input
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((thrown: unknown) => {
        sendError(response, 502, thrown instanceof Error ? thrown.message : 'unknown error')
      })
    })
  }

  /** Starts the gateway and returns the settings of the tool that lead to it. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    // The settings are not JSON: members are assigned with an equals sign.
    const services = TOOL_SERVICES.map((name) => `"${name}" = "${this.#address()}${BASE_PATH}"`)
    return this.#input.hosts
      .map((host) => {
        const name = JSON.stringify(host)
        const credentials = `credentials ${name} { token = ${JSON.stringify(this.#token)} }\n`
        return `host ${name} { services = { ${services.join(', ')} } }\n${credentials}`
      })
      .join('')
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #address(): string {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.#address())
    if (!this.#isOwn(request)) return await this.#input.client.forward(request, response)
    const segments = decodePath(pathname.replace(BASE_PATH, ''))
    if (segments === undefined) return sendError(response, 400, `${pathname} is malformed`)
    const [kind, name = '', , workspace = ''] = segments
    if (request.method !== 'GET') return sendError(response, 403, READ_ONLY)
    if (kind === 'ping') return send(response, 204)
    if (kind === 'workspaces') return await this.#sendState(response, name)
    if (kind !== 'organizations') return sendError(response, 403, READ_ONLY)
    if (name.toLowerCase() !== this.#input.organization.toLowerCase())
      return sendError(response, 403, `Runs read outputs of their own organization only`)
    if (segments[2] === 'entitlement-set') return sendJson(response, entitlements(name))
    if (segments[2] === 'workspaces') return await this.#sendWorkspace(response, workspace)
    sendError(response, 403, READ_ONLY)
  }

  #isOwn({ headers }: IncomingMessage): boolean {
    const expected = Buffer.from(`Bearer ${this.#token}`)
    const given = Buffer.from(headers.authorization ?? '')
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  /** The tool addresses the state by the ID of a workspace, which here contains its name. */
  async #sendWorkspace(response: ServerResponse, name: string): Promise<void> {
    if ((await this.#readState(response, name)) === 'rejected') return
    const attributes = { name, operations: false, 'execution-mode': 'local', permissions: {} }
    sendJson(response, { data: { id: idOfName(name), type: 'workspaces', attributes } })
  }

  async #sendState(response: ServerResponse, id: string): Promise<void> {
    const isDownload = id.startsWith(DOWNLOAD_PREFIX)
    const name = nameOfId(id.slice(isDownload ? DOWNLOAD_PREFIX.length : 0))
    const state = await this.#readState(response, name)
    if (state === 'rejected') return
    if (state === undefined) return sendError(response, 404, 'The workspace has no state')
    if (isDownload) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(state)
      return
    }
    const url = `${this.#address()}${BASE_PATH}workspaces/${DOWNLOAD_PREFIX}${idOfName(name)}`
    const attributes = { status: 'finalized', 'hosted-state-download-url': url }
    sendJson(response, { data: { id: `sv-${idOfName(name)}`, type: 'state-versions', attributes } })
  }

  /** Reads the outputs of a workspace; an answer that they are not shared is passed on. */
  async #readState(
    response: ServerResponse,
    name: string,
  ): Promise<Buffer | undefined | 'rejected'> {
    const path = `/remote-states/${encodeURIComponent(name)}`
    try {
      return await this.#input.client.send({ method: 'GET', path })
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== PHASE_REJECTED) throw thrown
      sendError(response, 403, detailOf(thrown.message))
      return 'rejected'
    }
  }
}

const BASE_PATH = '/api/v2/'
const DOWNLOAD_PREFIX = 'state-of-'
const READ_ONLY = 'The token of a run reads only the outputs of workspaces that share them'

/** Undefined if a part is not a valid encoding. */
function decodePath(path: string): readonly string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function idOfName(name: string): string {
  return `ws-${Buffer.from(name, 'utf8').toString('hex')}`
}

function nameOfId(id: string): string {
  return Buffer.from(id.replace(/^ws-/, ''), 'hex').toString('utf8')
}

/** The tool stores states only where the organization has state storage. */
function entitlements(organization: string): object {
  const attributes = { operations: false, 'state-storage': true }
  return { data: { id: organization, type: 'entitlement-sets', attributes } }
}

/** Returns the detail of a rejection, whose text ends with the document of the server. */
function detailOf(message: string): string {
  return /"detail":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message
}

function send(response: ServerResponse, status: number, body = ''): void {
  response.writeHead(status, TOOL_RESPONSE_HEADERS)
  response.end(body)
}

function sendJson(response: ServerResponse, document: object): void {
  send(response, 200, JSON.stringify(document))
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'bad request',
  403: 'forbidden',
  404: 'not found',
  502: 'bad gateway',
}

function sendError(response: ServerResponse, status: number, detail: string): void {
  // A response that has begun can only be broken off.
  if (response.headersSent) return void response.destroy()
  const title = TITLES[status]
  send(response, status, JSON.stringify({ errors: [{ status: String(status), title, detail }] }))
}
