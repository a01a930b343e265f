import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { constants } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import type { Duplex } from 'node:stream'
import {
  endGroup,
  ended,
  framed,
  head,
  noContainer,
  note,
  numberOf,
  readBody,
  send,
  type Container,
  type CreateBody,
} from './fake-container.ts'

/** In what the engines that speak this API differ. */
export interface EngineDialect {
  readonly name: 'docker' | 'podman'
  readonly resizeStatus: number
  readonly notRunningStatus: number
}

export const DOCKER: EngineDialect = { name: 'docker', resizeStatus: 200, notRunningStatus: 409 }
export const PODMAN: EngineDialect = { name: 'podman', resizeStatus: 201, notRunningStatus: 500 }

interface Exec {
  readonly container: Container
  readonly cmd: readonly string[]
  readonly tty: boolean
  child: ChildProcess | undefined
  exitCode: number | undefined
}

/**
 * A container engine for tests: answers the Engine API as the real ones were recorded to, and runs
 * the command of a container as a plain process group.
 */
export class FakeEngine {
  readonly socketPath: string
  readonly dialect: EngineDialect
  /** Every request as `METHOD /path`, and what was sent with it. */
  readonly requests: { readonly line: string; readonly body: unknown; readonly auth: string }[] = []
  /** Images that are there. */
  readonly images = new Set(['box:1'])
  /** What the registry answers, by image; absent ones are not found. */
  readonly registry = new Map<string, readonly object[]>()
  /** Pulls send their lines, and wait for this before they end. */
  pullsEnd: Promise<void> = Promise.resolve()
  /** Pulls whose caller left before their end. */
  cutPulls = 0
  /** What images ask for; the engine's default where they ask for none. */
  stopSignal = 'SIGTERM'
  /** The signals of `kill`, in order. */
  readonly signals: string[] = []
  readonly sizes: string[] = []
  readonly #containers = new Map<string, Container>()
  readonly #execs = new Map<string, Exec>()
  #ids = 0
  #server: Server | undefined

