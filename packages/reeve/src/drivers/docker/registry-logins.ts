import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { env, kill } from 'node:process'
import { errorCode } from '../../agent/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { RegistryAuth } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-policy.ts'
import { sanitizeExternalText, getPath, tryParseJson, stringAt } from './engine-client.ts'

interface LoginSources {
  /** A file with logins by registry, in the form that the engine's own client writes; or none. */
  readonly authFile: string | undefined
  /** `docker-credential-<name>`; empty: none. */
  readonly helper: string
  readonly helperTimeoutMs?: number
}

/** A login that the operator left on the node for this registry: the file's, then the helper's. */
export async function findLogin(
  registry: string,
  sources: LoginSources,
): Promise<RegistryAuth | undefined> {
  const { authFile, helper, helperTimeoutMs = DOCKER_LIMITS.credentialHelperTimeoutMs } = sources
  const queryHelper: RunHelper = (name) => queryCredentialHelper(name, registry, helperTimeoutMs)
  if (authFile !== undefined) {
    const text = await readFile(authFile, 'utf8').catch((thrown: unknown) => {
      throw new Fault('task-start', `cannot read the logins of registries: ${errorMessage(thrown)}`)
    })
    const file = tryParseJson(text)
    if (file === undefined) {
      throw new Fault(
        'task-start',
        'the file with the logins of registries (auth.config) is not JSON',
      )
    }
    const found = await findLoginInFile(file, registry, queryHelper)
    if (found !== undefined) return found
  }
  return helper === '' ? undefined : queryHelper(helper)
}

type RunHelper = (helper: string) => Promise<RegistryAuth | undefined>

/** A helper for this registry comes first, then the one for all, then the file's own logins. */
async function findLoginInFile(
  file: unknown,
  registry: string,
  queryHelper: RunHelper,
): Promise<RegistryAuth | undefined> {
  const registryHelper = registryAliases(registry)
    .map((name) => stringAt(file, 'credHelpers', name))
    .find((helper) => helper !== '')
  const helper = registryHelper ?? stringAt(file, 'credsStore')
  const helperLogin = helper === '' ? undefined : await queryHelper(helper)
  return helperLogin ?? findStoredAuth(file, registry)
}

const DOCKER_HUB = 'docker.io'
const DOCKER_HUB_SERVER = 'https://index.docker.io/v1/'

/** How files and helpers may call a registry. */
function registryAliases(registry: string): readonly string[] {
  const hubAliases =
    registry === DOCKER_HUB ? [DOCKER_HUB_SERVER, 'index.docker.io', 'registry-1.docker.io'] : []
  return [registry, `https://${registry}`, ...hubAliases]
}

/** `{"auths": {"registry": {"auth": base64 of "name:password"}}}` */
export function findStoredAuth(file: unknown, registry: string): RegistryAuth | undefined {
  const auths: [string, unknown][] = Object.entries(getPath(file, 'auths') ?? {})
  const names = registryAliases(registry)
  const exact = names.flatMap((name) => auths.filter(([key]) => key === name))
  const hosts = new Set(names.map(registryHostOf))
  const sameHost = auths.filter(([key]) => hosts.has(registryHostOf(key)))
  for (const [name, entry] of [...exact, ...sameHost]) {
    const login = parseLogin(entry, name)
    if (login !== undefined) return login
  }
  return undefined
}

/** `registry.test:5000` of `https://registry.test:5000/v2/`. */
function registryHostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')
}

function parseLogin(entry: unknown, serverAddress: string): RegistryAuth | undefined {
  const identityToken = stringAt(entry, 'identitytoken')
  const base = { email: stringAt(entry, 'email'), serverAddress, identityToken }
  const pair = Buffer.from(stringAt(entry, 'auth'), 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon >= 0) {
    // Some clients fill the pair up with NUL.
    const password = pair.slice(colon + 1).replace(/\0+$/, '')
    return { ...base, username: pair.slice(0, colon), password }
  }
  const [username, password] = [stringAt(entry, 'username'), stringAt(entry, 'password')]
  return username === '' && identityToken === '' ? undefined : { ...base, username, password }
}

/** What helpers print when they know no login; they end with 1 then. */
const NO_CREDENTIALS_MESSAGE =
  /credentials not found|no credentials server URL|no credentials username/i

/** What the helper gives as the user when the secret is a token for the registry itself. */
const TOKEN_USER = '<token>'

/**
 * Asks `docker-credential-<name> get` by the protocol of the engine's own client: the server on
 * stdin, JSON on stdout.
 */
async function queryCredentialHelper(
  name: string,
  registry: string,
  timeoutMs: number,
): Promise<RegistryAuth | undefined> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw new Fault('task-start', `${JSON.stringify(name)} is not the name of a credential helper`)
  }
  const program = `docker-credential-${name}`
  const server = registry === DOCKER_HUB ? DOCKER_HUB_SERVER : registry
  const { code, output } = await runHelper(program, server, timeoutMs)
  if (code !== 0) {
    if (NO_CREDENTIALS_MESSAGE.test(output)) return undefined
    throw new Fault(
      'task-start',
      `${program} has no login for ${server}: ${sanitizeExternalText(output)}`,
    )
  }
  const credentials = tryParseJson(output)
  const [username, secret] = [stringAt(credentials, 'Username'), stringAt(credentials, 'Secret')]
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
  timeoutMs: number,
): Promise<{ readonly code: unknown; readonly output: string }> {
  // A group of its own: a helper that is a script may have children that go on writing.
  const child = spawn(program, ['get'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: helperEnvironment(),
    detached: true,
  })
  let output = ''
  let limitProblem = ''
  const stopHelper = (reason: string): void => {
    limitProblem ||= reason
    killProcessGroup(child.pid)
    child.stdout.destroy()
  }
  const timer = setTimeout(
    () => stopHelper(`did not answer within ${timeoutMs / 1_000} s`),
    timeoutMs,
  )
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece
    const { credentialHelperOutputBytesMax } = DOCKER_LIMITS
    if (output.length > credentialHelperOutputBytesMax)
      stopHelper(`printed more than ${credentialHelperOutputBytesMax} bytes`)
  })
  // It may end without reading what it was asked.
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${server}\n`)
  try {
    const [code]: unknown[] = await once(child, 'close')
    if (limitProblem === '') return { code, output }
  } catch (thrown) {
    throw new Fault('task-start', `${program} cannot be run: ${errorMessage(thrown)}`, {
      cause: thrown,
    })
  } finally {
    clearTimeout(timer)
  }
  throw new Fault('task-start', `${program} ${limitProblem}`)
}

function killProcessGroup(pid: number | undefined): void {
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
export function registryAuthHeader(auth: RegistryAuth, registry: string): string {
  const { username, password, email, serverAddress, identityToken } = auth
  const body = {
    username,
    password,
    email,
    serveraddress: serverAddress || registry,
    ...(identityToken === '' ? {} : { identitytoken: identityToken }),
  }
  const base64 = Buffer.from(JSON.stringify(body)).toString('base64')
  return base64.replaceAll('+', '-').replaceAll('/', '_')
}
