import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { env, kill } from 'node:process'
import { errorCode } from '../../agent/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { RegistryAuth } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import { foreignText, member, parsed, textAt } from './engine.ts'

interface LoginSources {
  /** A file with logins by registry, in the form that the engine's own client writes; or none. */
  readonly authFile: string | undefined
  /** `docker-credential-<name>`; empty: none. */
  readonly helper: string
  readonly helperMsMax?: number
}

/** A login that the operator left on the node for this registry: the file's, then the helper's. */
export async function findLogin(
  registry: string,
  sources: LoginSources,
): Promise<RegistryAuth | undefined> {
  const { authFile, helper, helperMsMax = DOCKER_LIMITS.helperMsMax } = sources
  const ask: Ask = (name) => askHelper(name, registry, helperMsMax)
  if (authFile !== undefined) {
    const text = await readFile(authFile, 'utf8').catch((thrown: unknown) => {
      throw new Fault('task-start', `cannot read the logins of registries: ${errorMessage(thrown)}`)
    })
    const file = parsed(text)
    if (file === undefined) {
      throw new Fault(
        'task-start',
        'the file with the logins of registries (auth.config) is not JSON',
      )
    }
    const found = await loginOfFile(file, registry, ask)
    if (found !== undefined) return found
  }
  return helper === '' ? undefined : ask(helper)
}

type Ask = (helper: string) => Promise<RegistryAuth | undefined>

/** A helper for this registry comes first, then the one for all, then the file's own logins. */
async function loginOfFile(
  file: unknown,
  registry: string,
  ask: Ask,
): Promise<RegistryAuth | undefined> {
  const own = namesOf(registry)
    .map((name) => textAt(file, 'credHelpers', name))
    .find((helper) => helper !== '')
  const helper = own ?? textAt(file, 'credsStore')
  const asked = helper === '' ? undefined : await ask(helper)
  return asked ?? findAuth(file, registry)
}

const HUB = 'docker.io'
const HUB_SERVER = 'https://index.docker.io/v1/'

/** How files and helpers may call a registry. */
function namesOf(registry: string): readonly string[] {
  const hub = registry === HUB ? [HUB_SERVER, 'index.docker.io', 'registry-1.docker.io'] : []
  return [registry, `https://${registry}`, ...hub]
}

/** `{"auths": {"registry": {"auth": base64 of "name:password"}}}` */
export function findAuth(file: unknown, registry: string): RegistryAuth | undefined {
  const auths: [string, unknown][] = Object.entries(member(file, 'auths') ?? {})
  const names = namesOf(registry)
  const exact = names.flatMap((name) => auths.filter(([key]) => key === name))
  const hosts = new Set(names.map(hostOf))
  const near = auths.filter(([key]) => hosts.has(hostOf(key)))
  for (const [name, entry] of [...exact, ...near]) {
    const login = loginOf(entry, name)
    if (login !== undefined) return login
  }
  return undefined
}

/** `registry.test:5000` of `https://registry.test:5000/v2/`. */
function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')
}

function loginOf(entry: unknown, serverAddress: string): RegistryAuth | undefined {
  const identityToken = textAt(entry, 'identitytoken')
  const base = { email: textAt(entry, 'email'), serverAddress, identityToken }
  const pair = Buffer.from(textAt(entry, 'auth'), 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon >= 0) {
    // Some clients fill the pair up with NUL.
    const password = pair.slice(colon + 1).replace(/\0+$/, '')
    return { ...base, username: pair.slice(0, colon), password }
  }
  const [username, password] = [textAt(entry, 'username'), textAt(entry, 'password')]
  return username === '' && identityToken === '' ? undefined : { ...base, username, password }
}

/** What helpers print when they know no login; they end with 1 then. */
const NOT_FOUND = /credentials not found|no credentials server URL|no credentials username/i

/** What the helper gives as the user when the secret is a token for the registry itself. */
const TOKEN_USER = '<token>'

/**
 * Asks `docker-credential-<name> get` by the protocol of the engine's own client: the server on
 * stdin, JSON on stdout.
 */
async function askHelper(
  name: string,
  registry: string,
  msMax: number,
): Promise<RegistryAuth | undefined> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw new Fault('task-start', `${JSON.stringify(name)} is not the name of a credential helper`)
  }
  const program = `docker-credential-${name}`
  const server = registry === HUB ? HUB_SERVER : registry
  const { code, text } = await runHelper(program, server, msMax)
  if (code !== 0) {
    if (NOT_FOUND.test(text)) return undefined
    throw new Fault('task-start', `${program} has no login for ${server}: ${foreignText(text)}`)
  }
  const answer = parsed(text)
  const [username, secret] = [textAt(answer, 'Username'), textAt(answer, 'Secret')]
  if (secret === '') {
    throw new Fault('task-start', `${program} printed no login for ${server}`)
  }
  const base = { email: '', serverAddress: server }
  return username === TOKEN_USER
    ? { ...base, username: '', password: '', identityToken: secret }
    : { ...base, username, password: secret, identityToken: '' }
}

/** Bounded in time and output: it is a program of the operator, but not one of ours. */
async function runHelper(
  program: string,
  server: string,
  msMax: number,
): Promise<{ readonly code: unknown; readonly text: string }> {
  // A group of its own: a helper that is a script may have children that go on writing.
  const child = spawn(program, ['get'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: helperEnvironment(),
    detached: true,
  })
  let text = ''
  let excess = ''
  const end = (why: string): void => {
    excess ||= why
    endGroup(child.pid)
    child.stdout.destroy()
  }
  const timer = setTimeout(() => end(`did not answer within ${msMax / 1_000} s`), msMax)
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    const { helperBytesMax } = DOCKER_LIMITS
    if (text.length > helperBytesMax) end(`printed more than ${helperBytesMax} bytes`)
  })
  // It may end without reading what it was asked.
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${server}\n`)
  try {
    const [code]: unknown[] = await once(child, 'close')
    if (excess === '') return { code, text }
  } catch (thrown) {
    throw new Fault('task-start', `${program} cannot be run: ${errorMessage(thrown)}`, {
      cause: thrown,
    })
  } finally {
    clearTimeout(timer)
  }
  throw new Fault('task-start', `${program} ${excess}`)
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    kill(-pid, 'SIGKILL')
  } catch (thrown) {
    // It has ended meanwhile.
    if (errorCode(thrown) !== 'ESRCH') throw thrown
  }
}

/** Helpers find their own settings there; the secrets of the agent are not among them. */
function helperEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('REEVE_')))
}

/** Engines decode it with padding: Go's `URLEncoding`, not `RawURLEncoding`. */
export function authHeader(auth: RegistryAuth, registry: string): string {
  const { username, password, email, serverAddress, identityToken } = auth
  const body = {
    username,
    password,
    email,
    serveraddress: serverAddress || registry,
    ...(identityToken === '' ? {} : { identitytoken: identityToken }),
  }
  const text = Buffer.from(JSON.stringify(body)).toString('base64')
  return text.replaceAll('+', '-').replaceAll('/', '_')
}