  /** To be closed by the test, after all that talks to it. */
  static async open(dir: string, dialect: EngineDialect = DOCKER): Promise<FakeEngine> {
    const engine = new FakeEngine(join(dir, 'engine.sock'), dialect)
    const server = createServer((request, response) => void engine.#answer(request, response))
    server.on('upgrade', (request, socket, first) => {
      socket.unshift(first)
      void engine.#upgrade(request, socket)
    })
    server.listen(engine.socketPath)
    await new Promise<void>((resolve) => server.once('listening', resolve))
    engine.#server = server
    return engine
  }

  constructor(socketPath: string, dialect: EngineDialect) {
    this.socketPath = socketPath
    this.dialect = dialect
  }

  close(): void {
    for (const container of this.#containers.values()) endGroup(container.child)
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  /** The bodies of `create`, in order. */
  get created(): readonly CreateBody[] {
    return [...this.#containers.values()].map((container) => container.spec)
  }

  get containerCount(): number {
    return this.#containers.size
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://engine')
    const path = url.pathname.replace(/^\/v1\.\d+/, '')
    const line = `${request.method ?? ''} ${path}`
    const body = await readBody(request)
    this.requests.push({ line, body, auth: String(request.headers['x-registry-auth'] ?? '') })
    const route = ROUTES.find(({ method, pattern }) => {
      return method === request.method && pattern.test(path)
    })
    const id = decodeURIComponent(route?.pattern.exec(path)?.[1] ?? '')
    if (route === undefined) return send(response, 404, { message: `page not found: ${line}` })
    return route.run(this, { id, url, body, response, auth: this.requests.at(-1)?.auth ?? '' })
  }

  info(response: ServerResponse): void {
    send(response, 200, { OSType: 'linux', Runtimes: { runc: {}, crun: {} } })
  }

  version(response: ServerResponse): void {
    const Name = this.dialect.name === 'podman' ? 'Podman Engine' : 'Engine'
    send(response, 200, { Version: '1.2.3', Components: [{ Name }] })
  }

  image(name: string, response: ServerResponse): void {
    if (this.images.has(name)) send(response, 200, { Id: `sha256:${name}`, RepoTags: [name] })
    else send(response, 404, { message: `No such image: ${name}` })
  }

  removeImage(name: string, response: ServerResponse): void {
    const isUsed = [...this.#containers.values()].some(({ spec }) => spec.Image === name)
    if (isUsed) return send(response, 409, { message: `image ${name} is in use` })
    if (!this.images.delete(name)) return send(response, 404, { message: `No such image: ${name}` })
    send(response, 200, [{ Untagged: name }])
  }

  /** Engines decode the login with padding, and refuse one that they cannot decode. */
  static decodeLogin(header: string): unknown {
    const isWhole = header.length % 4 === 0 && /^[A-Za-z0-9_-]*={0,2}$/.test(header)
    return isWhole ? JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) : undefined
  }

  async pull(url: URL, auth: string, response: ServerResponse): Promise<void> {
    if (auth !== '' && FakeEngine.decodeLogin(auth) === undefined) {
      return send(response, 400, { message: 'failed to parse "X-Registry-Auth": unexpected EOF' })
    }
    const tag = url.searchParams.get('tag')
    const name = `${url.searchParams.get('fromImage') ?? ''}${tag === null ? '' : `:${tag}`}`
    const lines = this.registry.get(name)
    if (lines === undefined) return send(response, 404, { message: `manifest for ${name} unknown` })
    response.writeHead(200, { 'Content-Type': 'application/json' })
    for (const line of lines) response.write(`${JSON.stringify(line)}\r\n`)
    response.once('close', () => (this.cutPulls += response.writableEnded ? 0 : 1))
    await this.pullsEnd
    if (!lines.some((line) => 'error' in line)) this.images.add(name)
    response.end()
  }

  create(url: URL, body: unknown, response: ServerResponse): void {
    const name = url.searchParams.get('name') ?? ''
    if ([...this.#containers.values()].some((one) => one.name === name)) {
      return send(response, 409, { message: `The container name ${name} is already in use` })
    }
    // The driver under test sends what this interface says.
    const spec = body as CreateBody
    if (!this.images.has(spec.Image ?? '')) {
      return send(response, 404, { message: `No such image: ${spec.Image ?? ''}` })
    }
    this.#ids += 1
    const id = `c${this.#ids}`.padEnd(12, '0')
    this.#containers.set(id, {
      id,
      name,
      spec,
      status: 'created',
      exitCode: 0,
      finishedAt: '0001-01-01T00:00:00Z',
      child: undefined,
      log: [],
      changed: new Set(),
      execs: new Set(),
    })
    send(response, 201, { Id: id, Warnings: [] })
  }

  list(url: URL, response: ServerResponse): void {
    const filters: unknown = JSON.parse(url.searchParams.get('filters') ?? '{}')
    // A list of texts, as the driver under test sends it.
    const labels = (Reflect.get(Object(filters), 'label') ?? []) as readonly string[]
    const found = [...this.#containers.values()].filter(({ spec }) => {
      return labels.every((label) => {
        const [key = '', value] = label.split('=')
        return spec.Labels?.[key] === value
      })
    })
    send(
      response,
      200,
      found.map(({ id, status, spec }) => ({
        Id: id,
        State: status,
        Labels: spec.Labels,
        ImageID: `sha256:${spec.Image ?? ''}`,
        Created: 1_000,
      })),
    )
  }

  start(id: string, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    const [program = '', ...args] = container.spec.Cmd ?? []
    if (program === 'no-such-command') {
      const message = `exec: "${program}": executable file not found in $PATH`
      return send(response, 400, { message })
    }
    if (container.spec.User === 'no-such-user') {
      return send(response, 500, { message: 'unable to find user no-such-user' })
    }
    const env = Object.fromEntries(
      (container.spec.Env ?? []).map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at), pair.slice(at + 1)]
      }),
    )
    const uid = Number.parseInt(container.spec.User ?? '', 10)
    const user = Number.isNaN(uid) ? {} : { uid, gid: uid }
    const child = spawn(program, args, { env, detached: true, cwd: '/', ...user })
    container.child = child
    container.status = 'running'
    child.stdin.end()
    child.stdout.on('data', (bytes: Buffer) => note(container, 1, bytes))
    child.stderr.on('data', (bytes: Buffer) => note(container, 2, bytes))
    child.once('close', (code, signal) => ended(container, code, signal))
    // What a container leaves running ends with its first process.
    child.once('exit', () => endGroup(child))
    child.once('exit', () => container.execs.forEach(endGroup))
    response.writeHead(204).end()
  }

  inspect(id: string, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    const { status, exitCode, finishedAt } = container
    send(response, 200, {
      Id: id,
      Config: { StopSignal: this.stopSignal },
      State: {
        Status: status,
        Running: status === 'running',
        ExitCode: exitCode,
        OOMKilled: false,
        Error: '',
        FinishedAt: finishedAt,
      },
      NetworkSettings: {
        Networks: { bridge: { IPAddress: '172.17.0.9', GlobalIPv6Address: 'fd00::9' } },
      },
    })
  }

  wait(id: string, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    const look = (): void => {
      if (container.status === 'running') return
      container.changed.delete(look)
      send(response, 200, { StatusCode: container.exitCode })
    }
    container.changed.add(look)
    look()
  }

  kill(id: string, url: URL, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    const pid = container.child?.pid
    if (container.status !== 'running' || pid === undefined) {
      const message = `Container ${id} is not running`
      return send(response, this.dialect.notRunningStatus, { message })
    }
    const name = url.searchParams.get('signal') ?? 'SIGKILL'
    this.signals.push(name)
    const signal = Object.entries(constants.signals).find(([known, number]) => {
      return known === name || String(number) === name
    })?.[1]
    if (signal === undefined) return send(response, 400, { message: `Invalid signal: ${name}` })
    // The first process of a container ignores what it has no handler for, all others die with it.
    if (signal === constants.signals.SIGKILL) endGroup(container.child)
    else kill(pid, signal)
    response.writeHead(204).end()
  }

  remove(id: string, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    endGroup(container.child)
    this.#containers.delete(id)
    response.writeHead(204).end()
  }

  logs(id: string, url: URL, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    const [seconds = '0', fraction = '0'] = (url.searchParams.get('since') ?? '0').split('.')
    const sinceNs = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
    const follows = url.searchParams.get('follow') === '1'
    response.writeHead(200)
    response.flushHeaders()
    let next = 0
    const give = (): void => {
      for (; next < container.log.length; next += 1) {
        const entry = container.log[next]
        if (entry !== undefined && entry.atNs >= sinceNs) response.write(framed(entry))
      }
      if (follows && container.status === 'running') return
      container.changed.delete(give)
      response.end()
    }
    container.changed.add(give)
    response.once('close', () => container.changed.delete(give))
    give()
  }

  stats(response: ServerResponse): void {
    send(response, 200, {
      cpu_stats: { cpu_usage: { total_usage: 50_000_000, usage_in_usermode: 30_000_000 } },
      memory_stats: { usage: 2_000_000 },
      pids_stats: { current: 2 },
    })
  }

  createExec(id: string, body: unknown, response: ServerResponse): void {
    const container = this.#containers.get(id)
    if (container === undefined) return noContainer(id, response)
    if (container.status !== 'running') {
      const message = `Container ${id} is not running`
      return send(response, this.dialect.notRunningStatus, { message })
    }
    this.#ids += 1
    const execId = `e${this.#ids}`
    // The driver under test sends what the API asks for.
    const { Cmd, Tty } = body as { readonly Cmd: readonly string[]; readonly Tty: boolean }
    this.#execs.set(execId, {
      container,
      cmd: Cmd,
      tty: Tty,
      child: undefined,
      exitCode: undefined,
    })
    send(response, 201, { Id: execId })
  }

  inspectExec(id: string, response: ServerResponse): void {
    const exec = this.#execs.get(id)
    if (exec === undefined) return send(response, 404, { message: `no exec ${id}` })
    const { child, exitCode } = exec
    const Running = exitCode === undefined
    send(response, 200, { ID: id, Running, ExitCode: exitCode ?? null, Pid: child?.pid ?? 0 })
  }

  resize(id: string, url: URL, response: ServerResponse): void {
    if (!this.#execs.has(id)) return send(response, 404, { message: `no exec ${id}` })
    const { searchParams } = url
    this.sizes.push(`${searchParams.get('h') ?? ''}x${searchParams.get('w') ?? ''}`)
    response.writeHead(this.dialect.resizeStatus).end()
  }

  async #upgrade(request: IncomingMessage, socket: Duplex): Promise<void> {
    const id = /\/exec\/([^/]+)\/start$/.exec(request.url ?? '')?.[1] ?? ''
    const exec = this.#execs.get(id)
    if (exec === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
      return
    }
    // The first raw bytes are those behind the body.
    await readBody(request)
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    this.#runExec(exec, socket)
  }

  #runExec(exec: Exec, socket: Duplex): void {
    const [program = '', ...args] = exec.cmd
    const env = Object.fromEntries(
      // The driver under test gives each variable a value.
      (exec.container.spec.Env ?? []).map((pair) => pair.split('=', 2) as [string, string]),
    )
    const child = spawn(program, args, { env, detached: true, cwd: '/' })
    exec.child = child
    exec.container.execs.add(child)
    child.once('error', () => {
      exec.exitCode = 127
      socket.end()
    })
    child.stdin.on('error', () => undefined)
    socket.on('error', () => undefined)
    socket.pipe(child.stdin)
    const give = (stream: 1 | 2) => (bytes: Buffer) => {
      if (!socket.writable) return
      const whole = exec.tty ? bytes : Buffer.concat([head(stream, bytes.length), bytes])
      if (!socket.write(whole)) {
        child.stdout.pause()
        socket.once('drain', () => child.stdout.resume())
      }
    }
    child.stdout.on('data', give(1))
    child.stderr.on('data', give(2))
    child.once('close', (code, signal) => {
      exec.exitCode ??= code ?? 128 + numberOf(signal)
      exec.container.execs.delete(child)
      socket.end()
    })
  }
}

