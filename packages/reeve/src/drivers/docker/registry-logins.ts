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
  /** File with registry logins in the format of the Docker client; undefined for none. */
  readonly authFile: string | undefined
  /** Suffix of `docker-credential-<name>`; empty for none. */
  readonly helper: string
  readonly helperTimeoutMs?: number
}

/**
 * Finds a login that is configured on the node for this registry: first in the file, then with the
 * helper.
 */
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

/** The order is: a helper for this registry, the helper for all, logins in the file itself. */
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

/** Names of a registry in files and helpers. */
function registryAliases(registry: string): readonly string[] {
  const hubAliases =
    registry === DOCKER_HUB ? [DOCKER_HUB_SERVER, 'index.docker.io', 'registry-1.docker.io'] : []
  return [registry, `https://${registry}`, ...hubAliases]
}

/** Reads `{"auths": {"registry": {"auth": base64 of "name:password"}}}`. */
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

/** Returns the host of an address: `registry.test:5000` for `https://registry.test:5000/v2/`. */
function registryHostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')
}

function parseLogin(entry: unknown, serverAddress: string): RegistryAuth | undefined {
  const identityToken = stringAt(entry, 'identitytoken')
  const base = { email: stringAt(entry, 'email'), serverAddress, identityToken }
  const pair = Buffer.from(stringAt(entry, 'auth'), 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon >= 0) {
    // Some clients pad the pair with NUL.
    const password = pair.slice(colon + 1).replace(/\0+$/, '')
    return { ...base, username: pair.slice(0, colon), password }
  }
  const [username, password] = [stringAt(entry, 'username'), stringAt(entry, 'password')]
  return username === '' && identityToken === '' ? undefined : { ...base, username, password }
}

/** Output of helpers that have no login; their exit code is 1 then. */
const NO_CREDENTIALS_MESSAGE =
  /credentials not found|no credentials server URL|no credentials username/i

/** User name of helpers whose secret is an identity token. */
const TOKEN_USER = '<token>'

/**
 * Runs `docker-credential-<name> get` with the protocol of the Docker client: the server on stdin,
 * JSON on stdout.
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

/** Runs the helper, a program of the operator, with a timeout and an output limit. */
async function runHelper(
  program: string,
  server: string,
  timeoutMs: number,
): Promise<{ readonly code: unknown; readonly output: string }> {
  // A separate process group: a helper script may have children that continue to write.
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
  // The helper may exit without reading its input.
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

/** Environment of helpers: their own settings, but no secrets of the agent. */
function helperEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('REEVE_')))
}

/**
 * Encodes the login with padding, as engines expect (`URLEncoding` of Go, not `RawURLEncoding`).
 */
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
