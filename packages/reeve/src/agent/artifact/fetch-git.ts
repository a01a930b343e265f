import { spawn } from 'node:child_process'
import { access, chmod, constants, lstat, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { directorySize } from '../store/disk-usage.ts'
import type { AddressPolicy } from './address-policy.ts'
import { MINIMAL_ENV } from './compression.ts'
import { tooManyEntriesFault, type DiskBudget } from './disk-budget.ts'
import { openGitProxy, type GitProxy } from './git-proxy.ts'
import { redactAddress, type ArtifactSource } from './source.ts'

interface GitFetchOptions {
  readonly source: ArtifactSource
  /** A directory that does not exist yet, below `scratch`. */
  readonly path: string
  /** The staging directory: everything that git writes is below it. */
  readonly stagingDir: string
  readonly allowsFiles: boolean
  readonly policy: AddressPolicy
  readonly skipsTlsVerification: boolean
  readonly budget: DiskBudget
  /** Where git and ssh are found. */
  readonly searchPath: string
  readonly signal: AbortSignal
}

/**
 * Clones with the git program of the host. Git reads no configuration and no credentials of any
 * user, prompts for nothing, runs no hooks, and only uses network protocols.
 */
export async function fetchGit(fetch: GitFetchOptions): Promise<void> {
  const { ref = '', depth = '' } = fetch.source.options
  if (ref.startsWith('-') || fetch.source.address.startsWith('-') || !/^\d{0,9}$/.test(depth)) {
    throw new Fault('task-artifact', 'the options of the git source are not valid')
  }
  await requireReachable(fetch.stagingDir)
  const proxy = fetch.policy.allowsLocal ? undefined : await openGitProxy(fetch)
  try {
    await cloneRepository(await gitEnvironment(fetch, proxy), fetch)
  } catch (thrown) {
    throw proxy?.rejectedAddressFault() ?? thrown
  } finally {
    proxy?.close()
  }
}

/** Git works with absolute paths, also where its working directory is open to it. */
async function requireReachable(directory: string): Promise<void> {
  await access(resolve(directory), constants.X_OK).catch((thrown: unknown) => {
    const message =
      `the user that artifacts are fetched as cannot reach ${resolve(directory)}; make every ` +
      'directory above the data directory searchable for others (chmod o+x)'
    throw new Fault('task-artifact', message, { cause: thrown })
  })
}

async function cloneRepository(
  env: Readonly<Record<string, string>>,
  fetch: GitFetchOptions,
): Promise<void> {
  const { source, path, skipsTlsVerification } = fetch
  const { ref = '', depth = '' } = source.options
  const settings = [...GIT_SETTINGS, '-c', `http.sslVerify=${String(!skipsTlsVerification)}`]
  const isShallow = depth !== '' && depth !== '0'
  const clone = ['clone', '--quiet', ...(isShallow ? ['--depth', depth] : [])]
  // A commit hash has no branch to clone, so it is checked out afterwards.
  const branch = ref !== '' && isShallow ? ['--branch', ref] : []
  const runGitCommand = async (args: readonly string[]): Promise<void> => {
    const problem = await runGitWithinBudget([...settings, ...args], { env, fetch })
    if (problem === undefined) return
    const address = redactAddress(source.address)
    throw new Fault('task-artifact', `git cannot fetch ${address}: ${problem}`)
  }
  await runGitCommand([...clone, ...branch, '--', source.address, path])
  if (ref !== '' && !isShallow) await runGitCommand(['-C', path, 'checkout', '--quiet', ref, '--'])
  const hasModules = await lstat(join(path, '.gitmodules')).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!hasModules) return
  const shallow = isShallow ? ['--depth', depth] : []
  await runGitCommand(['-C', path, 'submodule', ...SUBMODULE_UPDATE, ...shallow])
}

/** Disables hooks, file system monitors and background maintenance. */
const GIT_SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting])

/** Checked out whatever else the repository configures: its own settings could name a command. */
const SUBMODULE_UPDATE = ['update', '--quiet', '--init', '--recursive', '--checkout']

async function gitEnvironment(
  fetch: GitFetchOptions,
  proxy: GitProxy | undefined,
): Promise<Record<string, string>> {
  const { allowsFiles } = fetch
  const stagingDir = resolve(fetch.stagingDir)
  const home = join(stagingDir, 'home')
  await mkdir(home, { recursive: true, mode: 0o700 })
  const connector = proxy === undefined ? undefined : await writeConnector(fetch)
  return {
    ...MINIMAL_ENV,
    PATH: fetch.searchPath,
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: allowsFiles ? await writeTrustingGitConfig(stagingDir) : '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: ['https', 'http', 'ssh', 'git', ...(allowsFiles ? ['file'] : [])].join(':'),
    // The account has no name, and git writes one into its log of a clone.
    GIT_COMMITTER_NAME: 'reeve',
    GIT_COMMITTER_EMAIL: 'reeve@localhost',
    GIT_SSH_COMMAND: await sshCommand(fetch, connector),
    GIT_SSH_VARIANT: 'ssh',
    ...proxy?.environment,
    ...(connector === undefined ? {} : { GIT_PROXY_COMMAND: connector }),
  }
}