interface RouteInput {
  readonly id: string
  readonly url: URL
  readonly body: unknown
  readonly response: ServerResponse
  readonly auth: string
}

interface Route {
  readonly method: string
  readonly pattern: RegExp
  run(engine: FakeEngine, input: RouteInput): void | Promise<void>
}

const route = (method: string, pattern: RegExp, run: Route['run']): Route => ({
  method,
  pattern,
  run,
})

const ROUTES: readonly Route[] = [
  route('GET', /^\/version$/, (engine, { response }) => engine.version(response)),
  route('GET', /^\/info$/, (engine, { response }) => engine.info(response)),
  route('GET', /^\/networks\/bridge$/, (_, { response }) => {
    send(response, 200, { IPAM: { Config: [{ Gateway: '172.17.0.1' }] } })
  }),
  route('GET', /^\/images\/(.+)\/json$/, (engine, { id, response }) => engine.image(id, response)),
  route('DELETE', /^\/images\/(.+)$/, (engine, { id, response }) => {
    engine.removeImage(id, response)
  }),
  route('POST', /^\/images\/create$/, (engine, { url, auth, response }) => {
    return engine.pull(url, auth, response)
  }),
  route('POST', /^\/images\/load$/, (_, { response }) => {
    send(response, 200, { stream: 'Loaded image' })
  }),
  route('POST', /^\/containers\/create$/, (engine, { url, body, response }) => {
    engine.create(url, body, response)
  }),
  route('GET', /^\/containers\/json$/, (engine, { url, response }) => engine.list(url, response)),
  route('POST', /^\/containers\/([^/]+)\/start$/, (engine, { id, response }) => {
    engine.start(id, response)
  }),
  route('GET', /^\/containers\/([^/]+)\/json$/, (engine, { id, response }) => {
    engine.inspect(id, response)
  }),
  route('POST', /^\/containers\/([^/]+)\/wait$/, (engine, { id, response }) => {
    engine.wait(id, response)
  }),
  route('POST', /^\/containers\/([^/]+)\/kill$/, (engine, { id, url, response }) => {
    engine.kill(id, url, response)
  }),
  route('POST', /^\/containers\/([^/]+)\/update$/, (_, { response }) => {
    send(response, 200, { Warnings: [] })
  }),
  route('DELETE', /^\/containers\/([^/]+)$/, (engine, { id, response }) => {
    engine.remove(id, response)
  }),
  route('GET', /^\/containers\/([^/]+)\/logs$/, (engine, { id, url, response }) => {
    engine.logs(id, url, response)
  }),
  route('GET', /^\/containers\/([^/]+)\/stats$/, (engine, { response }) => engine.stats(response)),
  route('POST', /^\/containers\/([^/]+)\/exec$/, (engine, { id, body, response }) => {
    engine.createExec(id, body, response)
  }),
  route('GET', /^\/exec\/([^/]+)\/json$/, (engine, { id, response }) => {
    engine.inspectExec(id, response)
  }),
  route('POST', /^\/exec\/([^/]+)\/resize$/, (engine, { id, url, response }) => {
    engine.resize(id, url, response)
  }),
]
