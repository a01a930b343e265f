import { spawn } from 'node:child_process'
import { lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, messageOf } from '../../kit/fault.ts'
import { MINIMAL_ENV } from './compression.ts'
import { redactAddress, type ArtifactSource } from './source.ts'

interface GitFetch {
  readonly source: ArtifactSource
  /** A directory that is not there yet. */
  readonly path: string
  /** For what the program needs beside. */
  readonly scratch: string
  readonly allowsFiles: boolean
  readonly insecure: boolean
  readonly signal: AbortSignal
}

/**
 * Clones with the machine's own program. It reads no configuration of anybody, asks nobody, runs no
 * hook, and speaks only the protocols of a network.
 */
export async function fetchGit(fetch: GitFetch): Promise<void> {
  const { source, path, allowsFiles, insecure } = fetch
  const { ref = '', depth = '' } = source.options
  if (ref.startsWith('-') || source.address.startsWith('-') || !/^\d{0,9}$/.test(depth)) {
    throw new Fault('task-artifact', 'the options of the git source are not valid')
  }
  const env = {
    ...MINIMAL_ENV,
    HOME: fetch.scratch,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: ['https', 'http', 'ssh', 'git', ...(allowsFiles ? ['file'] : [])].join(':'),
    ...(await sshSettings(fetch)),
  }
  const settings = ['-c', 'core.hooksPath=/dev/null', '-c', `http.sslVerify=${String(!insecure)}`]
  const isShallow = depth !== '' && depth !== '0'
  const clone = ['clone', '--quiet', ...(isShallow ? ['--depth', depth] : [])]
  // A commit by its digits has no branch to clone, so it is looked for afterwards.
  const branch = ref !== '' && isShallow ? ['--branch', ref] : []
  const run = async (args: readonly string[]): Promise<void> => {
    const complaint = await runGit([...settings, ...args], { env, signal: fetch.signal })
    if (complaint === undefined) return
    const address = redactAddress(source.address)
    throw new Fault('task-artifact', `git cannot fetch ${address}: ${complaint}`)
  }
  await run([...clone, ...branch, '--', source.address, path])
  if (ref !== '' && !isShallow) await run(['-C', path, 'checkout', '--quiet', ref, '--'])
  const hasModules = await lstat(join(path, '.gitmodules')).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!hasModules) return
  const shallow = isShallow ? ['--depth', depth] : []
  await run(['-C', path, 'submodule', ...UPDATE_MODULES, ...shallow])
}

/** Checked out whatever else the repository asks for: its own settings could name a command. */
const UPDATE_MODULES = ['update', '--quiet', '--init', '--recursive', '--checkout']

async function sshSettings({ source, scratch }: GitFetch): Promise<Record<string, string>> {
  const key = source.options['sshkey']
  if (key === undefined) return {}
  const path = join(scratch, 'key')
  await writeFile(path, Buffer.from(key, 'base64'), { mode: 0o600, flag: 'wx' })
  const quoted = `'${path.replaceAll("'", "'\\''")}'`
  const options = '-o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no'
  return {
    GIT_SSH_COMMAND: `ssh -F /dev/null -i ${quoted} ${options} -o UserKnownHostsFile=/dev/null`,
  }
}

/** What the program complained of; undefined when it did its work. */
async function runGit(
  args: readonly string[],
  options: { readonly env: Record<string, string>; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  // A group of its own, so that what it starts ends with it.
  const child = spawn('git', args, {
    env: options.env,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  if (options.signal.aborted) kill()
  options.signal.addEventListener('abort', kill, { once: true })
  let complaint = ''
  child.stderr.on('data', (piece: Buffer) => {
    if (complaint.length < 2_048) complaint += piece.toString('utf8')
  })
  child.on('error', (thrown) => resolve(messageOf(thrown)))
  child.on('close', (code) => resolve(code === 0 ? undefined : complaint.trim().slice(0, 2_048)))
  return promise.finally(() => options.signal.removeEventListener('abort', kill))
}
