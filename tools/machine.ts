/**
 * `node tools/machine.ts`: what tests need of the machine itself, which no npm package can bring.
 * In CI (`CI=true`), as root on Debian, it installs what is missing; on a developer's machine it
 * changes nothing and prints one line for each group of tests that will be skipped.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as path from 'node:path'

/** Changes to the machine during installation; tests use an implementation that records them. */
export interface Machine {
  readonly isLinux: boolean
  readonly isRoot: boolean
  /** Runs in CI, as root on Debian. */
  readonly mayInstall: boolean
  has(program: string): boolean
  /** Returns the error message; undefined on success. */
  apt(args: readonly string[], timeoutMs: number): Promise<string | undefined>
  say(sentence: string): void
}

interface Requirement {
  readonly program: string
  /** The package of Debian that brings it. */
  readonly debian: string
  readonly tests: string
}

const DOCKER = 'the docker driver against a real engine'
const REQUIREMENTS: readonly Requirement[] = [
  { program: 'cc', debian: 'gcc libc6-dev', tests: 'isolation of tasks' },
  { program: 'podman', debian: 'podman', tests: DOCKER },
  { program: 'runc', debian: 'runc', tests: DOCKER },
  // Linked statically, it is the whole image of those tests.
  { program: 'busybox', debian: 'busybox-static', tests: DOCKER },
]

const FETCH_MS_MAX = 90_000
/** Unpacks packages: ended half-way it would leave the machine's packages broken. */
const INSTALL_MS_MAX = 5 * 60_000

const OPTIONS = ['-o', 'DPkg::Lock::Timeout=20', '-o', 'Acquire::Retries=1']
const INSTALL = [...OPTIONS, 'install', '-y', '--no-install-recommends']

export async function prepareMachine(machine: Machine): Promise<void> {
  if (!machine.isLinux) return
  const missing = REQUIREMENTS.filter(({ program }) => !machine.has(program))
  const complaint =
    missing.length > 0 && machine.mayInstall ? await installAll(missing, machine) : undefined
  for (const [tests, needs] of Map.groupBy(missing, (need) => need.tests)) {
    if (needs.every(({ program }) => machine.has(program))) continue
    const packages = needs.map(({ debian }) => debian).join(' ')
    const why = complaint === undefined ? '' : ` apt-get failed: ${complaint}.`
    machine.say(`Skipped: tests of ${tests}. To run them: apt-get install ${packages}.${why}`)
  }
  if (!machine.isRoot) machine.say('Skipped: tests that need root. To run them: sudo npm test.')
}

/** Returns the error message; undefined on success. */
async function installAll(
  missing: readonly Requirement[],
  machine: Machine,
): Promise<string | undefined> {
  const packages = missing.flatMap(({ debian }) => debian.split(' '))
  machine.say(`CI: installing ${packages.join(', ')} for the tests…`)
  const steps = [
    { args: [...OPTIONS, 'update'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--download-only', ...packages], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--no-download', ...packages], timeoutMs: INSTALL_MS_MAX },
  ]
  for (const { args, timeoutMs } of steps) {
    const complaint = await machine.apt(args, timeoutMs)
    if (complaint !== undefined) return complaint
  }
  return undefined
}

function localMachine(): Machine {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/sbin']
  const isRoot = process.getuid?.() === 0
  return {
    isLinux: process.platform === 'linux',
    isRoot,
    mayInstall: process.env['CI'] === 'true' && isRoot && existsSync('/etc/debian_version'),
    has: (program) => folders.some((folder) => existsSync(path.join(folder, program))),
    apt: runApt,
    say: (sentence) => console.error(sentence),
  }
}

function runApt(args: readonly string[], timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
    const options = { env, timeout: timeoutMs, maxBuffer: 1 << 24 }
    execFile('apt-get', args, options, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined)
      if (error.killed === true) return resolve(`it took longer than ${timeoutMs / 1000} s`)
      const line = stderr.split('\n').find((one) => one.startsWith('E: '))
      return resolve(line?.slice('E: '.length) ?? error.message.split('\n')[0])
    })
  })
}

if (import.meta.main) await prepareMachine(localMachine())