/** Git rejects local repositories of other users, unless they are configured as safe. */
async function writeTrustingGitConfig(stagingDir: string): Promise<string> {
  const path = join(stagingDir, 'gitconfig')
  await writeFile(path, '[safe]\n\tdirectory = *\n', { mode: 0o600 })
  return path
}

/**
 * Only the key of the job is offered: neither keys nor configuration nor agent of any account. The
 * operator verifies hosts by listing them in the system's file of known hosts; a host that is not
 * in it is accepted with any key.
 */
async function sshCommand(
  { source, stagingDir }: GitFetchOptions,
  connector: string | undefined,
): Promise<string> {
  const key = source.options['sshkey']
  const path = join(resolve(stagingDir), 'key')
  if (key !== undefined) {
    await writeFile(path, Buffer.from(key, 'base64'), { mode: 0o600, flag: 'wx' })
  }
  const options = [
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    ...(key === undefined ? ['IdentityFile=none'] : []),
    'BatchMode=yes',
    'StrictHostKeyChecking=accept-new',
    'UserKnownHostsFile=/dev/null',
    'GlobalKnownHostsFile=/etc/ssh/ssh_known_hosts',
    ...(connector === undefined ? [] : [`ProxyCommand=${shellQuote(connector)} %h %p`]),
  ]
  const identity = key === undefined ? [] : ['-i', shellQuote(path)]
  const flags = options.flatMap((option) => ['-o', shellQuote(option)])
  return ['ssh', '-F', '/dev/null', ...identity, ...flags].join(' ')
}

/** Connects for `ssh` and `git://`, which know no HTTP proxy, after the address was checked. */
async function writeConnector({ stagingDir, source }: GitFetchOptions): Promise<string> {
  const path = join(resolve(stagingDir), 'connect')
  const program = fileURLToPath(new URL('./connect-checked.ts', import.meta.url))
  const command = [process.execPath, program, redactAddress(source.address)]
  await writeFile(path, `#!/bin/sh\nexec ${command.map(shellQuote).join(' ')} "$1" "$2"\n`)
  await chmod(path, 0o700)
  return path
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

interface GitCommandContext {
  readonly env: Readonly<Record<string, string>>
  readonly fetch: GitFetchOptions
}

/** Runs git and measures meanwhile what it writes; it is killed when that becomes too much. */
async function runGitWithinBudget(
  args: readonly string[],
  { env, fetch }: GitCommandContext,
): Promise<string | undefined> {
  const stop = new AbortController()
  const finished = new AbortController()
  const signal = AbortSignal.any([fetch.signal, stop.signal])
  const watching = measurePeriodically(fetch, finished.signal).catch((thrown: unknown) => {
    stop.abort()
    throw thrown
  })
  // It may fail before it is awaited.
  watching.catch(() => undefined)
  try {
    const problem = await runGit(args, { env, signal })
    finished.abort()
    await watching
    fetch.signal.throwIfAborted()
    await chargeMeasuredSize(fetch)
    return problem
  } finally {
    finished.abort()
    await watching.catch(() => undefined)
  }
}

/** A look takes longer the more there is; it must not take the processor for itself. */
const MEASURE_INTERVAL_MIN_MS = 100
const MEASURE_PAUSE_FACTOR = 4

async function measurePeriodically(fetch: GitFetchOptions, finished: AbortSignal): Promise<void> {
  while (!finished.aborted) {
    const startedMs = performance.now()
    await chargeMeasuredSize(fetch)
    const tookMs = performance.now() - startedMs
    const waitMs = Math.max(MEASURE_INTERVAL_MIN_MS, tookMs * MEASURE_PAUSE_FACTOR)
    await delay(waitMs, undefined, { signal: finished }).catch(() => undefined)
  }
}

async function chargeMeasuredSize({ stagingDir, budget }: GitFetchOptions): Promise<void> {
  const { bytes, isPartial } = await directorySize(stagingDir, budget.entriesMax)
  if (isPartial) throw tooManyEntriesFault(budget.entriesMax)
  budget.setMeasured(bytes)
}

/** The complaint of the program; undefined when it succeeded. */
async function runGit(
  args: readonly string[],
  { env, signal }: { readonly env: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { promise, resolve: resolveProblem } = Promise.withResolvers<string | undefined>()
  const child = spawn('git', args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  // Its helpers end with the group of this process, which ends after the fetch.
  const kill = (): void => void child.kill('SIGKILL')
  if (signal.aborted) kill()
  signal.addEventListener('abort', kill, { once: true })
  let stderr = ''
  child.stderr.on('data', (piece: Buffer) => {
    if (stderr.length < GIT_STDERR_CHARS_MAX) stderr += piece.toString('utf8')
  })
  child.on('error', (thrown) => resolveProblem(errorMessage(thrown)))
  // Not `close`: a helper that outlives git may hold the pipe.
  child.on('exit', (code) => {
    resolveProblem(code === 0 ? undefined : stderr.trim().slice(0, GIT_STDERR_CHARS_MAX))
  })
  return promise.finally(() => signal.removeEventListener('abort', kill))
}

const GIT_STDERR_CHARS_MAX = 2_048
